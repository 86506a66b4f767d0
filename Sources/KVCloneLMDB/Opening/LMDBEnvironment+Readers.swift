import CKVCloneLMDB
import Glibc

/// One reader slot in use, of any process.
package struct LMDBReader: Sendable, Equatable {
  /// Its process, as numbered in that process's PID namespace.
  package let pid: Int32
  /// The thread that took the slot, by its number in the C library. Another one may use it now.
  package let thread: UInt
  /// The commit that it sees, and that keeps pages from being reused; nil for an idle reader.
  package let commitNumber: UInt64?
}

/// A reader that has a transaction open, of any process.
package struct LMDBActiveReader: Sendable, Equatable {
  package let pid: Int32
  /// The thread that took the slot; nil where it is known that any may use it.
  package let thread: UInt?
  package let isThisProcess: Bool
  /// The name under which it was pinned; nil where it was not, and of other processes.
  package let pinOwner: String?
  /// How long it has been open; nil of other processes.
  package let age: Duration?
  /// The commit that it sees.
  package let commitNumber: UInt64
  /// Whether its process is gone.
  package let isStale: Bool
}

/// What readers keep from being reused.
package struct LMDBRetainedPages: Sendable {
  /// The last commit.
  package let lastCommit: UInt64
  /// By the number of the commit that freed them, ascending: how many pages.
  private let freed: [(commit: UInt64, pages: Int)]

  fileprivate init(lastCommit: UInt64, freed: [(commit: UInt64, pages: Int)]) {
    self.lastCommit = lastCommit
    self.freed = freed
  }

  /// How many pages could be used if readers of this commit and older ones were not.
  ///
  /// LMDB uses what a commit freed if that is older than the oldest reader's commit, and older than the last one
  /// (`mdb_find_oldest`, and `oldest <= last` in `mdb_page_alloc`).
  package func count(for commit: UInt64) -> Int {
    freed.reduce(0) { $1.commit >= commit && $1.commit < lastCommit ? $0.saturatingAdd($1.pages) : $0 }
  }
}

extension LMDBEnvironment {
  /// A snapshot that is to stay open for long: it takes a place of its own in the reader table, and keeps no other reader from
  /// the places that are used in turn. `owner` is for `activeReaders`.
  package func beginPinnedRead(owner: String) throws(LMDBError) -> LMDBReadTransaction {
    try core.beginPinnedRead(owner: owner)
  }

  /// The readers that have a transaction open, in the order of what they see, oldest first. Each may have ended when the
  /// answer arrives.
  package func activeReaders() throws(LMDBError) -> [LMDBActiveReader] {
    let readers = try whileOpen { () throws(LMDBError) in
      let own = ownReaders()
      // Not opened again: closing any descriptor of it drops the process's locks, by which others see that its readers
      // live.
      let table = core.raw.lockFile?.descriptor
      let pid = getpid()
      var others: [LMDBActiveReader] = []
      for reader in try liveReaders() where reader.pid != pid {
        guard let commit = reader.commitNumber else { continue }
        others.append(
          LMDBActiveReader(
            pid: reader.pid, thread: reader.thread, isThisProcess: false, pinOwner: nil, age: nil, commitNumber: commit,
            isStale: table.map { kvclone_is_byte_locked_by_others($0, Int64(reader.pid)) == 0 } ?? false))
      }
      return own + others
    }
    return readers.sorted { ($0.commitNumber, $0.pid) < ($1.commitNumber, $1.pid) }
  }

  /// What the free list says of pages that were freed by this commit and later ones; nil where no reader slot is left for
  /// looking at it.
  package func retainedPages(since commit: UInt64) throws(LMDBError) -> LMDBRetainedPages? {
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
    return LMDBRetainedPages(lastCommit: last, freed: freed)
  }

  /// Frees the slots of readers whose process is gone, and says how many there were.
  @discardableResult
  package func clearDeadReaders() throws(LMDBError) -> Int {
    try whileOpen { () throws(LMDBError) in
      var dead: Int32 = 0
      let code = unsafe mdb_reader_check(pointer, &dead)
      if code != 0 { throw error(code, "mdb_reader_check") }
      return Int(dead)
    }
  }

  /// For a caller who is counted as live.
  func liveReaders() throws(LMDBError) -> [LMDBReader] {
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

  /// This process's, which LMDB's table does not tell apart.
  private func ownReaders() -> [LMDBActiveReader] {
    let pid = getpid()
    var readers: [LMDBActiveReader] = []
    let (slots, unpooled) = core.state.withLock { state in (core.openSlots(), Array(state.unpooled.values)) }
    // After they were looked at, so that none is younger than now.
    let now = monotonicNanoseconds()
    func age(_ since: UInt64) -> Duration { .nanoseconds(Int64(clamping: now > since ? now - since : 0)) }
    for slot in slots {
      readers.append(
        LMDBActiveReader(
          pid: pid, thread: nil, isThisProcess: true, pinOwner: nil, age: age(slot.since), commitNumber: slot.commit,
          isStale: false))
    }
    for reader in unpooled {
      readers.append(
        LMDBActiveReader(
          pid: pid, thread: reader.thread, isThisProcess: true, pinOwner: reader.owner, age: age(reader.since),
          commitNumber: reader.commitNumber, isStale: false))
    }
    return readers
  }
}

extension EnvironmentCore {
  /// The transactions that are open in slots. None of the slots goes while the caller is live.
  func openSlots() -> [(commit: UInt64, since: UInt64)] {
    var found: [(commit: UInt64, since: UInt64)] = []
    for index in 0..<Self.slotCount {
      if let open = unsafe slots[index].open { found.append(open) }
    }
    return found
  }
}

/// What `mdb_reader_list` prints: a heading, then "pid thread txnid" a line, with "-" for an idle reader.
private final class ReaderLines {
  var text = ""

  var parsed: [LMDBReader] {
    text.split(separator: "\n").compactMap { line in
      let fields = line.split(separator: " ")
      // LMDB reads the process number twice: for a slot that becomes free in between, it prints 0.
      guard fields.count == 3, let pid = Int32(fields[0]), pid != 0 else { return nil }
      return LMDBReader(pid: pid, thread: UInt(fields[1], radix: 16) ?? 0, commitNumber: UInt64(fields[2]))
    }
  }
}
