import CKVCloneLMDB
import Glibc

/// Recovers a store from a log in use when the first process opens it: the log was not ended, so the process was
/// killed, or the power failed.
///
/// It is unknown whether `data.mdb` is torn, so recovery always restores the state of the log: the meta pages of the
/// head, then each record's pages and meta page, up to the last whole record. If nothing was torn, that rewrites the
/// same bytes. A commit with a torn record was never reported to its writer; it is undone.
struct CommitLogRecovery {
  private let paths: StorePaths
  private let file: CommitLogFile

  /// Recovers if necessary. Afterwards `data.mdb` is the whole store, unless another process has the store open: then
  /// the log is that process's, and the file is whole. The file is claimed in the registry, and not open.
  ///
  /// - Returns: an object that locks out recoveries and openings while it lives; nil if there is no log. Opening LMDB's
  ///   environment keeps it until that is open.
  /// - Throws: `commitLog` if the log does not belong to this file, or may not be written; `io` if it cannot be read to
  ///   its end. The file then has every commit of the log that it had before.
  static func run(_ paths: StorePaths, deadline: UInt64) throws(LMDBError) -> CommitLogFile? {
    do throws(LMDBError) {
      guard let file = try lock(paths, deadline: deadline) else { return nil }
      // Before the head is read: even if unreadable, the log is another process's, and the file is whole.
      if try isOpenElsewhere(paths) { return file }
      if try file.head()?.isInUse == true { try CommitLogRecovery(paths: paths, file: file).runAlone() }
      return file
    } catch {
      guard case .io(let code, _) = error, Self.refusals.contains(code) else { throw error }
      // A log that a live process uses does not matter, nor does one that is not in use.
      if (try? isOpenElsewhere(paths)) == true { return nil }
      let isInUse = try CommitLogFile(existingAt: paths.commitLog, readOnly: true)?.head()?.isInUse ?? false
      if isInUse { throw .commitLog(.needsWriting, path: paths.commitLog) }
      return nil
    }
  }

  /// Locks out recoveries and openings of the store. Nil if there is no log.
  static func lock(_ paths: StorePaths, deadline: UInt64) throws(LMDBError) -> CommitLogFile? {
    guard let facts = try FileSystem.facts(paths.commitLog), facts.kind == .regularFile, facts.byteCount > 0,
      let file = try CommitLogFile(existingAt: paths.commitLog)
    else { return nil }
    try file.lockOpening(path: paths.commitLog, deadline: deadline)
    return file
  }

  /// The error codes for read-only users.
  static let refusals: Set<Int32> = [EACCES, EROFS, EPERM]

  /// Whether a process has LMDB's environment open.
  static func isOpenElsewhere(_ paths: StorePaths) throws(LMDBError) -> Bool {
    let lock = unsafe kvclone_open(paths.readerLock, O_RDONLY | O_NOFOLLOW | O_CLOEXEC, 0)
    if lock == -ENOENT { return false }
    guard lock >= 0 else { throw LMDBError(code: -lock, operation: "open lock.mdb") }
    defer { close(lock) }
    return kvclone_ofd_is_byte_locked_elsewhere(lock, 0) == 1
  }

