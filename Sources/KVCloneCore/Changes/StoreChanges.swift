/// The committed transactions of a store as they arrive; see ``ObjectStore/changes``.
///
/// The sequence ends when its task is cancelled or the store is closed. Iterators are independent and read from the
/// history. A slow consumer therefore uses no extra memory and misses nothing.
public struct StoreChanges: AsyncSequence, Sendable {
  /// A committed transaction.
  public typealias Element = HistoryTransaction
  /// The error type of the iterators.
  public typealias Failure = StoreError

  private let store: ObjectStore
  private let start: Result<HistoryToken, StoreError>

  init(_ store: ObjectStore, start: Result<HistoryToken, StoreError>) {
    self.store = store
    self.start = start
  }

  /// Creates an iterator that begins at the start of the sequence, regardless of the time of this call.
  public func makeAsyncIterator() -> Iterator { Iterator(store, start) }

  /// An iterator for one consumer.
  public struct Iterator: AsyncIteratorProtocol {
    /// The number of headers that are read at once.
    private static let batch = 64

    private let store: ObjectStore
    private let listener: CommitListener
    private var place: Result<HistoryToken, StoreError>
    /// The transactions that were read and not returned yet, the next one last.
    private var waiting: [HistoryTransaction] = []

    fileprivate init(_ store: ObjectStore, _ place: Result<HistoryToken, StoreError>) {
      self.store = store
      self.place = place
      listener = CommitListener(store)
    }

    /// Waits for the next transaction. Returns nil when the task is cancelled or the store is closed.
    ///
    /// - Throws: `historyDisabled`; `historyExpired` if transactions were purged before the consumer read them;
    ///   `invalidHistoryToken`, `corrupted`.
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

    /// Waits for the next transaction. Returns nil when the task is cancelled or the store is closed.
    public mutating func next() async throws(StoreError) -> HistoryTransaction? { try await next(isolation: nil) }

    private mutating func read() throws(StoreError) {
      let session = try store.readSession()
      let first = try HistoryReader.firstCommit(after: try place.get(), in: session)
      waiting = try HistoryReader.transactions(after: first, limit: Self.batch, in: session).reversed()
      // Commits that changed no objects have no history, and a purge may pass them.
      if waiting.isEmpty { place = .success(try HistoryReader.currentToken(in: session)) }
    }
  }
}
