import CKVCloneLMDB
import Glibc

/// The write-ahead log of an environment: commits are durable with one sync of one file, written from front to back.
///
/// LMDB writes each changed page to a free place, syncs, and then writes and syncs a meta page: some fifteen places of
/// the disk and two syncs for a commit of one object. With the log, LMDB writes without a sync (`MDB_NOSYNC`), and the
/// same pages are appended to `commit.log` and synced there. `data.mdb` is therefore whole while the system runs, even
/// if the process is killed, and may be torn after a power loss; the log then has every page written since the last
/// sync of `data.mdb`, and the first process to open the store writes them again (`CommitLogRecovery`).
///
/// A checkpoint syncs `data.mdb` and restarts the log: when the log is full, after a commit of more than
/// `CommitLogRecord.maximumPages` pages, after a commit that is not in the log, and at the end. The head names the
/// state that the records continue from, and therefore completes the checkpoint: until the head is durable, the old
/// head and its records define the state.
///
/// Every writer honours a log that is in use, even if it opened the store without one; a mark in `writer.lock`
/// announces it. All operations require the write lock.
@safe
final class CommitLog: @unchecked Sendable {
  private let paths: StorePaths
  /// The store's directory as opened: by now, the path may name another one.
  private let directory: Int32
  private let lock: WriterLockFile
  /// Whether commits are logged. If not, a log that another process left in use is ended.
  let isOn: Bool
  /// The size at which a checkpoint restarts the log.
  private let byteLimit: Int

  private var file: CommitLogFile?
  private var head: CommitLogHead?
  /// The offset of the next record.
  private var offset = CommitLogFormat.recordsOffset
  /// The number of the last commit in the log, and the checksum of its record.
  private var lastCommit: UInt64 = 0
  private var lastSum: UInt64 = 0
  /// The tie in `data.mdb`, while the log is in use.
  private var tie: UInt64 = 0
  /// The pages that the records since the head have.
  private var logged = PageNumberSet()
  private let record: CommitLogRecord
  private var pages: ChangedPages
  /// Whether a sync failed, regardless of `writer.lock`.
  private var isBroken = false

  /// Opens the log of the store with the `data.mdb` that is the file `identity`, if the paths still lead there.
  init(_ paths: StorePaths, _ lock: WriterLockFile, byteLimit: Int?, identity: FileSystem.Identity) throws(LMDBError) {
    let directory = unsafe kvclone_open(paths.directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0)
    guard directory >= 0 else { throw LMDBError(code: -directory, operation: "open directory") }
    self.directory = directory
    record = CommitLogRecord()
    pages = ChangedPages(record)
    self.paths = paths
    self.lock = lock
    isOn = byteLimit != nil
    self.byteLimit = max(
      byteLimit ?? 0, CommitLogFormat.recordsOffset + CommitLogFormat.padded(CommitLogRecord.maximumLength))
    if try FileSystem.facts("data.mdb", in: directory)?.identity != identity {
      throw .replacedWhileOpening(path: paths.data)
    }
  }

  deinit { close(directory) }

  // MARK: Writing

  /// Prepares a write transaction based on the commit `number`: makes the content of `data.mdb` durable, by the log or
  /// by a sync.
  func prepare(after number: UInt64, data: Int32) throws(LMDBError) {
    var mark = try lock.logMark()
    if mark == .isBroken || isBroken {
      // Unless the log was deleted or checkpointed by an opening that did not see this process.
      if try openExisting(), try file?.head()?.isInUse == true {
        throw .commitLog(.broken, path: paths.commitLog)
      }
      lock.mark(.none)
      mark = .none
      isBroken = false
    }
    if isOn {
      if file == nil { file = try CommitLogFile(in: directory, path: paths.commitLog) }
      try follow(data)
      if mark == .none {
        // Without the mark, other writers would write, and leave a log that undoes it.
        let code = lock.mark(.isInUse)
        if code != 0 { throw LMDBError(code: code, operation: "write to writer.lock") }
      }
      if let head, head.isInUse, lastCommit == number, head.tie == tie ^ CommitLogFormat.versionMark { return }
      // It is unknown what was synced when: the writer was another program, or was killed between its commit and the
      // record. Or the log is of version 1, and its readers would miss the records that follow.
      try settle(
        checkpoint(number, data, try readMetas(data), isInUse: true), wasInUse: head?.isInUse == true)
    } else if mark == .isInUse {
      if try openExisting() {
        try follow(data)
        if head?.isInUse == true {
          try settle(checkpoint(number, data, try readMetas(data), isInUse: false), wasInUse: true)
        }
      }
      lock.mark(.none)
    }
  }

