public import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// The changing results of a request; see ``ObjectStore/liveResults(for:)``.
///
/// The first element contains all results, and each further one the difference from the previous element. If several
/// commits arrive before the consumer requests the next element, they form one difference. The ids of the results are
/// kept in memory. The sequence ends when its task is cancelled or the store is closed.
public struct LiveResults: AsyncSequence, Sendable {
  /// The first results, then differences.
  public typealias Element = FetchedResultsChange
  /// The error type of the iterators.
  public typealias Failure = StoreError

  private let store: ObjectStore
  private let request: FetchRequest

  init(_ store: ObjectStore, _ request: FetchRequest) {
    self.store = store
    self.request = request
  }

  /// Creates an iterator that starts with the current results.
  public func makeAsyncIterator() -> Iterator { Iterator(store, request) }

  /// An iterator for one consumer.
  public struct Iterator: AsyncIteratorProtocol {
    private let store: ObjectStore
    private let request: FetchRequest
    private let listener: CommitListener
    private var known: Known?

    /// The last results, and the state that they belong to.
    private typealias Known = (ids: [ObjectID], token: HistoryToken)

    fileprivate init(_ store: ObjectStore, _ request: FetchRequest) {
      self.store = store
      self.request = request
      listener = CommitListener(store)
    }

    /// Returns the results at first, then waits for the next difference. Returns nil when the task is cancelled or the
    /// store is closed.
    ///
    /// - Throws: `unknownEntity`, `unknownProperty`, `wrongType`, `invalidPredicate` for the request; `corrupted`.
    public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async throws(StoreError)
      -> FetchedResultsChange?
    {
      while !Task.isCancelled, !store.commitSignal.isClosed {
        let generation = store.commitSignal.generation
        do throws(StoreError) {
          let change: FetchedResultsChange?
          if let threads = store.engine.network?.readThreads {
            let (store, request, last) = (store, request, known)
            (change, known) = try await threads.run { () throws(StoreError) in try Self.look(store, request, last) }
          } else {
            (change, known) = try Self.look(store, request, known)
          }
          if let change { return change }
        } catch {
          if error.kind == .closed { return nil }
          throw error
        }
        await store.commitSignal.wait(after: generation)
      }
      return nil
    }

    /// Returns the results at first, then waits for the next difference.
    public mutating func next() async throws(StoreError) -> FetchedResultsChange? { try await next(isolation: nil) }

    /// Returns the changes since the last results, nil if there are none, and the present results.
    private static func look(
      _ store: ObjectStore, _ request: FetchRequest, _ known: Known?
    ) throws(StoreError) -> (change: FetchedResultsChange?, known: Known) {
      let session = try store.readSession()
      let token = try HistoryReader.currentToken(in: session)
      guard let known else {
        let (ids, _) = try RequestTouch.results(of: request, changedAfter: token.commit, in: session)
        return (FetchedResultsChange(from: [], to: ids, token: token, isInitial: true) { _ in false }, (ids, token))
      }
      if known.token == token { return (nil, known) }
      let touch = try RequestTouch.touch(on: request, known.ids, after: known.token, in: session)
      var change: FetchedResultsChange?
      switch touch {
      case .nothing: break
      case .objects(let updated):
        change = FetchedResultsChange(from: known.ids, to: known.ids, token: token) { updated.contains($0) }
      case .results:
        let (ids, updated) = try RequestTouch.results(of: request, changedAfter: known.token.commit, in: session)
        change = FetchedResultsChange(from: known.ids, to: ids, token: token) { updated.contains($0) }
      }
      return (change.flatMap { $0.isEmpty ? nil : $0 }, (change?.ids ?? known.ids, token))
    }
  }
}

/// The possible effects of commits on a request's results.
private enum RequestTouch {
  case nothing
  /// The results are the same, and these objects among them were written.
  case objects(Set<ObjectID>)
  /// The results must be fetched again.
  case results
}

extension RequestTouch {
  /// Returns the ids of a request's results, and which of them were written by commits after `commit`.
  fileprivate static func results(of request: FetchRequest, changedAfter commit: UInt64, in session: borrowing Session)
    throws(StoreError)
    -> (ids: [ObjectID], updated: Set<ObjectID>)
  {
    var ids: [ObjectID] = []
    var updated: Set<ObjectID> = []
    try FetchExecutor.forEachResult(try FetchExecutor.compile(request, in: session), in: session) {
      (id, view) throws(StoreError) in
      ids.append(id)
      if view.commit > commit { updated.insert(id) }
      return true
    }
    return (ids, updated)
  }

  /// Returns the possible effect of the commits after a token on the results of a request. When in doubt, including
  /// commits without history, the results must be fetched again.
  fileprivate static func touch(
    on request: FetchRequest, _ results: [ObjectID], after token: HistoryToken, in session: borrowing Session
  ) throws(StoreError) -> RequestTouch {
    guard let start = try HistoryWriter.start(in: session), start <= token.commit else { return .results }
    let names = request.propertyNames
    let codes = Set(
      session.schema.propertyNames.filter { names.contains(String($0.value.prefix { $0 != "." })) }.keys)
    let root = try session.schema.entity(request.entityName).rootCode
    var isTouched = false
    var updated: Set<ObjectID> = []
    var members: Set<ObjectID>?
    try HistoryReader.forEachTransaction(after: token.commit, in: session) { (commit, header) throws(StoreError) in
      try HistoryReader.forEachPart(of: commit, in: session) { (part) throws(StoreError) in
        switch part {
        case .inserted(let entries): isTouched = entries.contains { $0.first.rootCode == root }
        case .deleted(let entries): isTouched = entries.contains { $0.id.rootCode == root }
        case .updated(let entries):
          isTouched = entries.contains { !codes.isDisjoint(with: $0.properties) }
          if isTouched { break }
          let those = members ?? Set(results)
          members = those
          for entry in entries where those.contains(entry.id) { updated.insert(entry.id) }
        }
        return !isTouched
      }
      return !isTouched
    }
    if isTouched { return .results }
    return updated.isEmpty ? .nothing : .objects(updated)
  }
}
