#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif
import KVCloneRecords

extension ObjectReading where Self: ~Copyable {
  /// The place behind the last commit that this transaction sees; a write transaction's own is not committed yet. At a
  /// named snapshot: behind the last one all of which it shows, so that the history after it leads on from the snapshot.
  public borrowing func currentToken() throws(StoreError) -> HistoryToken {
    try _withSession { (session) throws(StoreError) in try session.currentToken() }
  }

  /// The transactions after a token, oldest first.
  ///
  /// - Parameters:
  ///   - token: what to go on from; nil is the oldest that is kept.
  ///   - limit: the greatest number of transactions; nil is all.
  /// - Throws: `historyOff`; `historyExpired` where some of them were purged; `invalidHistoryToken`; `damaged`.
  public borrowing func history(after token: HistoryToken? = nil, limit: Int? = nil) throws(StoreError)
    -> [HistoryTransaction]
  {
    try _withSession { (session) throws(StoreError) in
      try session.transactions(after: try session.firstCommit(after: token), limit: limit)
    }
  }

  /// Calls `body` with each transaction after a token, oldest first, until it answers false.
  ///
  /// - Throws: see ``history(after:limit:)``, and what `body` throws.
  public borrowing func forEachTransaction(
    after token: HistoryToken? = nil, _ body: (HistoryTransaction) throws -> Bool
  ) throws {
    var failure: (any Error)?
    try _withSession { (session) throws(StoreError) in
      guard let source = session.historySource else { return }
      try session.forEachTransaction(after: try session.firstCommit(after: token)) {
        (commit, header) throws(StoreError) in
        do { return try body(HistoryTransaction(commit, header, source)) } catch { failure = error }
        return false
      }
    }
    if let failure { throw failure }
  }
}

extension ObjectReading where Self: ~Copyable {
  /// Calls `body` with each change of a transaction until it answers false, as ``HistoryTransaction/forEachChange(_:)``
  /// does, and as this transaction sees the history: what is purged meanwhile is there still.
  public borrowing func forEachChange(
    of transaction: HistoryTransaction, _ body: (HistoryChange) throws -> Bool
  ) throws {
    var failure: (any Error)?
    try _withSession { (session) throws(StoreError) in
      _ = try session.firstCommit(after: transaction.token)
      try session.forEachChange(of: transaction.commit) { (change) throws(StoreError) in
        do { return try body(change) } catch { failure = error }
        return false
      }
    }
    if let failure { throw failure }
  }
}

extension WriteTransaction {
  /// Who writes, for the history; ``StoreOptions/author`` to begin with.
  public var author: String {
    get { session.changes.author }
    set { session.changes.author = newValue }
  }

  /// What is done, for the history; empty to begin with.
  public var operation: String {
    get { session.changes.operation }
    set { session.changes.operation = newValue }
  }
}

extension ObjectStore {
  /// The place behind the last commit.
  public func currentToken() throws(StoreError) -> HistoryToken { try readSession().currentToken() }

  /// The transactions after a token, oldest first; see ``ObjectReading/history(after:limit:)``.
  public func history(after token: HistoryToken? = nil, limit: Int? = nil) throws(StoreError) -> [HistoryTransaction] {
    let session = try readSession()
    return try session.transactions(after: try session.firstCommit(after: token), limit: limit)
  }

  /// Whether commits write down what they change.
  public func tracksHistory() throws(StoreError) -> Bool { try readSession().historyStart() != nil }

  // MARK: On and off

  /// Turns the history on or off, for the store and whoever has it open. Turning it off forgets what there is.
  @available(*, noasync, message: "use the asynchronous form")
  public func setTracksHistory(_ tracks: Bool) throws { try turnHistory(on: tracks) }

  /// Turns the history on or off, from asynchronous code.
  public func setTracksHistory(_ tracks: Bool) async throws {
    try await onWriterQueue { try self.turnHistory(on: tracks) }
  }

