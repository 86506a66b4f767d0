import CKVCloneLMDB
import Glibc
import Synchronization

/// The write lock among processes: an open-file-description lock on `writer.lock`.
///
/// LMDB's own lock can neither time out nor name its holder. This one is taken before it, so LMDB's is then free,
/// unless a program that does not know `writer.lock` writes. The kernel drops it with the process that held it. The
/// file's content names the latest holder and is valid only while the lock is held.
final class WriterLockFile: Sendable {
  let descriptor: Int32
  /// Bytes reserved for deletes (`DiskReserve.swift`); 0 if none are.
  let reserve = Atomic<Int>(0)

  /// Opens `writer.lock`, creating it (0600) if it does not exist.
  convenience init(path: String) throws(LMDBError) { try self.init(path, O_CREAT) }

  /// Opens `writer.lock`, which must exist.
  convenience init(existingAt path: String) throws(LMDBError) { try self.init(path, 0) }

  private init(_ path: String, _ flags: Int32) throws(LMDBError) {
    let file = unsafe kvclone_open(path, O_RDWR | flags | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard file >= 0 else {
      if -file == ELOOP { throw .symlink(path: path) }
      throw LMDBError(code: -file, operation: "open writer.lock")
    }
    descriptor = file
  }

  /// Opens `writer.lock` to read its holder, without write permission; nil if it does not exist or is not readable.
  init?(readOnlyPath path: String) {
    let file = unsafe kvclone_open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC, 0)
    guard file >= 0 else { return nil }
    descriptor = file
  }

  /// Takes the lock, trying until `deadline` (nil: forever), and writes the holder's record.
  ///
  /// Processes take turns: one that waits locks ``queueByte``, and later ones queue behind it. Otherwise, a process
  /// that writes one transaction after the other would take the lock again before another one notices that it was free.
  func acquire(deadline: UInt64?, label: String) throws(LMDBError) {
    if kvclone_ofd_is_byte_locked_elsewhere(descriptor, Self.queueByte) == 0, try isTaken() {
      return writeRecord(label: label)
    }
    let start = monotonicNanoseconds()
    var isNext = false
    defer { if isNext { _ = kvclone_ofd_lock_byte(descriptor, Self.queueByte, 0) } }
    while true {
      if !isNext { isNext = kvclone_ofd_lock_byte(descriptor, Self.queueByte, 1) == 0 }
      let now = monotonicNanoseconds()
      let waited = now - start
      // A stopped process that is next must not block all others.
      if isNext || waited > Self.queuePatience, try isTaken() { break }
      if let deadline, now >= deadline { throw .busy(holder: recordedHolder()) }
      let pause = isNext ? min(max(waited / 16, 20_000), 1_000_000) : min(max(waited / 4, 50_000), 5_000_000)
      usleep(UInt32(min(pause, deadline.map { $0 - now } ?? pause) / 1000 + 1))
    }
    writeRecord(label: label)
  }

  /// The byte that is locked by the next writer. The lock itself ends before it.
  private static let queueByte: Int64 = 1 << 62
  /// The time, in nanoseconds, that a process waits for a next writer that does not write.
  private static let queuePatience: UInt64 = 20_000_000

  /// Tries to take the lock.
  private func isTaken() throws(LMDBError) -> Bool {
    let code = kvclone_ofd_lock(descriptor, 1)
    guard code == 0 || code == EAGAIN || code == EACCES || code == EINTR else {
      throw LMDBError(code: code, operation: "fcntl(F_OFD_SETLK)")
    }
    return code == 0
  }

  /// Takes the lock if it is free.
  func claim(label: String) -> Bool {
    guard kvclone_ofd_lock(descriptor, 1) == 0 else { return false }
    writeRecord(label: label)
    return true
  }

  /// Whether `path` still names the open file.
  func isStill(at path: String) -> Bool {
    guard let now = try? FileSystem.facts(path), let own = try? FileSystem.facts(descriptor: descriptor) else {
      return false
    }
    return now.identity == own.identity
  }

  func release() {
    _ = kvclone_ofd_lock(descriptor, 0)
  }

  /// The other process that holds the lock, if any.
  func foreignHolder() -> WriterHolder? {
    kvclone_ofd_is_held_elsewhere(descriptor) == 1 ? recordedHolder() : nil
  }

  /// Fixed, so that a shorter record leaves no rest of a longer one.
  private static let recordLength = 128

  private func writeRecord(label: String) {
    // Written for every write transaction, therefore byte by byte: strings take ten times as long.
    var record: [UInt8] = []
    record.reserveCapacity(Self.recordLength)
    Self.append(UInt64(clamping: getpid()), to: &record)
    Self.append(UInt64(clamping: wallClockNanoseconds()), to: &record)
    record += label.utf8
    while record.count < Self.recordLength { record.append(UInt8(ascii: "\n")) }
    // A failure does not prevent the write: the lock counts, not the record.
    _ = unsafe pwrite(descriptor, record, Self.recordLength, 0)
  }

  /// A number's digits and a space.
  private static func append(_ number: UInt64, to record: inout [UInt8]) {
    let start = record.count
    var rest = number
    repeat {
      record.append(UInt8(ascii: "0") + UInt8(rest % 10))
      rest /= 10
    } while rest > 0
    record[start...].reverse()
    record.append(UInt8(ascii: " "))
  }

  // MARK: The write-ahead log's mark

  /// The mark behind the record: whether writers have to check the write-ahead log.
  enum LogMark: UInt8 {
    case none = 0
    case isInUse = 0x4C
    case isBroken = 0x42
  }

  /// The mark is valid only for the running system, not after a restart. Throws `io` if it cannot be read: a writer
  /// that does not end a log in use would lose its changes to it.
  func logMark() throws(LMDBError) -> LogMark {
    var byte: UInt8 = 0
    guard unsafe try readAll(descriptor, &byte, 1, Self.recordLength, "read of writer.lock") else { return .none }
    return LogMark(rawValue: byte) ?? .none
  }

  /// Returns 0 or the error's number.
  @discardableResult
  func mark(_ mark: LogMark) -> Int32 {
    var byte = mark.rawValue
    return unsafe writeAll(descriptor, &byte, 1, Self.recordLength)
  }

  private func recordedHolder() -> WriterHolder? {
    var record = [UInt8](repeating: 0, count: Self.recordLength)
    let count = unsafe pread(descriptor, &record, record.count, 0)
    guard count > 0 else { return nil }
    let line = record[..<count].prefix { $0 != UInt8(ascii: "\n") }
    let fields = line.split(separator: UInt8(ascii: " "), maxSplits: 2, omittingEmptySubsequences: false)
    guard fields.count == 3, let pid = Int32(String(decoding: fields[0], as: UTF8.self)),
      let since = Int64(String(decoding: fields[1], as: UTF8.self))
    else { return nil }
    return WriterHolder(
      pid: pid, label: String(decoding: fields[2], as: UTF8.self), sinceNanoseconds: since, isThisProcess: false)
  }

  /// Returns at most 64 bytes of UTF-8 without control characters, cut between characters.
  static func cleaned(_ label: String) -> String {
    if label.utf8.count <= 64, label.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) { return label }
    var result = ""
    for character in label where !character.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F }) {
      if result.utf8.count + character.utf8.count > 64 { break }
      result.append(character)
    }
    return result
  }

  deinit {
    close(descriptor)
  }
}
