import CKVCloneLMDB
import Glibc

/// `commit.log`, open. It is written by who has the right to write the store, or recovers it.
@safe
final class CommitLogFile: @unchecked Sendable {
  let descriptor: Int32
  private var isOpeningLocked = false
  /// Whether both heads are known to be the same on the disk.
  private var isCopySynced = false

  static let name = "commit.log"

  /// Opens the log at `path`, or in a directory that is open. Nil if there is none.
  init?(existingAt path: String, in directory: Int32 = AT_FDCWD, readOnly: Bool = false) throws(LMDBError) {
    let access = readOnly ? O_RDONLY : O_RDWR
    let file = unsafe kvclone_open_at(directory, path, access | O_NOFOLLOW | O_CLOEXEC, 0)
    guard file >= 0 else {
      if -file == ENOENT { return nil }
      if -file == ELOOP { throw .symlink(path: path) }
      throw LMDBError(code: -file, operation: "open commit.log")
    }
    descriptor = file
  }

  /// Opens the log of a directory that is open, making it (0600) if there is none: with both heads empty, and room for some
  /// records, on the disk and under its name. The caller has the right to write.
  init(in directory: Int32, path: String) throws(LMDBError) {
    let file = unsafe kvclone_open_at(directory, Self.name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard file >= 0 else {
      if -file == ELOOP { throw .symlink(path: path) }
      throw LMDBError(code: -file, operation: "open commit.log")
    }
    descriptor = file
    // Without a head it was never used: the maker may have died before its bytes or its name were on the disk.
    if try byteCount() >= Self.firstLength, try head() != nil { return }
    let code = extend(to: Self.firstLength)
    if code != 0 {
      throw LMDBError(code: code, operation: "write to commit.log")
    }
    if fsync(descriptor) != 0 || fsync(directory) != 0 { throw LMDBError(code: errno, operation: "fsync") }
  }

  deinit {
    // By name, and not only by closing: a child that was forked meanwhile has the descriptor, too.
    if isOpeningLocked { OpeningLock.release(descriptor) }
    close(descriptor)
  }

  // MARK: Opening

  /// Waits until no other process that knows the log recovers the store or opens LMDB's environment, and keeps them from it
  /// until the file is closed.
  ///
  /// LMDB believes that who cannot have byte 0 of `lock.mdb` alone finds there what somebody else has made ready. So nobody
  /// may open it while a recovery, which makes nothing ready, has that byte locked.
  ///
  /// - Throws: `openingBusy` at the deadline: the holder may be stopped.
  func lockOpening(path: String, deadline: UInt64) throws(LMDBError) {
    try OpeningLock.acquire(descriptor, path: path, deadline: deadline)
    isOpeningLocked = true
  }

  /// The heads, and room for a small commit: a disk that is almost full has that.
  private static let firstLength = CommitLogFormat.recordsOffset + (64 << 10)

  private func byteCount() throws(LMDBError) -> Int { try FileSystem.facts(descriptor: descriptor).byteCount }

  // MARK: Heads

  /// The newest head that is whole; nil in a log that was never used. Throws `io` where the first one cannot be read: the copy may be older,
  /// and say of a log in use that it is not.
  func head() throws(LMDBError) -> CommitLogHead? {
    // The copy is written once the first one is on the disk, so it is never newer than one that is whole.
    if let head = try head(at: 0) { return head }
    return try head(at: CommitLogFormat.headCopyOffset)
  }

  private func head(at offset: Int) throws(LMDBError) -> CommitLogHead? {
    var bytes = [UInt8](repeating: 0, count: CommitLogFormat.headLength)
    guard unsafe try readAll(descriptor, &bytes, bytes.count, offset, "read of commit.log") else { return nil }
    return CommitLogHead(bytes)
  }

  /// Whether the head is still that one, by its sequence, salt and use. Not where it cannot be read.
  func isStill(_ head: CommitLogHead) -> Bool {
    var words: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0)
    let isRead = unsafe withUnsafeMutableBytes(of: &words) { words in
      guard let start = words.baseAddress else { return false }
      return (try? unsafe readAll(descriptor, start, words.count, 0, "read of commit.log")) == true
    }
    return isRead && UInt64(littleEndian: words.2) == head.sequence && UInt64(littleEndian: words.3) == head.salt
      && UInt64(littleEndian: words.5) == (head.isInUse ? 1 : 0)
  }

  /// Writes the head after `old` and makes it durable; 0 or the error's number.
  ///
  /// Where it fails, nobody knows which of the two the disk has. Then the log looks as if it were in use, because whoever
  /// believed that it is not would write what an old head on the disk undoes; and where its use was to begin, as if it lacked a
  /// commit, so that whoever writes next begins it again.
  ///
  /// The copy comes after, and onto the disk with whatever is synced next, at the latest before the head is written again: so
  /// there is always one on the disk that is whole, and none that is older than the one before.
  func replaceHead(_ head: CommitLogHead, after old: CommitLogHead?) -> Int32 {
    if !isCopySynced, fdatasync(descriptor) != 0 { return errno }
    isCopySynced = false
    let bytes = head.bytes
    var code = unsafe writeAll(descriptor, bytes, bytes.count, 0)
    if code == 0, fdatasync(descriptor) != 0 { code = errno }
    if code != 0 {
      var doubtful = head.isInUse ? nil : old
      if head.isInUse, old?.isInUse != true { doubtful = head.lackingCommit }
      if let bytes = doubtful?.bytes { _ = unsafe writeAll(descriptor, bytes, bytes.count, 0) }
      return code
    }
    return unsafe writeAll(descriptor, bytes, bytes.count, CommitLogFormat.headCopyOffset)
  }

  /// Another process wrote a head since: of its copy nobody here knows whether it is on the disk.
  func distrustCopy() { isCopySynced = false }

  // MARK: Records

  /// Writes a sealed record and makes it durable; 0 or the error's number.
  func append(_ record: CommitLogRecord, at offset: Int) -> Int32 {
    let end = offset + CommitLogFormat.padded(record.count)
    // Blocks that are there already need no entry in the file system's own journal.
    guard let length = try? byteCount() else { return EIO }
    var code: Int32 = end > length ? extend(to: max(end, min(2 * length, length + Self.largestStep))) : 0
    if code != 0 { return code }
    code = unsafe writeAll(descriptor, record.base, end - offset, offset)
    if code != 0 { return code }
    if fdatasync(descriptor) != 0 { return errno }
    isCopySynced = true
    return 0
  }

  /// By which the file grows at most.
  private static let largestStep = 16 << 20

  /// Makes the file longer by bytes that are zero, and written: a hole's blocks would be found only when a commit needs them.
  private func extend(to length: Int) -> Int32 {
    let step = [UInt8](repeating: 0, count: 1 << 18)
    guard let start = try? byteCount() else { return EIO }
    var offset = start
    while offset < length {
      let count = min(step.count, length - offset)
      let code = unsafe writeAll(descriptor, step, count, offset)
      if code != 0 {
        // What is left of the disk is for data.mdb.
        _ = ftruncate(descriptor, start)
        return code
      }
      offset += count
    }
    return 0
  }
}
