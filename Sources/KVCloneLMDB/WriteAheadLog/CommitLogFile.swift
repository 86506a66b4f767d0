import CKVCloneLMDB
import Glibc

/// The open `commit.log`. Only the holder of the write lock, or a recovery, writes it.
@safe
final class CommitLogFile: @unchecked Sendable {
  let descriptor: Int32
  private var isOpeningLocked = false
  /// Whether both heads are known to be equal on the disk.
  private var isCopySynced = false
  /// A length that the file has at least. It never becomes shorter than a record.
  private var knownLength = 0

  static let name = "commit.log"

  /// Opens the log at `path`, or in an open directory. Nil if it does not exist.
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

  /// Opens the log of an open directory, creating it (0600) if it does not exist: with both heads empty, and space for
  /// some records, durable with its name. The caller holds the write lock.
  init(in directory: Int32, path: String) throws(LMDBError) {
    let file = unsafe kvclone_open_at(directory, Self.name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard file >= 0 else {
      if -file == ELOOP { throw .symlink(path: path) }
      throw LMDBError(code: -file, operation: "open commit.log")
    }
    descriptor = file
    // Without a head it was never used: its creator may have been killed before its bytes or its name were durable.
    if try byteCount() >= Self.firstLength, try head() != nil { return }
    let code = extend(to: Self.firstLength)
    if code != 0 {
      throw LMDBError(code: code, operation: "write to commit.log")
    }
    if fsync(descriptor) != 0 || fsync(directory) != 0 { throw LMDBError(code: errno, operation: "fsync") }
  }

  deinit {
    // Explicitly, and not only by closing: a child that was forked in between has the descriptor, too.
    if isOpeningLocked { OpeningLock.release(descriptor) }
    close(descriptor)
  }

  // MARK: Opening

  /// Waits until no other process that knows the log recovers the store or opens LMDB's environment, and locks them out
  /// until the file is closed.
  ///
  /// LMDB assumes that if byte 0 of `lock.mdb` is locked, another process has initialized the file. Opening it while a
  /// recovery, which initializes nothing, has that byte locked must therefore be prevented.
  ///
  /// - Throws: `openingBusy` at the deadline: the holder may be stopped.
  func lockOpening(path: String, deadline: UInt64) throws(LMDBError) {
    try OpeningLock.acquire(descriptor, path: path, deadline: deadline)
    isOpeningLocked = true
  }

  /// The heads, and space for a small commit: an almost full disk has that.
  private static let firstLength = CommitLogFormat.recordsOffset + (64 << 10)

  private func byteCount() throws(LMDBError) -> Int { try FileSystem.byteCount(descriptor: descriptor) }

  // MARK: Heads

  /// The newest whole head; nil in a log that was never used. Throws `io` if the first one cannot be read: the copy may
  /// be older, and not mark a log as in use that is.
  func head() throws(LMDBError) -> CommitLogHead? {
    // The copy is written after the first one is durable, so it is never newer than one that is whole.
    if let head = try head(at: 0) { return head }
    return try head(at: CommitLogFormat.headCopyOffset)
  }

  private func head(at offset: Int) throws(LMDBError) -> CommitLogHead? {
    var bytes = [UInt8](repeating: 0, count: CommitLogFormat.headLength)
    guard unsafe try readAll(descriptor, &bytes, bytes.count, offset, "read of commit.log") else { return nil }
    return CommitLogHead(bytes)
  }

  /// Whether the head is unchanged, by its sequence, salt and use. False if unreadable.
  func isStill(_ head: CommitLogHead) -> Bool {
    var words: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0)
    let isRead = unsafe withUnsafeMutableBytes(of: &words) { words in
      guard let start = words.baseAddress else { return false }
      return (try? unsafe readAll(descriptor, start, words.count, 0, "read of commit.log")) == true
    }
    return isRead && UInt64(littleEndian: words.2) == head.sequence && UInt64(littleEndian: words.3) == head.salt
      && UInt64(littleEndian: words.5) == (head.isInUse ? 1 : 0)
  }

  /// Writes the head after `old` and makes it durable; returns 0 or the error's number.
  ///
  /// On failure it is unknown which of the two is on the disk. The log then counts as in use, because a writer that
  /// ignores it would write what an old head on the disk undoes; and if its use was to begin, it counts as lacking a
  /// commit, so that the next writer restarts it.
  ///
  /// The copy is written afterwards, and synced with the next sync, at the latest before the head is written again: the
  /// disk therefore always has a whole one that is no older than the previous one.
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

  /// Marks the copy as possibly not durable, because another process has written a head since.
  func distrustCopy() { isCopySynced = false }

  // MARK: Records

  /// Writes a sealed record and makes it durable; returns 0 or the error's number.
  func append(_ record: CommitLogRecord, at offset: Int) -> Int32 {
    let end = offset + CommitLogFormat.padded(record.count)
    // Existing blocks need no entry in the file system's own journal.
    if end > knownLength {
      guard let length = try? byteCount() else { return EIO }
      let code = end > length ? extend(to: max(end, min(2 * length, length + Self.largestStep))) : 0
      if code != 0 { return code }
      knownLength = max(end, length)
    }
    let code = unsafe writeAll(descriptor, record.base, end - offset, offset)
    if code != 0 { return code }
    if fdatasync(descriptor) != 0 { return errno }
    isCopySynced = true
    return 0
  }

  /// The greatest growth of the file at once.
  private static let largestStep = 16 << 20

  /// Extends the file by written zero bytes: a hole's blocks would be allocated only when a commit needs them.
  private func extend(to length: Int) -> Int32 {
    let step = [UInt8](repeating: 0, count: 1 << 18)
    guard let start = try? byteCount() else { return EIO }
    var offset = start
    while offset < length {
      let count = min(step.count, length - offset)
      let code = unsafe writeAll(descriptor, step, count, offset)
      if code != 0 {
        // Leaves the rest of the disk to data.mdb.
        _ = ftruncate(descriptor, start)
        return code
      }
      offset += count
    }
    return 0
  }
}
