extension ObjectStore {
  /// The transactions that are committed from now on, by this process and others, as an asynchronous sequence that does
  /// not end by itself. See <doc:Changes>.
  ///
  /// Needs the history (``StoreOptions/tracksHistory``): that is where a slow consumer finds what it has missed.
  public var changes: StoreChanges { StoreChanges(self, start: Result { () throws(StoreError) in try currentToken() }) }

  /// The transactions after a token, and all that follow.
  public func changes(after token: HistoryToken) -> StoreChanges { StoreChanges(self, start: .success(token)) }
}

/// Committed transactions as they come; see ``ObjectStore/changes``.
///
/// It ends when its task is cancelled, or the store is closed. Each iterator goes its own way, and reads from the
/// history: nothing is kept in memory for one that is slow, and nothing is lost.
public struct StoreChanges: AsyncSequence, Sendable {
  /// A committed transaction.
  public typealias Element = HistoryTransaction
  /// What an iterator throws.
  public typealias Failure = StoreError

  private let store: ObjectStore
  private let start: Result<HistoryToken, StoreError>

  init(_ store: ObjectStore, start: Result<HistoryToken, StoreError>) {
    self.store = store
    self.start = start
  }

  /// Begins where the sequence begins, however late this is called.
  public func makeAsyncIterator() -> Iterator { Iterator(store, start) }

  /// One consumer.
  public struct Iterator: AsyncIteratorProtocol {
    /// Headers that are read at once.
    private static let batch = 64

    private let store: ObjectStore
    private let listener: CommitListener
    private var place: Result<HistoryToken, StoreError>
    /// What was read and not told yet, the next one last.
    private var waiting: [HistoryTransaction] = []

    fileprivate init(_ store: ObjectStore, _ place: Result<HistoryToken, StoreError>) {
      self.store = store
      self.place = place
      listener = CommitListener(store)
    }

    /// The next transaction, once there is one; nil when the task is cancelled, or the store closed.
    ///
    /// - Throws: `historyOff`; `historyExpired` where a purge was faster than the consumer; `invalidHistoryToken`, `damaged`.
    public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async throws(StoreError)
      -> HistoryTransaction?
    {
      while !Task.isCancelled, !store.commitSignal.isClosed {
        if let transaction = waiting.popLast() {
          place = .success(transaction.token)
          return transaction
        }
        let generation = store.commitSignal.generation
        do throws(StoreError) {
          try read()
        } catch {
          if error.kind == .closed { return nil }
          throw error
        }
        if waiting.isEmpty { await store.commitSignal.wait(after: generation) }
      }
      return nil
    }

    /// The next transaction.
    public mutating func next() async throws(StoreError) -> HistoryTransaction? { try await next(isolation: nil) }

    private mutating func read() throws(StoreError) {
      let session = try store.readSession()
      let first = try session.firstCommit(after: try place.get())
      waiting = try session.transactions(after: first, limit: Self.batch).reversed()
      // Commits that changed no objects have no history, and a purge may pass them.
      if waiting.isEmpty { place = .success(try session.currentToken()) }
    }
  }
}
