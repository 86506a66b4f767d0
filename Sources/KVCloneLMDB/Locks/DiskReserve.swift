import CKVCloneLMDB
import Glibc

/// Disk space reserved for delete-only commits: LMDB copies each page that changes, so on a full disk a delete could
/// not even begin to free space.
///
/// The space is allocated to `writer.lock`, behind its content, which needs no further file, and the write lock guards
/// it. A delete-only commit releases it if little else is left. From then on, other commits restore it first. If the
/// disk has no space for all of it, a commit that grows the file fails, as on a full disk, and one that uses free pages
/// of the file succeeds if the free pages left, which a delete can use as well, make up for the missing part.
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
  ///   - freeBytes: the free pages of the file after the commit, in bytes.
  func settleReserve(
    isDeleteOnly: Bool, hasLittleRoom: @autoclosure () -> Bool, grows: @autoclosure () -> Bool,
    freeBytes: @autoclosure () -> Int
  ) throws(LMDBError) {
    let size = reserve.load(ordering: .relaxed)
    if size == 0 { return }
    let given = kvclone_given_room(descriptor)
    if isDeleteOnly {
      // A part of the reserve counts too: fallocate on a full disk allocates what is left, and then fails.
      if given > Int64(Self.start), hasLittleRoom() { _ = kvclone_give_up_room(descriptor) }
    } else if given < Int64(size) {
      let code = kvclone_keep_room(descriptor, Int64(Self.start), Int64(size))
      guard LMDBError.isDiskFull(code) else { return }
      if !grows(), max(0, Int(kvclone_given_room(descriptor))).saturatingAdd(freeBytes()) >= size { return }
      throw LMDBError(code: code, operation: "fallocate of data.mdb")
    }
  }
}
