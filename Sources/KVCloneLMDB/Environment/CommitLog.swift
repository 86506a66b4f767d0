import CKVCloneLMDB
import Glibc

/// The write-ahead log of an environment: commits are durable with one sync of one file, written from front to back.
///
/// LMDB writes each changed page where it is free, syncs, and then writes and syncs a meta page: some fifteen places of the
/// disk and two syncs for a commit of one object. With the log it writes without a sync (`MDB_NOSYNC`), and the same pages go
/// to `commit.log`, one after the other, and are synced there. So `data.mdb` is whole while the system runs, whatever becomes
/// of the process, and may be torn after a loss of power; then the log has every page that was written since
/// `data.mdb` was last synced, and the first who opens the store writes them again (`CommitLogRecovery`).
///
/// `data.mdb` is synced, and the log begins anew (a checkpoint), when the log is full, after a commit of more than
/// `CommitLogRecord.maximumPages` pages, after a commit that is not in the log, and at the end. The head names the state from
/// which the records go on, so it is the head that makes a checkpoint's commit one: until it is durable, the state is what the
/// old head and its records say.
///
/// Whoever writes honours a log that is in use, whether he opened the store with one or not; `writer.lock` says that there is
/// one. All is done by who has the right to write, and nobody else.
@safe
final class CommitLog: @unchecked Sendable {
  private let paths: StorePaths
  /// The store's directory as it was opened: another one may have its name by now.
  private let directory: Int32
  private let lock: WriterLockFile
  /// Whether commits are to be logged. Without, a log that somebody else left in use is ended.
  let isOn: Bool
  /// The log begins anew before it would become longer.
  private let byteLimit: Int

  private var file: CommitLogFile?
  private var head: CommitLogHead?
  /// Where the next record goes.
  private var offset = CommitLogFormat.recordsOffset
  /// The commit that the log leads up to, and its record's sum.
  private var lastCommit: UInt64 = 0
  private var lastSum: UInt64 = 0
  private var record = CommitLogRecord()
  private var pages: ChangedPages?
  /// A sync failed, whatever `writer.lock` says.
  private var isBroken = false