  /// Uses the lock of which LMDB holds a share for each process that has the file open (byte 0 of `lock.mdb`).
  private func runAlone() throws(LMDBError) {
    let lock = unsafe kvclone_open(paths.readerLock, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard lock >= 0 else {
      if Self.refusals.contains(-lock) { throw .commitLog(.needsWriting, path: paths.commitLog) }
      throw LMDBError(code: -lock, operation: "open lock.mdb")
    }
    defer { close(lock) }
    let code = kvclone_ofd_lock_byte(lock, 0, 1)
    // Another process has the store open and owns the log.
    if code == EAGAIN || code == EACCES { return }
    if code != 0 { throw LMDBError(code: code, operation: "fcntl(F_OFD_SETLK)") }
    // Explicitly: a child that was forked in between has the descriptor, too.
    defer { _ = kvclone_ofd_lock_byte(lock, 0, 0) }
    guard let head = try file.head(), head.isInUse else { return }
    try replay(head) {
      // The commits and readers in the lock file are outdated. A process that found no log, and waits in LMDB for this
      // lock, would trust them; without the magic number it fails, and the next process to have the lock alone
      // initializes the file.
      var facts = stat()
      if unsafe fstat(lock, &facts) != 0 { return errno }
      var nothing: UInt32 = 0
      return facts.st_size < 4 ? 0 : unsafe writeAll(lock, &nothing, 4, 0)
    }
  }

  /// - Parameter invalidate: called before anything is written, and returns 0 or an error's number.
  private func replay(_ head: CommitLogHead, _ invalidate: () -> Int32) throws(LMDBError) {
    let data = unsafe kvclone_open(paths.data, O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0)
    guard data >= 0 else {
      if Self.refusals.contains(-data) { throw .commitLog(.needsWriting, path: paths.commitLog) }
      throw LMDBError(code: -data, operation: "open data.mdb")
    }
    defer { close(data) }
    let record = CommitLogRecord()
    // First read everything, then write: a log that does not belong to this file changes nothing.
    var found = LogEnd(head)
    // Only the last version of a page is written: an interruption leaves no page older than it was.
    var lastCommits: [UInt64: UInt64] = [:]
    // The commit with the last record that has a page with this base: until then, its content is kept in memory. A
    // version is the base of one page at most, so these are no more pages than the log has without a base.
    var lastUses: [UInt64: UInt64] = [:]
    while try found.next(file, record) {
      let isWhole = record.forEachPage { page in
        if let base = page.base {
          guard lastCommits[base].map({ $0 < found.commit && $0 > lastUses[base] ?? 0 }) == true else { return false }
          lastUses[base] = found.commit
        }
        lastCommits[page.number] = found.commit
        return true
      }
      if !isWhole { throw .commitLog(.corrupted, path: paths.commitLog) }
    }
    try checkBelongs(data, head, found)
    let last = found.commit
    found = LogEnd(head)
    var failure = invalidate()
    if failure != 0 { throw LMDBError(code: failure, operation: "write to lock.mdb") }
    var bases: [UInt64: [UInt8]] = [:]
    while try found.next(file, record) {
      let isWhole = record.forEachPage { page in
        guard let content = record.content(of: page, in: &bases) else { return false }
        if lastUses[page.number] ?? 0 > found.commit { bases[page.number] = content }
        if lastCommits[page.number] != found.commit { return true }
        failure = unsafe writeAll(data, content, content.count, Int(page.number) * LMDBLimits.pageSize)
        return failure == 0
      }
      if failure != 0 { throw LMDBError(code: failure, operation: "write to data.mdb") }
      if !isWhole { throw .commitLog(.corrupted, path: paths.commitLog) }
    }
    // The disk returned other bytes than a moment ago.
    if found.commit != last { throw LMDBError(code: EIO, operation: "read of commit.log") }
    for (page, meta) in found.metas.enumerated() {
      failure = unsafe writeAll(data, meta, meta.count, page * LMDBLimits.pageSize)
      if failure != 0 { throw LMDBError(code: failure, operation: "write to data.mdb") }
    }
    if fsync(data) != 0 { throw LMDBError(code: errno, operation: "fsync") }
    // Before the head: if this process is killed here, a log in use is checked again, and one that is not is ignored.
    if let writer = try? WriterLockFile(path: paths.writerLock) { writer.mark(.none) }
    let ended = CommitLogHead(
      sequence: head.sequence &+ 1, salt: head.salt, base: found.commit, isInUse: false, tie: head.tie,
      metas: found.metas)
    failure = file.replaceHead(ended, after: head)
    if failure != 0 { throw LMDBError(code: failure, operation: "write to commit.log") }
  }

  /// Checks that the file has the head's tie, and a newer meta page that the log knows, or that of the commit after its
  /// last record, which was being written; in that case the log knows the older one. An invalid page was being written
  /// when the power failed, and may contain anything: it does not disprove the log, and if both are invalid, the tie
  /// decides.
  private func checkBelongs(_ data: Int32, _ head: CommitLogHead, _ known: LogEnd) throws(LMDBError) {
    guard CommitLogFormat.isTied(head.tie, to: try Self.tie(of: data)) else {
      throw .commitLog(.foreign, path: paths.commitLog)
    }
    let metas = [try Self.meta(0, of: data), try Self.meta(1, of: data)]
    if Self.isOlder(metas, than: head, known) { throw .commitLog(.foreign, path: paths.commitLog) }
  }

  /// The tie in `data.mdb`; 0 if the file is shorter.
  static func tie(of data: Int32) throws(LMDBError) -> UInt64 {
    var tie: UInt64 = 0
    let isRead = unsafe try readAll(data, &tie, 8, CommitLogFormat.tieOffset, "read of data.mdb")
    return isRead ? UInt64(littleEndian: tie) : 0
  }

  /// The bytes of a meta page; nil if the file is shorter.
  static func meta(_ page: Int, of data: Int32) throws(LMDBError) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: CommitLogFormat.metaLength)
    return unsafe try readAll(data, &bytes, bytes.count, page * LMDBLimits.pageSize, "read of data.mdb") ? bytes : nil
  }

  /// Whether the meta pages (nil for an unreadable one) do not belong to a file that the log continues.
  static func isOlder(_ pages: [[UInt8]?], than head: CommitLogHead, _ known: LogEnd) -> Bool {
    var metas: [(commit: UInt64, isKnown: Bool)] = []
    for (page, bytes) in pages.enumerated() {
      guard let bytes else { continue }
      let isKnown = known.seen[page].contains(bytes)
      guard let commit = PageMeta(bytes: bytes, page: UInt64(page))?.commitNumber else {
        if isKnown { metas.append((0, true)) }
        continue
      }
      // The file is older than the head. (The page of a failed commit has an old number restored, next to other roots;
      // but none as old as that.)
      if !isKnown, commit &+ 1 < head.base { return true }
      metas.append((commit, isKnown))
    }
    metas.sort { $0.commit > $1.commit }
    guard let newest = metas.first, !newest.isKnown else { return false }
    return !(newest.commit == known.commit &+ 1 && (metas.count == 1 || metas.last?.isKnown == true))
  }
}

/// Iterates over the records of a log.
struct LogEnd {
  private let salt: UInt64
  private var offset = CommitLogFormat.recordsOffset
  private var sum: UInt64
  /// The commit of the last record so far.
  private(set) var commit: UInt64
  /// The meta pages after it.
  private(set) var metas: [[UInt8]]
  /// All versions of each meta page since the head was written.
  private(set) var seen: [Set<[UInt8]>]

  init(_ head: CommitLogHead) {
    salt = head.salt
    sum = head.salt
    commit = head.base
    metas = head.metas
    seen = head.metas.map { [$0] }
  }

  /// Reads the next record; returns false if there is no whole one. Throws `io` if reading fails.
  mutating func next(_ file: CommitLogFile, _ record: CommitLogRecord) throws(LMDBError) -> Bool {
    guard let sum = try record.read(file.descriptor, at: offset, salt: salt, commit: commit &+ 1, previousSum: sum)
    else { return false }
    self.sum = sum
    commit &+= 1
    offset += CommitLogFormat.padded(record.count)
    metas[Int(commit & 1)] = record.meta
    seen[Int(commit & 1)].insert(record.meta)
    return true
  }
}
