#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif
import KVCloneRecords

extension ObjectReading where Self: ~Copyable {
  /// Returns the position after the last commit that this transaction sees.
  ///
  /// The changes of an open write transaction are not included. For a named snapshot, this is the position after the
  /// last commit that is fully visible in it, so the history from there continues from the snapshot.
  public borrowing func currentToken() throws(StoreError) -> HistoryToken {
    try _withSession { (session) throws(StoreError) in try HistoryReader.currentToken(in: session) }
  }

  /// Returns the transactions after a token, oldest first.
  ///
  /// - Parameters:
  ///   - token: the position to start from; nil for the start of the stored history.
  ///   - limit: the maximum number of transactions; nil for all.
  /// - Throws: `historyDisabled`; `historyExpired` if transactions after the token were purged; `invalidHistoryToken`;
  ///   `corrupted`.
  public borrowing func history(after token: HistoryToken? = nil, limit: Int? = nil) throws(StoreError)
    -> [HistoryTransaction]
  {
    try _withSession { (session) throws(StoreError) in
      try HistoryReader.transactions(
        after: try HistoryReader.firstCommit(after: token, in: session), limit: limit, in: session)
    }
  }

  /// Calls `body` with each transaction after a token, oldest first, until it returns false.
  ///
  /// - Throws: the errors of ``history(after:limit:)``, and the error of `body`.
  public borrowing func forEachTransaction(
    after token: HistoryToken? = nil, _ body: (HistoryTransaction) throws -> Bool
  ) throws {
    var failure: (any Error)?
    try _withSession { (session) throws(StoreError) in
      guard let source = HistoryReader.historySource(of: session) else { return }
      try HistoryReader.forEachTransaction(after: try HistoryReader.firstCommit(after: token, in: session), in: session)
      {
        (commit, header) throws(StoreError) in
        do { return try body(HistoryTransaction(commit, header, source)) } catch { failure = error }
        return false
      }
    }
    if let failure { throw failure }
  }
}

extension ObjectReading where Self: ~Copyable {
  /// Calls `body` with each change of a transaction until it returns false.
  ///
  /// Unlike ``HistoryTransaction/forEachChange(_:)``, the call reads the history as of this transaction, including
  /// entries that are purged concurrently.
  ///
  /// - Throws: `historyDisabled`, `historyExpired`, `invalidHistoryToken`, `corrupted`, and the error of `body`.
  public borrowing func forEachChange(
    of transaction: HistoryTransaction, _ body: (HistoryChange) throws -> Bool
  ) throws {
    var failure: (any Error)?
    try _withSession { (session) throws(StoreError) in
      _ = try HistoryReader.firstCommit(after: transaction.token, in: session)
      try HistoryReader.forEachChange(of: transaction.commit, in: session) { (change) throws(StoreError) in
        do { return try body(change) } catch { failure = error }
        return false
      }
    }
    if let failure { throw failure }
  }
}

extension WriteTransaction {
  /// The author that the history records for this transaction. The default is ``StoreOptions/author``.
  public var author: String {
    get { session.changes.author }
    set { session.changes.author = newValue }
  }

  /// The name of the operation that the history records for this transaction. The default is an empty string.
  public var operation: String {
    get { session.changes.operation }
    set { session.changes.operation = newValue }
  }
}

extension ObjectStore {
  /// Returns the position after the last commit.
  public func currentToken() throws(StoreError) -> HistoryToken { try HistoryReader.currentToken(in: readSession()) }

  /// Returns the transactions after a token, oldest first; see ``ObjectReading/history(after:limit:)``.
  public func history(after token: HistoryToken? = nil, limit: Int? = nil) throws(StoreError) -> [HistoryTransaction] {
    let session = try readSession()
    return try HistoryReader.transactions(
      after: try HistoryReader.firstCommit(after: token, in: session), limit: limit, in: session)
  }

  /// Returns whether commits record their changes in the history.
  public func tracksHistory() throws(StoreError) -> Bool { try HistoryWriter.start(in: readSession()) != nil }

  // MARK: On and off

  /// Turns the history on or off, for all processes. Turning it off deletes the stored history.
  ///
  /// - Throws: `readOnly`, `busy`, `nestedWrite`, `diskFull`.
  @available(*, noasync, message: "use the asynchronous form")
  public func setTracksHistory(_ tracks: Bool) throws { try turnHistory(on: tracks) }

  /// Turns the history on or off, from asynchronous code.
  public func setTracksHistory(_ tracks: Bool) async throws {
    try await onWriterQueue { try self.turnHistory(on: tracks) }
  }

  package func turnHistory(on tracks: Bool) throws(StoreError) {
    if try tracksHistory() == tracks { return }
    _ = try changeHistory { (session) throws(StoreError) in
      let table = session.schema.tables.metadata
      if tracks, try HistoryWriter.start(in: session) == nil {
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

  /// Deletes the history up to and including the commit of a token. Reading from that token or a later one loses
  /// nothing.
  ///
  /// The entries are deleted in many short write transactions, so other writers can run in between. New readers no
  /// longer see the entries once the first of these transactions has committed.
  ///
  /// - Returns: the number of deleted transactions; 0 if they were already purged.
  /// - Throws: `historyDisabled`, `invalidHistoryToken`, `busy`, `diskFull`.
  @available(*, noasync, message: "use the asynchronous form")
  @discardableResult
  public func purgeHistory(before token: HistoryToken) throws -> Int { try purge(before: token) }

  /// Deletes the history up to and including the commit of a token, from asynchronous code.
  @discardableResult
  public func purgeHistory(before token: HistoryToken) async throws -> Int {
    try await onWriterQueue { try self.purge(before: token) }
  }

  /// Deletes the history of all transactions before the first one that was committed at `date` or later.
  ///
  /// - Returns: the number of deleted transactions.
  /// - Throws: `historyDisabled`, `busy`, `diskFull`.
  @available(*, noasync, message: "use the asynchronous form")
  @discardableResult
  public func purgeHistory(before date: Date) throws -> Int { try purge(before: date) }

  /// Deletes the history of all transactions before a date, from asynchronous code.
  @discardableResult
  public func purgeHistory(before date: Date) async throws -> Int {
    try await onWriterQueue { try self.purge(before: date) }
  }

  private func purge(before date: Date) throws(StoreError) -> Int {
    let session = try readSession()
    var last = try HistoryReader.firstCommit(after: nil, in: session)
    try HistoryReader.forEachTransaction(after: last, in: session) { (commit, header) throws(StoreError) in
      guard header.time < date.timeIntervalSinceReferenceDate else { return false }
      last = commit
      return true
    }
    return try purge(through: last)
  }

  private func purge(before token: HistoryToken) throws(StoreError) -> Int {
    do throws(StoreError) {
      return try purge(through: try HistoryReader.firstCommit(after: token, in: readSession()))
    } catch {
      guard error.kind == .historyExpired else { throw error }
      return 0
    }
  }

  private func purge(through last: UInt64) throws(StoreError) -> Int {
    guard let start = try HistoryWriter.start(in: readSession()), last > start else { return 0 }
    // From here on the entries are nobody's: whatever ends this, a later purge takes what is left.
    _ = try changeHistory { (session) throws(StoreError) in
      guard let start = try HistoryWriter.start(in: session), last > start else { return 0 }
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
        let end = min(last, try HistoryWriter.start(in: session) ?? .max)
        let deleted = try HistoryWriter.delete(through: end, limit: limit, in: &session)
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
