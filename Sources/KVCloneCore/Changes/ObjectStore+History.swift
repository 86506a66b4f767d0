#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

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
    get { session.state.author }
    set { session.state.author = newValue }
  }

  /// The name of the operation that the history records for this transaction. The default is an empty string.
  public var operation: String {
    get { session.state.operation }
    set { session.state.operation = newValue }
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

  /// The transactions that commit from now on, in this process and others, as an asynchronous sequence. See
  /// <doc:Changes>.
  ///
  /// It requires the history (``StoreOptions/tracksHistory``), from which a slow consumer reads the transactions that
  /// it missed.
  public var changes: StoreChanges { StoreChanges(self, start: Result { () throws(StoreError) in try currentToken() }) }

  /// Returns the transactions after a token, and all that follow, as an asynchronous sequence.
  public func changes(after token: HistoryToken) -> StoreChanges { StoreChanges(self, start: .success(token)) }

  /// Returns whether commits record their changes in the history.
  public func tracksHistory() throws(StoreError) -> Bool { try HistoryWriter.start(in: readSession()) != nil }

  /// Turns the history on or off, for all processes. Turning it off deletes the stored history.
  ///
  /// - Throws: `readOnly`, `busy`, `nestedWrite`, `diskFull`.
  @available(*, noasync, message: "use the asynchronous form")
  public func setTracksHistory(_ tracks: Bool) throws { try StoreHistory(self).turn(on: tracks) }

  /// Turns the history on or off, from asynchronous code.
  public func setTracksHistory(_ tracks: Bool) async throws {
    try await onWriterQueue { try StoreHistory(self).turn(on: tracks) }
  }

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
  public func purgeHistory(before token: HistoryToken) throws -> Int {
    try StoreHistory(self).purge(before: token)
  }

  /// Deletes the history up to and including the commit of a token, from asynchronous code.
  @discardableResult
  public func purgeHistory(before token: HistoryToken) async throws -> Int {
    try await onWriterQueue { try StoreHistory(self).purge(before: token) }
  }

  /// Deletes the history of all transactions before the first one that was committed at `date` or later.
  ///
  /// - Returns: the number of deleted transactions.
  /// - Throws: `historyDisabled`, `busy`, `diskFull`.
  @available(*, noasync, message: "use the asynchronous form")
  @discardableResult
  public func purgeHistory(before date: Date) throws -> Int { try StoreHistory(self).purge(before: date) }

  /// Deletes the history of all transactions before a date, from asynchronous code.
  @discardableResult
  public func purgeHistory(before date: Date) async throws -> Int {
    try await onWriterQueue { try StoreHistory(self).purge(before: date) }
  }
}
