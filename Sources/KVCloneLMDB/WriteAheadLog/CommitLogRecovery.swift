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
  /// - Returns: what keeps others from recovering the store, and from opening it, as long as it lives; nil where there is no log.
  ///   Who opens LMDB's environment holds on to it until that is open.
  /// - Throws: `commitLog` where the log is not this file's, or may not be written; `io` where it cannot be read to its end. The file has
  ///   every commit then that the log has, if it had them before.
  static func run(_ paths: StorePaths, deadline: UInt64) throws(LMDBError) -> CommitLogFile? {
    do throws(LMDBError) {
      guard let file = try lock(paths, deadline: deadline) else { return nil }
      // Before the head is read: where it cannot be, the log is another process's all the same, and the file is whole.
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

  /// Keeps others from recovering the store, and from opening it. Nil where there is no log.
  static func lock(_ paths: StorePaths, deadline: UInt64) throws(LMDBError) -> CommitLogFile? {
    guard let facts = try FileSystem.facts(paths.commitLog), facts.kind == .regularFile, facts.byteCount > 0,
      let file = try CommitLogFile(existingAt: paths.commitLog)
    else { return nil }
    try file.lockOpening(path: paths.commitLog, deadline: deadline)
    return file
  }

  /// What the system says to those who may read only.
  static let refusals: Set<Int32> = [EACCES, EROFS, EPERM]

  /// Whether a process has LMDB's environment open.
  static func isOpenElsewhere(_ paths: StorePaths) throws(LMDBError) -> Bool {
    let lock = unsafe kvclone_open(paths.readerLock, O_RDONLY | O_NOFOLLOW | O_CLOEXEC, 0)
    if lock == -ENOENT { return false }
    guard lock >= 0 else { throw LMDBError(code: -lock, operation: "open lock.mdb") }
    defer { close(lock) }
    return kvclone_ofd_is_byte_locked_elsewhere(lock, 0) == 1
  }

  /// By the lock of which LMDB holds a share for each process that has the file open (byte 0 of `lock.mdb`).
  private func runAlone() throws(LMDBError) {
    let lock = unsafe kvclone_open(paths.readerLock, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard lock >= 0 else {
      if Self.refusals.contains(-lock) { throw .commitLog(.needsWriting, path: paths.commitLog) }
      throw LMDBError(code: -lock, operation: "open lock.mdb")
    }
    defer { close(lock) }
    let code = kvclone_ofd_lock_byte(lock, 0, 1)
    // Somebody has the store open: the log is his.
    if code == EAGAIN || code == EACCES { return }
    if code != 0 { throw LMDBError(code: code, operation: "fcntl(F_OFD_SETLK)") }
    // By name: a child that was forked meanwhile has the descriptor, too.
    defer { _ = kvclone_ofd_lock_byte(lock, 0, 0) }
    guard let head = try file.head(), head.isInUse else { return }
    try replay(head) {
      // What the lock file says of commits and readers is of another time. Who found no log, and waits in LMDB for our lock, would
      // believe it; without the magic number it is refused, and the next to have the lock alone makes it anew.
      var facts = stat()
      if unsafe fstat(lock, &facts) != 0 { return errno }
      var nothing: UInt32 = 0
      return facts.st_size < 4 ? 0 : unsafe writeAll(lock, &nothing, 4, 0)
    }
  }

  /// - Parameter invalidate: is called before anything is written, and returns 0 or an error's number.
  private func replay(_ head: CommitLogHead, _ invalidate: () -> Int32) throws(LMDBError) {
    let data = unsafe kvclone_open(paths.data, O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0)
    guard data >= 0 else {
      if Self.refusals.contains(-data) { throw .commitLog(.needsWriting, path: paths.commitLog) }
      throw LMDBError(code: -data, operation: "open data.mdb")
    }
    defer { close(data) }
    let record = CommitLogRecord()
    // First all is looked at, and then all is written: a log that is not this file's changes nothing.
    var found = LogEnd(head)
    // Only the last bytes of a page are written: who is stopped in the middle leaves no page older than it was.
    var lastCommits: [UInt64: UInt64] = [:]
    while try found.next(file, record) {
      let isWhole = unsafe record.forEachPage { number, _ in
        lastCommits[number] = found.commit
        return true
      }
      if !isWhole { throw .commitLog(.corrupted, path: paths.commitLog) }
    }
    try checkBelongs(data, head, found)
    let last = found.commit
    found = LogEnd(head)
    var failure = invalidate()
    if failure != 0 { throw LMDBError(code: failure, operation: "write to lock.mdb") }
    while try found.next(file, record) {
      let isWhole = unsafe record.forEachPage { number, page in
        guard let start = page.baseAddress else { return false }
        if lastCommits[number] != found.commit { return true }
        failure = unsafe writeAll(data, start, page.count, Int(number) * LMDBLimits.pageSize)
        return failure == 0
      }
      if failure != 0 { throw LMDBError(code: failure, operation: "write to data.mdb") }
      if !isWhole { throw .commitLog(.corrupted, path: paths.commitLog) }
    }
    // The disk gave other bytes than a moment ago.
    if found.commit != last { throw LMDBError(code: EIO, operation: "read of commit.log") }
    for (page, meta) in found.metas.enumerated() {
      failure = unsafe writeAll(data, meta, meta.count, page * LMDBLimits.pageSize)
      if failure != 0 { throw LMDBError(code: failure, operation: "write to data.mdb") }
    }
    if fsync(data) != 0 { throw LMDBError(code: errno, operation: "fsync") }
    // Before the head: a log that is in use is looked at again, if we die here, and one that is not is not.
    if let writer = try? WriterLockFile(path: paths.writerLock) { writer.mark(.none) }
    let ended = CommitLogHead(
      sequence: head.sequence &+ 1, salt: head.salt, base: found.commit, isInUse: false, tie: head.tie,
      metas: found.metas)
    failure = file.replaceHead(ended, after: head)
    if failure != 0 { throw LMDBError(code: failure, operation: "write to commit.log") }
  }

  /// The file has the head's tie. Its newer meta page is one that the log knows, or that of the commit after its last record,
  /// which was just being written, and then the log knows the older one. A page that is none was being written when the power went, and
  /// has anything: it says nothing against the log, and of two, the tie speaks alone.
  private func checkBelongs(_ data: Int32, _ head: CommitLogHead, _ known: LogEnd) throws(LMDBError) {
    var tie: UInt64 = 0
    guard unsafe try readAll(data, &tie, 8, CommitLogFormat.tieOffset, "read of data.mdb"),
      UInt64(littleEndian: tie) == head.tie
    else { throw .commitLog(.foreign, path: paths.commitLog) }
    let metas = [try Self.meta(0, of: data), try Self.meta(1, of: data)]
    if Self.isOlder(metas, than: head, known) { throw .commitLog(.foreign, path: paths.commitLog) }
  }

  /// The bytes of a meta page; nil where the file ends before.
  static func meta(_ page: Int, of data: Int32) throws(LMDBError) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: CommitLogFormat.metaLength)
    return unsafe try readAll(data, &bytes, bytes.count, page * LMDBLimits.pageSize, "read of data.mdb") ? bytes : nil
  }

  /// Whether the meta pages, of which one that cannot be had is nil, are none that a file has which the log goes on from.
  static func isOlder(_ pages: [[UInt8]?], than head: CommitLogHead, _ known: LogEnd) -> Bool {
    var metas: [(commit: UInt64, isKnown: Bool)] = []
    for (page, bytes) in pages.enumerated() {
      guard let bytes else { continue }
      let isKnown = known.seen[page].contains(bytes)
      guard let commit = PageMeta(bytes: bytes, page: UInt64(page))?.commitNumber else {
        if isKnown { metas.append((0, true)) }
        continue
      }
      // The file is of a time before the head. (The page of a commit that failed has an old number back, beside other roots;
      // but none as old as that.)
      if !isKnown, commit &+ 1 < head.base { return true }
      metas.append((commit, isKnown))
    }
    metas.sort { $0.commit > $1.commit }
    guard let newest = metas.first, !newest.isKnown else { return false }
    return !(newest.commit == known.commit &+ 1 && (metas.count == 1 || metas.last?.isKnown == true))
  }
}

/// Goes through the records of a log.
struct LogEnd {
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

  /// Reads the next record; false if there is none that is whole. Throws `io` where it cannot be read.
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