  /// Makes the commit `number` durable, which LMDB has just written without a sync. Returns 0, or the error that leaves
  /// durability unknown.
  func makeDurable(_ number: UInt64, _ source: PageSource) -> Int32 {
    let data = source.descriptor
    // If the meta pages are unreadable twice, no sync has failed: the next writer finds that the log lacks the commit,
    // and syncs the file.
    guard let metas = source.mappedMetas ?? (try? readMetas(data)) ?? (try? readMetas(data)) else { return EIO }
    let (meta, old) = (metas[Int(number & 1)], metas[1 - Int(number & 1)])
    let commits = (PageMeta(bytes: meta, page: number & 1), PageMeta(bytes: old, page: 1 - (number & 1)))
    // LMDB writes no meta page for a transaction that changed nothing.
    if commits.1?.commitNumber == lastCommit, commits.0.map({ $0.commitNumber < number }) == true { return 0 }
    var code: Int32 = -1
    if let head, let file, head.isInUse, lastCommit &+ 1 == number, collect(number, commits.0, commits.1, source) {
      let sum = record.seal(salt: head.salt, commit: number, meta: meta, previousSum: lastSum)
      let end = offset + CommitLogFormat.padded(record.count)
      if end <= byteLimit {
        code = file.append(record, at: offset)
        if code == 0 {
          lastCommit = number
          lastSum = sum
          offset = end
          for number in record.numbers { logged.insert(number) }
        }
      }
    }
    // Without a record, or if writing it failed: sync the file itself.
    if code != 0 { code = checkpoint(number, data, metas, isInUse: true) }
    if code != 0 { markBroken() }
    return code
  }

  private func markBroken() {
    isBroken = true
    lock.mark(.isBroken)
  }

  /// Ends the use of the log unless another process writes: `data.mdb` then is the whole store. This process has no
  /// live users.
  func finish(data: Int32) {
    guard isOn, file != nil, lock.claim(label: "close") else { return }
    defer { lock.release() }
    guard (try? lock.logMark()) == .isInUse else { return }
    // If something is unreadable, the log stays in use, and the next opening writes it back.
    guard (try? follow(data)) != nil, head?.isInUse == true, let metas = try? readMetas(data),
      let number = (0...1).compactMap({ PageMeta(bytes: metas[$0], page: UInt64($0))?.commitNumber }).max()
    else { return }
    // If it fails, the next opening that is alone does it: a process that has the store open could sync pages that the
    // kernel has dropped, and would get no error.
    if checkpoint(number, data, metas, isInUse: false) == 0 { lock.mark(.none) } else { markBroken() }
  }

  private func settle(_ code: Int32, wasInUse: Bool) throws(LMDBError) {
    if code == 0 { return }
    // Without the log, LMDB has synced every commit.
    if wasInUse { markBroken() }
    throw LMDBError(code: code, operation: "sync of data.mdb or commit.log")
  }

  private func openExisting() throws(LMDBError) -> Bool {
    if file == nil { file = try CommitLogFile(existingAt: CommitLogFile.name, in: directory) }
    return file != nil
  }

  /// Catches up with what other processes did to the log. Throws if the head or the tie is unreadable. After an
  /// unreadable record it lags behind, which a checkpoint corrects: while the system runs, `data.mdb` is whole.
  private func follow(_ data: Int32) throws(LMDBError) {
    guard let file else { return }
    if let head, file.isStill(head) {
    } else {
      file.distrustCopy()
      head = nil
      logged.removeAll()
      let found = try file.head()
      if found?.isInUse == true { tie = try CommitLogRecovery.tie(of: data) }
      head = found
      offset = CommitLogFormat.recordsOffset
      lastCommit = head?.base ?? 0
      lastSum = head?.salt ?? 0
    }
    guard let head, head.isInUse else { return }
    while let sum = try? record.read(
      file.descriptor, at: offset, salt: head.salt, commit: lastCommit &+ 1, previousSum: lastSum)
    {
      lastCommit &+= 1
      lastSum = sum
      offset += CommitLogFormat.padded(record.count)
      _ = record.forEachPage { page in
        logged.insert(page.number)
        return true
      }
    }
  }

  /// Syncs `data.mdb`, and restarts the log at its last commit, or ends its use.
  private func checkpoint(_ number: UInt64, _ data: Int32, _ metas: [[UInt8]], isInUse: Bool) -> Int32 {
    guard let file else { return ENOENT }
    var random = SystemRandomNumberGenerator()
    // Only here, where a different tie in the head does no harm yet.
    if head?.isInUse != true {
      tie = random.next()
      var bytes = tie.littleEndian
      let code = unsafe writeAll(data, &bytes, 8, CommitLogFormat.tieOffset)
      if code != 0 { return code }
    }
    if fdatasync(data) != 0 { return errno }
    let next = CommitLogHead(
      sequence: (head?.sequence ?? 0) &+ 1, salt: random.next(), base: number, isInUse: isInUse,
      tie: tie ^ CommitLogFormat.versionMark, metas: metas)
    let code = file.replaceHead(next, after: head)
    if code != 0 { return code }
    head = next
    logged.removeAll()
    offset = CommitLogFormat.recordsOffset
    lastCommit = number
    lastSum = next.salt
    return 0
  }

  // MARK: Pages

  private func collect(_ number: UInt64, _ new: PageMeta?, _ old: PageMeta?, _ source: PageSource) -> Bool {
    guard let new, let old, new.commitNumber == number, old.commitNumber &+ 1 == number else { return false }
    return pages.collect(new, since: old, in: source, bases: logged)
  }

  /// Reads both meta pages.
  private func readMetas(_ data: Int32) throws(LMDBError) -> [[UInt8]] {
    guard let first = try CommitLogRecovery.meta(0, of: data), let second = try CommitLogRecovery.meta(1, of: data)
    else { throw LMDBError(code: EIO, operation: "read of data.mdb") }
    return [first, second]
  }
}