  func turnHistory(on tracks: Bool) throws(StoreError) {
    if try tracksHistory() == tracks { return }
    _ = try changeHistory { (session) throws(StoreError) in
      let table = session.schema.tables.metadata
      if tracks, try session.historyStart() == nil {
        try Metadata.put(&session.storage, table, MetadataKey.history, CounterValue(session.commit))
      } else if !tracks {
        let name = MetadataKey.bytes(MetadataKey.history)
        try session.storage.delete(table, name.span.bytes)
      }
      session.changes.history = nil
      return 0
    }
    if !tracks { _ = try deleteHistory(through: .max) }
  }

  // MARK: Purging

  /// Forgets the transactions up to a token, the one that it stands behind included. Who goes on from that token or a
  /// later one loses nothing.
  ///
  /// Many small write transactions delete them, so that other writers need not wait; to readers they are gone at once.
  ///
  /// - Returns: how many transactions were forgotten.
  /// - Throws: `historyOff`, `invalidHistoryToken`; a token of what is purged already is no error. `busy`, `diskFull` …
  @available(*, noasync, message: "use the asynchronous form")
  @discardableResult
  public func purgeHistory(before token: HistoryToken) throws -> Int { try purge(before: token) }

  /// Forgets the transactions up to a token, from asynchronous code.
  @discardableResult
  public func purgeHistory(before token: HistoryToken) async throws -> Int {
    try await onWriterQueue { try self.purge(before: token) }
  }

  /// Forgets the transactions before the first that was committed at `date` or later.
  ///
  /// - Returns: how many transactions were forgotten.
  /// - Throws: `historyOff`; `busy`, `diskFull` …
  @available(*, noasync, message: "use the asynchronous form")
  @discardableResult
  public func purgeHistory(before date: Date) throws -> Int { try purge(before: date) }

  /// Forgets the transactions before a date, from asynchronous code.
  @discardableResult
  public func purgeHistory(before date: Date) async throws -> Int {
    try await onWriterQueue { try self.purge(before: date) }
  }

  private func purge(before date: Date) throws(StoreError) -> Int {
    let session = try readSession()
    var last = try session.firstCommit(after: nil)
    try session.forEachTransaction(after: last) { (commit, header) throws(StoreError) in
      guard header.time < date.timeIntervalSinceReferenceDate else { return false }
      last = commit
      return true
    }
    return try purge(through: last)
  }

  private func purge(before token: HistoryToken) throws(StoreError) -> Int {
    do throws(StoreError) {
      return try purge(through: try readSession().firstCommit(after: token))
    } catch {
      guard error.kind == .historyExpired else { throw error }
      return 0
    }
  }

  private func purge(through last: UInt64) throws(StoreError) -> Int {
    guard let start = try readSession().historyStart(), last > start else { return 0 }
    // From here on the entries are nobody's: whatever ends this, a later purge takes what is left.
    _ = try changeHistory { (session) throws(StoreError) in
      guard let start = try session.historyStart(), last > start else { return 0 }
      try Metadata.put(&session.storage, session.schema.tables.metadata, MetadataKey.history, CounterValue(last))
      return 0
    }
    return try deleteHistory(through: last)
  }

  /// Deletes entries that no reader looks at any more; of how many transactions.
  private func deleteHistory(through last: UInt64) throws(StoreError) -> Int {
    let limit = 1000
    var transactions = 0
    var isDone = false
    while !isDone {
      transactions += try changeHistory { (session) throws(StoreError) in
        // Turned on again meanwhile: what it tells from then on stays.
        let end = min(last, try session.historyStart() ?? .max)
        let deleted = try session.deleteHistory(through: end, limit: limit)
        isDone = deleted.entries < limit
        return deleted.transactions
      }
    }
    return transactions
  }

  /// A write transaction on the history itself.
  private func changeHistory(_ body: (inout Session) throws(StoreError) -> Int) throws(StoreError) -> Int {
    try onceMoreIfMapFull { () throws(StoreError) in
      var session = try writeSession(label: "history")
      let result = try body(&session)
      if session.storage.changeCount == 0 { return result }
      try session.writeCounters()
      // It deletes, or writes a few bytes.
      session.storage.markDeleteOnly()
      try session.storage.commit()
      return result
    }
  }
}
