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
          if let threads = store.engine.network?.readThreads {
            let (store, start) = (store, place)
            (place, waiting) = try await threads.run { () throws(StoreError) in try Self.read(store, start) }
          } else {
            (place, waiting) = try Self.read(store, place)
          }
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

    /// Returns the next transactions, the first one last, and the place behind earlier ones.
    private static func read(
      _ store: ObjectStore, _ place: Result<HistoryToken, StoreError>
    ) throws(StoreError) -> (place: Result<HistoryToken, StoreError>, waiting: [HistoryTransaction]) {
      let session = try store.readSession()
      let first = try HistoryReader.firstCommit(after: try place.get(), in: session)
      let waiting = try HistoryReader.transactions(after: first, limit: batch, in: session)
      // Commits that changed no objects have no history, and a purge may pass them.
      if waiting.isEmpty { return (.success(try HistoryReader.currentToken(in: session)), []) }
      return (place, waiting.reversed())
    }
  }
}