  /// Of the store whose `data.mdb` is the file `identity`, if that is what is there.
  init(_ paths: StorePaths, _ lock: WriterLockFile, byteLimit: Int?, identity: FileSystem.Identity) throws(LMDBError) {
    let directory = unsafe kvclone_open(paths.directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0)
    guard directory >= 0 else { throw LMDBError(code: -directory, operation: "open directory") }
    self.directory = directory
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

  /// Before a write transaction upon the commit `number`: what `data.mdb` holds is durable, by the log or by itself.
  func prepare(after number: UInt64, data: Int32) throws(LMDBError) {
    var mark = try lock.logMark()
    if mark == .isBroken || isBroken {
      // Unless the log is gone, or was written back, by an opening of which we are not.
      if try openExisting(), try file?.head()?.isInUse == true {
        throw .commitLog(.broken, path: paths.commitLog)
      }
      lock.mark(.none)
      mark = .none
      isBroken = false
    }
    if isOn {
      if file == nil { file = try CommitLogFile(in: directory, path: paths.commitLog) }
      try follow()
      if mark == .none {
        // Others would write, and leave a log that undoes it.
        let code = lock.mark(.isInUse)
        if code != 0 { throw LMDBError(code: code, operation: "write to writer.lock") }
      }
      if head?.isInUse == true, lastCommit == number { return }
      // Nobody knows what was synced when: it was another program, or somebody died between his commit and its record.
      try settle(
        checkpoint(number, data, try readMetas(data), isInUse: true), wasInUse: head?.isInUse == true)
    } else if mark == .isInUse {
      if try openExisting() {
        try follow()
        if head?.isInUse == true {
          try settle(checkpoint(number, data, try readMetas(data), isInUse: false), wasInUse: true)
        }
      }
      lock.mark(.none)
    }
  }

  /// Makes the commit `number` durable, which LMDB has just written without a sync; 0, or the error that leaves it unknown
  /// whether it is.
  func makeDurable(_ number: UInt64, _ source: PageSource) -> Int32 {
    let data = source.descriptor
    // Where they cannot be read, twice, no sync has failed: whoever writes next finds that the log lacks the commit, and syncs the file.
    guard let metas = (try? readMetas(data)) ?? (try? readMetas(data)) else { return EIO }
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
        }
      }
    }
    // No record, or one that could not be written: then the file itself.
    if code != 0 { code = checkpoint(number, data, metas, isInUse: true) }
    if code != 0 { markBroken() }
    return code
  }

  private func markBroken() {
    isBroken = true
    lock.mark(.isBroken)
  }

  /// Ends the use of the log, if nobody writes: then `data.mdb` is all that the store is. Nobody of this process is live.
  func finish(data: Int32) {
    guard isOn, file != nil, lock.claim(label: "close") else { return }
    defer { lock.release() }
    guard (try? lock.logMark()) == .isInUse else { return }
    // Where something cannot be read, the log stays in use, and the next opening writes it back.
    guard (try? follow()) != nil, head?.isInUse == true, let metas = try? readMetas(data),
      let number = (0...1).compactMap({ PageMeta(bytes: metas[$0], page: UInt64($0))?.commitNumber }).max()
    else { return }
    // Where it fails, the next opening that is alone does it: who has the store open meanwhile could sync what the kernel
    // has given up, and not be told.
    if checkpoint(number, data, metas, isInUse: false) == 0 { lock.mark(.none) } else { markBroken() }
  }

  private func settle(_ code: Int32, wasInUse: Bool) throws(LMDBError) {
    if code == 0 { return }
    // Without the log, LMDB had synced what there is.
    if wasInUse { markBroken() }
    throw LMDBError(code: code, operation: "sync of data.mdb or commit.log")
  }

  private func openExisting() throws(LMDBError) -> Bool {
    if file == nil { file = try CommitLogFile(existingAt: CommitLogFile.name, in: directory) }
    return file != nil
  }

  /// Catches up with what other processes did to the log. Throws where its head cannot be read. Where a record cannot, it lags behind,
  /// which a checkpoint mends: while the system runs, `data.mdb` is whole.
  private func follow() throws(LMDBError) {
    guard let file else { return }
    if let head, file.isStill(head) {
    } else {
      file.distrustCopy()
      head = try file.head()
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
    }
  }

  /// Syncs `data.mdb`, and begins the log anew at its last commit, or ends its use.
  private func checkpoint(_ number: UInt64, _ data: Int32, _ metas: [[UInt8]], isInUse: Bool) -> Int32 {
    guard let file else { return ENOENT }
    var random = SystemRandomNumberGenerator()
    var tie = head?.tie ?? 0
    // Only here, where it does not matter yet that the head has another one.
    if head?.isInUse != true {
      tie = random.next()
      var bytes = tie.littleEndian
      let code = unsafe writeAll(data, &bytes, 8, CommitLogFormat.tieOffset)
      if code != 0 { return code }
    }
    if fdatasync(data) != 0 { return errno }
    let next = CommitLogHead(
      sequence: (head?.sequence ?? 0) &+ 1, salt: random.next(), base: number, isInUse: isInUse,
      tie: tie, metas: metas)
    let code = file.replaceHead(next, after: head)
    if code != 0 { return code }
    head = next
    offset = CommitLogFormat.recordsOffset
    lastCommit = number
    lastSum = next.salt
    return 0
  }

  // MARK: Pages

  private func collect(_ number: UInt64, _ new: PageMeta?, _ old: PageMeta?, _ source: PageSource) -> Bool {
    guard let new, let old, new.commitNumber == number, old.commitNumber &+ 1 == number else { return false }
    let pages = self.pages ?? ChangedPages(record)
    self.pages = pages
    return pages.collect(new, since: old, in: source)
  }

  /// Both meta pages.
  private func readMetas(_ data: Int32) throws(LMDBError) -> [[UInt8]] {
    guard let first = try CommitLogRecovery.meta(0, of: data), let second = try CommitLogRecovery.meta(1, of: data)
    else { throw LMDBError(code: EIO, operation: "read of data.mdb") }
    return [first, second]
  }
}
