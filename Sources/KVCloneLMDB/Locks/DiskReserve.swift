import CKVCloneLMDB
import Glibc

/// Room on the disk that is kept for commits that take away: LMDB copies each page that changes, so on a full disk a delete could not even
/// begin to make room.
///
/// It is given to `writer.lock`, behind its content, which stays as long as it is: no name more, and who settles it has the right to
/// write. A commit that takes away gives it up where little else is left. From then on, a commit that would make the file longer has to
/// get it back first: it fails, as it would have on a full disk, while those that find free pages within the file go on.
///
/// All of it is best effort: a file system that cannot keep room keeps none, and deletes may fail there.
extension WriterLockFile {
  /// What a delete of some objects takes: the pages that lead to them in each table, and what lists the free ones.
  private static let wanted = 512 << 10
  private static let least = 64 << 10
  /// Behind the record and the mark.
  private static let start = 4096

  /// Keeps room, if the file system can, from now on.
  func beginReserve() {
    var facts = statfs()
    guard unsafe fstatfs(descriptor, &facts) == 0 else { return }
    // Of a small disk a sixteenth, and where that is not there any more, a part of it.
    let (total, overflow) = Int(clamping: facts.f_blocks).multipliedReportingOverflow(by: Int(facts.f_bsize))
    var size = overflow || total == 0 ? Self.wanted : min(Self.wanted, total / 16 / 4096 * 4096)
    while size > 0 {
      let code = kvclone_keep_room(descriptor, Int64(Self.start), Int64(size))
      // What is full now may have room later; what cannot do it never will.
      if code != 0, !LMDBError.isDiskFull(code) { return }
      reserve.store(size, ordering: .relaxed)
      if code == 0 || size <= Self.least { return }
      size = size / 2 / 4096 * 4096
    }
  }

  /// Settles, before a commit, whether it may go on.
  ///
  /// - Parameters:
  ///   - takesAway: whether the commit deletes only.
  ///   - hasLittleRoom: whether there is little room on the disk.
  ///   - grows: whether the commit makes the file longer.
  func settleReserve(
    takesAway: Bool, hasLittleRoom: @autoclosure () -> Bool, grows: @autoclosure () -> Bool
  ) throws(LMDBError) {
    let size = reserve.load(ordering: .relaxed)
    if size == 0 { return }
    let isKept = kvclone_given_room(descriptor) >= Int64(size)
    if takesAway {
      if isKept, hasLittleRoom() { _ = kvclone_give_up_room(descriptor) }
    } else if !isKept, grows() {
      let code = kvclone_keep_room(descriptor, Int64(Self.start), Int64(size))
      if LMDBError.isDiskFull(code) { throw LMDBError(code: code, operation: "fallocate of data.mdb") }
    }
  }
}
