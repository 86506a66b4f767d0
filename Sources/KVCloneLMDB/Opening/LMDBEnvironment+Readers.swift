import CKVCloneLMDB
import Glibc

/// The pages that readers keep from being reused.
private struct RetainedPages {
  /// The last commit.
  let lastCommit: UInt64
  /// The number of freed pages by the commit that freed them, ascending.
  let freed: [(commit: UInt64, pages: Int)]

  /// Returns the number of pages that could be reused without readers of this commit and older ones.
  ///
  /// LMDB uses what a commit freed if that is older than the oldest reader's commit, and older than the last one
  /// (`mdb_find_oldest`, and `oldest <= last` in `mdb_page_alloc`).
  func count(for commit: UInt64) -> Int {
    freed.reduce(0) { $1.commit >= commit && $1.commit < lastCommit ? $0.saturatingAdd($1.pages) : $0 }
  }
}

extension LMDBEnvironment {
  /// Begins a long-lived snapshot: it takes a reader slot of its own, and leaves the pooled slots to other readers.
  /// `owner` is for `activeReaders`.
  package func beginPinnedRead(owner: String) throws(LMDBError) -> LMDBReadTransaction {
    try core.beginPinnedRead(owner: owner)
  }

  /// Returns the open readers, oldest snapshot first. Each may have ended when the result arrives.
  package func activeReaders() throws(LMDBError) -> [StorageReader] {
    let readers = try whileOpen { () throws(LMDBError) in ownReaders() + (try otherReaders()) }
      .sorted { ($0.commitNumber, $0.processID) < ($1.commitNumber, $1.processID) }
    guard let oldest = readers.first else { return [] }
    // Begun after the readers were listed, so it is not among them.
    let retained = try retainedPages(since: oldest.commitNumber)
    let last = if let retained { retained.lastCommit } else { try info().commitNumber }
    return readers.map { reader in
      var reader = reader
      if !reader.isStale { reader.processName = ProcessNames.name(reader.processID) }
      reader.lag = last > reader.commitNumber ? last - reader.commitNumber : 0
      reader.retainedBytes = retained.map { UInt64($0.count(for: reader.commitNumber)) * UInt64(LMDBLimits.pageSize) }
      return reader
    }
  }

  private func otherReaders() throws(LMDBError) -> [StorageReader] {
    // Not reopened: closing any descriptor of it drops the process's locks, which show other processes that its readers
    // live.
    let table = core.raw.lockFile?.descriptor
    let pid = getpid()
    var others: [StorageReader] = []
    for reader in try liveReaders() where reader.pid != pid {
      guard let commit = reader.commit else { continue }
      others.append(
        StorageReader(
          processID: reader.pid, thread: reader.thread, isThisProcess: false, pinOwner: nil, age: nil,
          commitNumber: commit,
          isStale: table.map { kvclone_is_byte_locked_by_others($0, Int64(reader.pid)) == 0 } ?? false))
    }
    return others
  }

  /// Reads which pages this commit and later ones freed; nil if no reader slot is free for it.
  private func retainedPages(since commit: UInt64) throws(LMDBError) -> RetainedPages? {
    let transaction: LMDBReadTransaction
    do throws(LMDBError) {
      transaction = try beginRead()
    } catch {
      if error == .readersFull { return nil }
      throw error
    }
    var freed: [(commit: UInt64, pages: Int)] = []
    let last = transaction.commitNumber
    if commit < last {
      var first = commit
      let key = unsafe withUnsafeBytes(of: &first) { unsafe [UInt8]($0) }
      let table = LMDBTable(dbi: LMDBLimits.freeDatabase)
      var cursor = try unsafe LMDBCursor(transaction: transaction.handle, table: table, from: key.span.bytes)
      while let entry = try cursor.next() {
        guard entry.key.byteCount == 8 else { throw .corrupted }
        let number = unsafe entry.key.unsafeLoadUnaligned(as: UInt64.self)
        freed.append((number, LMDBLimits.length(ofIDList: entry.value)))
      }
    }
    return RetainedPages(lastCommit: last, freed: freed)
  }

  /// Clears stale readers, and returns their number.
  @discardableResult
  package func clearDeadReaders() throws(LMDBError) -> Int {
    try whileOpen { () throws(LMDBError) in
      var dead: Int32 = 0
      let code = unsafe mdb_reader_check(pointer, &dead)
      if code != 0 { throw error(code, "mdb_reader_check") }
      return Int(dead)
    }
  }

  /// Returns the reader slots in use, of all processes; the commit is nil for an idle reader. The caller is counted as
  /// live.
  func liveReaders() throws(LMDBError) -> [(pid: Int32, thread: UInt, commit: UInt64?)] {
    let lines = ReaderLines()
    let code = unsafe mdb_reader_list(
      pointer,
      { text, context in
        guard let text = unsafe text, let context = unsafe context else { return 0 }
        unsafe Unmanaged<ReaderLines>.fromOpaque(context).takeUnretainedValue().text += String(cString: text)
        return 0
      }, Unmanaged.passUnretained(lines).toOpaque())
    if code < 0 { throw error(code, "mdb_reader_list") }
    return lines.parsed
  }

  /// The readers of this process; LMDB's table does not distinguish their slots.
  private func ownReaders() -> [StorageReader] {
    let pid = getpid()
    var readers: [StorageReader] = []
    let (slots, unpooled) = core.state.withLock { state in (core.openSlots(), Array(state.unpooled.values)) }
    // After the readers were listed, so that no age is negative.
    let now = monotonicNanoseconds()
    func age(_ since: UInt64) -> Duration { .nanoseconds(Int64(clamping: now > since ? now - since : 0)) }
    for slot in slots {
      readers.append(
        StorageReader(
          processID: pid, thread: nil, isThisProcess: true, pinOwner: nil, age: age(slot.since),
          commitNumber: slot.commit, isStale: false))
    }
    for reader in unpooled {
      readers.append(
        StorageReader(
          processID: pid, thread: reader.thread, isThisProcess: true, pinOwner: reader.owner, age: age(reader.since),
          commitNumber: reader.commitNumber, isStale: false))
    }
    return readers
  }
}

extension EnvironmentCore {
  /// The transactions open in slots. The slots stay allocated while the caller is live.
  func openSlots() -> [(commit: UInt64, since: UInt64)] {
    var found: [(commit: UInt64, since: UInt64)] = []
    for index in 0..<Self.slotCount {
      if let open = unsafe slots[index].open { found.append(open) }
    }
    return found
  }
}

/// The output of `mdb_reader_list`: a heading, then "pid thread txnid" a line, with "-" for an idle reader.
private final class ReaderLines {
  var text = ""

  var parsed: [(pid: Int32, thread: UInt, commit: UInt64?)] {
    text.split(separator: "\n").compactMap { line in
      let fields = line.split(separator: " ")
      // LMDB reads the process id twice: for a slot that becomes free in between, it prints 0.
      guard fields.count == 3, let pid = Int32(fields[0]), pid != 0 else { return nil }
      return (pid, UInt(fields[1], radix: 16) ?? 0, UInt64(fields[2]))
    }
  }
}
