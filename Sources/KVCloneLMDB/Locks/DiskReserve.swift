import CKVCloneLMDB
import Glibc

/// Disk space reserved for delete-only commits: LMDB copies each page that changes, so on a full disk a delete could
/// not even begin to free space.
///
/// The space is allocated to `writer.lock`, behind its content, which needs no further file, and the write lock guards
/// it. A delete-only commit releases it if little else is left. From then on, a commit that would grow the file has to
/// reserve it again first: it fails, as on a full disk, while commits that use free pages of the file succeed.
///
/// Best effort: a file system that cannot reserve space reserves none, and deletes may fail there.
extension WriterLockFile {
  /// The space for a delete of some objects: the path to them in each table, and the free list.
  private static let wanted = 512 << 10
  private static let least = 64 << 10
  /// The offset behind the record and the mark.
  private static let start = 4096

  /// Starts to reserve space, if the file system can.
  func beginReserve() {
    var facts = statfs()
    guard unsafe fstatfs(descriptor, &facts) == 0 else { return }
    // A sixteenth of a small disk, and a part of it if less is free.
    let (total, overflow) = Int(clamping: facts.f_blocks).multipliedReportingOverflow(by: Int(facts.f_bsize))
    var size = overflow || total == 0 ? Self.wanted : min(Self.wanted, total / 16 / 4096 * 4096)
    while size > 0 {
      let code = kvclone_keep_room(descriptor, Int64(Self.start), Int64(size))
      // A full disk may have space later; other errors persist.
      if code != 0, !LMDBError.isDiskFull(code) { return }
      reserve.store(size, ordering: .relaxed)
      if code == 0 || size <= Self.least { return }
      size = size / 2 / 4096 * 4096
    }
  }

  /// Decides before a commit whether it may proceed.
  ///
  /// - Parameters:
  ///   - isDeleteOnly: whether the commit is delete-only.
  ///   - hasLittleRoom: whether the disk has little free space.
  ///   - grows: whether the commit grows the file.
  func settleReserve(
    isDeleteOnly: Bool, hasLittleRoom: @autoclosure () -> Bool, grows: @autoclosure () -> Bool
  ) throws(LMDBError) {
    let size = reserve.load(ordering: .relaxed)
    if size == 0 { return }
    let isKept = kvclone_given_room(descriptor) >= Int64(size)
    if isDeleteOnly {
      if isKept, hasLittleRoom() { _ = kvclone_give_up_room(descriptor) }
    } else if !isKept, grows() {
      let code = kvclone_keep_room(descriptor, Int64(Self.start), Int64(size))
      if LMDBError.isDiskFull(code) { throw LMDBError(code: code, operation: "fallocate of data.mdb") }
    }
  }
}
