import CKVCloneLMDB
import Glibc

/// What the first who opens a store does with a log that is in use: nobody ended it, so the process was killed, or the power
/// went.
///
/// Whether `data.mdb` is torn nobody can tell, so it is always made what the log says: the meta pages of the head, then each
/// record's pages and meta page, up to the last record that is whole. Where nothing was torn, the same bytes are written
/// once more. A commit whose record is not whole was never reported to its writer; it is undone.
struct CommitLogRecovery {
  private let paths: StorePaths
  private let file: CommitLogFile

  /// Looks whether there is something to do, and does it. Afterwards `data.mdb` is all that the store is, unless another
  /// process has the store open: then the log is its, and the file whole. The file is claimed in the registry, and not open.
  ///
  /// - Throws: `commitLog` where the log is not this file's, or may not be written.
  static func run(_ paths: StorePaths) throws(LMDBError) {
    guard let facts = try FileSystem.facts(paths.commitLog), facts.kind == .regularFile, facts.byteCount > 0 else {
      return
    }
    let file: CommitLogFile
    do throws(LMDBError) {
      guard let found = try CommitLogFile(existingAt: paths.commitLog) else { return }
      file = found
    } catch {
      guard case .io(let code, _) = error, Self.refusals.contains(code) else { throw error }
      // A log that is not in use does not matter.
      if try isInUse(readOnly: paths) { throw .commitLog(.needsWriting, path: paths.commitLog) }
      return
    }
    if file.head()?.isInUse != true { return }
    try CommitLogRecovery(paths: paths, file: file).runAlone()
  }

  /// What the system says to those who may read only.
  private static let refusals: Set<Int32> = [EACCES, EROFS, EPERM]

  private static func isInUse(readOnly paths: StorePaths) throws(LMDBError) -> Bool {
    let file = unsafe kvclone_open(paths.commitLog, O_RDONLY | O_NOFOLLOW | O_CLOEXEC, 0)
    guard file >= 0 else { throw LMDBError(code: -file, operation: "open commit.log") }
    defer { close(file) }
    return [0, CommitLogFormat.headCopyOffset].contains { offset in
      var bytes = [UInt8](repeating: 0, count: CommitLogFormat.headLength)
      return unsafe readAll(file, &bytes, bytes.count, offset) && CommitLogHead(bytes)?.isInUse == true
    }
  }

  /// By the lock of which LMDB holds a share for each process that has the file open (byte 0 of `lock.mdb`).
  private func runAlone() throws(LMDBError) {
    let lock = unsafe kvclone_open(paths.readerLock, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard lock >= 0 else {
      if Self.refusals.contains(-lock) { throw .commitLog(.needsWriting, path: paths.commitLog) }
      throw LMDBError(code: -lock, operation: "open lock.mdb")
    }
    defer { close(lock) }
    for _ in 0..<Self.attempts {
      if kvclone_ofd_lock_byte(lock, 0, 1) == 0 {
        // Somebody may have done it while we waited.
        if let head = file.head(), head.isInUse { try replay(head) }
        return
      }
      // A share is had when nobody is recovering the store, or opening it as the first.
      let code = kvclone_ofd_wait_for_share(lock, 0)
      if code != 0 { throw LMDBError(code: code, operation: "fcntl(F_OFD_SETLKW)") }
      if kvclone_ofd_is_byte_locked_elsewhere(lock, 0) == 1 { return }
      _ = kvclone_ofd_lock_byte(lock, 0, 0)
      if file.head()?.isInUse != true { return }
    }
    throw .busy(holder: nil)
  }

  private static let attempts = 1000

  private func replay(_ head: CommitLogHead) throws(LMDBError) {
    let data = unsafe kvclone_open(paths.data, O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0)
    guard data >= 0 else {
      if Self.refusals.contains(-data) { throw .commitLog(.needsWriting, path: paths.commitLog) }
      throw LMDBError(code: -data, operation: "open data.mdb")
    }
    defer { close(data) }
    let record = CommitLogRecord()
    // First all is looked at, and then all is written: a log that is not this file's changes nothing.
    var found = LogEnd(head)
    try checkBelongs(data, head, found.scan(file, record))
    found = LogEnd(head)
    var failure: Int32 = 0
    while found.next(file, record) {
      let isWhole = unsafe record.forEachPage { number, page in
        guard let start = page.baseAddress else { return false }
        failure = unsafe writeAll(data, start, page.count, Int(number) * LMDBLimits.pageSize)
        return failure == 0
      }
      if failure != 0 { throw LMDBError(code: failure, operation: "write to data.mdb") }
      if !isWhole { throw .commitLog(.damaged, path: paths.commitLog) }
    }
    for (page, meta) in found.metas.enumerated() {
      failure = unsafe writeAll(data, meta, meta.count, page * LMDBLimits.pageSize)
      if failure != 0 { throw LMDBError(code: failure, operation: "write to data.mdb") }
    }
    if fsync(data) != 0 { throw LMDBError(code: errno, operation: "fsync") }
    // Before the head: a log that is in use is looked at again, if we die here, and one that is not is not.
    if let writer = try? WriterLockFile(path: paths.writerLock) { writer.mark(.none) }
    let ended = CommitLogHead(
      sequence: head.sequence &+ 1, salt: head.salt, base: found.commit, isInUse: false, metas: found.metas)
    failure = file.replaceHead(ended)
    if failure != 0 { throw LMDBError(code: failure, operation: "write to commit.log") }
  }

  /// Each meta page of the file is one that the log knows, or that of the commit after its last record, which was just being
  /// written; and they cannot both be the latter.
  private func checkBelongs(_ data: Int32, _ head: CommitLogHead, _ known: LogEnd) throws(LMDBError) {
    var isKnown = false
    for page in 0..<2 {
      var bytes = [UInt8](repeating: 0, count: CommitLogFormat.metaLength)
      guard unsafe readAll(data, &bytes, bytes.count, page * LMDBLimits.pageSize) else { continue }
      if known.seen[page].contains(bytes) { isKnown = true }
      guard let commit = PageMeta(bytes: bytes, page: UInt64(page))?.commitNumber else { continue }
      if commit > known.commit &+ 1 { throw .commitLog(.foreign, path: paths.commitLog) }
    }
    if !isKnown { throw .commitLog(.foreign, path: paths.commitLog) }
  }
}

/// Goes through the records of a log.
private struct LogEnd {
  private let salt: UInt64
  private var offset = CommitLogFormat.recordsOffset
  private var sum: UInt64
  /// The commit of the last record so far.
  private(set) var commit: UInt64
  /// The meta pages after it.
  private(set) var metas: [[UInt8]]
  /// Whatever stood on each meta page since the head was written.
  private(set) var seen: [Set<[UInt8]>]

  init(_ head: CommitLogHead) {
    salt = head.salt
    sum = head.salt
    commit = head.base
    metas = head.metas
    seen = head.metas.map { [$0] }
  }

  /// Reads the next record; false if there is none that is whole.
  mutating func next(_ file: CommitLogFile, _ record: CommitLogRecord) -> Bool {
    guard let sum = record.read(file.descriptor, at: offset, salt: salt, commit: commit &+ 1, previousSum: sum) else {
      return false
    }
    self.sum = sum
    commit &+= 1
    offset += CommitLogFormat.padded(record.count)
    metas[Int(commit & 1)] = record.meta
    seen[Int(commit & 1)].insert(record.meta)
    return true
  }

  /// Reads all records.
  consuming func scan(_ file: CommitLogFile, _ record: CommitLogRecord) -> LogEnd {
    while next(file, record) {}
    return self
  }
}
