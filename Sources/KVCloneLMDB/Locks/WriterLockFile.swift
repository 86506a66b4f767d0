import CKVCloneLMDB
import Glibc
import Synchronization

/// The right to write, among processes: an open-file-description lock on `writer.lock`.
///
/// LMDB's own lock can neither time out nor name its holder. This one is taken before it, so LMDB's is free when we
/// come to it, unless a program that does not know `writer.lock` writes. The kernel drops it with the process that held
/// it. The file's content names the latest holder and means nothing unless the lock is held.
final class WriterLockFile: Sendable {
  let descriptor: Int32
  /// Bytes that are kept for deletes (`DiskReserve.swift`); 0 where none are.
  let reserve = Atomic<Int>(0)

  /// Opens `writer.lock`, making it (0600) if there is none.
  convenience init(path: String) throws(LMDBError) { try self.init(path, O_CREAT) }

  /// Opens `writer.lock`, which has to be there.
  convenience init(existingAt path: String) throws(LMDBError) { try self.init(path, 0) }

  private init(_ path: String, _ flags: Int32) throws(LMDBError) {
    let file = unsafe kvclone_open(path, O_RDWR | flags | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard file >= 0 else {
      if -file == ELOOP { throw .symlink(path: path) }
      throw LMDBError(code: -file, operation: "open writer.lock")
    }
    descriptor = file
  }

  /// Opens `writer.lock` to look who holds it, which needs no right to write; nil if there is none, or none that may be
  /// read.
  init?(readOnlyPath path: String) {
    let file = unsafe kvclone_open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC, 0)
    guard file >= 0 else { return nil }
    descriptor = file
  }

  /// Takes the lock, trying until `deadline` (nil: without end), and writes who we are.
  ///
  /// Processes take turns: one that waits holds ``queueByte``, and whoever comes while it does queues behind it. Without
  /// that, a process that writes one transaction after the other would take the lock again before another one notices
  /// that it was free.
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
      // A process that is next but was stopped must not keep all others waiting.
      if isNext || waited > Self.queuePatience, try isTaken() { break }
      if let deadline, now >= deadline { throw .busy(holder: recordedHolder()) }
      let pause = isNext ? min(max(waited / 16, 20_000), 1_000_000) : min(max(waited / 4, 50_000), 5_000_000)
      usleep(UInt32(min(pause, deadline.map { $0 - now } ?? pause) / 1000 + 1))
    }
    writeRecord(label: label)
  }

  /// The byte that the process locks that is next to write. The lock itself ends before it.
  private static let queueByte: Int64 = 1 << 62
  /// How long a process lets another one go first that does not write.
  private static let queuePatience: UInt64 = 20_000_000

  /// Tries to take the lock.
  private func isTaken() throws(LMDBError) -> Bool {
    let code = kvclone_ofd_lock(descriptor, 1)
    guard code == 0 || code == EAGAIN || code == EACCES || code == EINTR else {
      throw LMDBError(code: code, operation: "fcntl(F_OFD_SETLK)")
    }
    return code == 0
  }

  /// Takes the lock if nobody has it.
  func claim(label: String) -> Bool {
    guard kvclone_ofd_lock(descriptor, 1) == 0 else { return false }
    writeRecord(label: label)
    return true
  }

  /// Whether `path` still names the file that is open.
  func isStill(at path: String) -> Bool {
    guard let now = try? FileSystem.facts(path), let own = try? FileSystem.facts(descriptor: descriptor) else {
      return false
    }
    return now.identity == own.identity
  }

  func release() {
    _ = kvclone_ofd_lock(descriptor, 0)
  }

  /// The other process that holds the lock now, if one does.
  func foreignHolder() -> WriterHolder? {
    kvclone_ofd_is_held_elsewhere(descriptor) == 1 ? recordedHolder() : nil
  }

  /// The record is of one length, so that a shorter one leaves nothing of a longer one behind.
  private static let recordLength = 128

  private func writeRecord(label: String) {
    // Made for every write transaction, so byte by byte: strings and their parts take ten times as long.
    var record: [UInt8] = []
    record.reserveCapacity(Self.recordLength)
    Self.append(UInt64(clamping: getpid()), to: &record)
    Self.append(UInt64(clamping: wallClockNanoseconds()), to: &record)
    record += label.utf8
    while record.count < Self.recordLength { record.append(UInt8(ascii: "\n")) }
    // A failure is no reason not to write the store: the lock counts, not the name.
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

  // MARK: The commit log's mark

  /// What stands behind the record: whether those who write have to look at the commit log.
  enum LogMark: UInt8 {
    case none = 0
    case isInUse = 0x4C
    case isBroken = 0x42
  }

  /// It is of the running system only: after a restart nobody relies on it. Throws `io` where it cannot be read: who wrote without ending
  /// a log that is in use would lose what he wrote to it.
  func logMark() throws(LMDBError) -> LogMark {
    var byte: UInt8 = 0
    guard unsafe try readAll(descriptor, &byte, 1, Self.recordLength, "read of writer.lock") else { return .none }
    return LogMark(rawValue: byte) ?? .none
  }

  /// 0 or the error's number.
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

  /// At most 64 bytes of UTF-8 without control characters, cut between characters.
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
