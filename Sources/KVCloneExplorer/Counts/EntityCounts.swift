import KVClone
import KVCloneCore
import KVCloneOperations

/// Numbers of objects and bytes by entity in one state of the store, as far as they are known.
struct EntityCounts: Sendable {
  /// The model of the state.
  let model: ManagedObjectModel
  let commit: UInt64
  /// The number of objects by their concrete entity.
  private(set) var own: [String: Int] = [:]
  /// Lower bounds, of entities that were not counted to the end.
  private(set) var bounds: [String: Int] = [:]
  /// The number of objects in the table of a root entity, which has those of all its subentities.
  private(set) var roots: [String: Int] = [:]
  /// The size of the table of a root entity in bytes, without blobs and long relationships.
  private(set) var bytes: [String: UInt64] = [:]
  /// Complete numbers of an earlier state.
  private(set) var earlier: EntityCountCache.Entry?

  /// Reads what the engine knows by itself, and what was counted before.
  ///
  /// - Parameters:
  ///   - pageSize: in bytes; nil for a snapshot, which has no pages of its own.
  ///   - known: the latest complete numbers.
  init(_ transaction: borrowing ReadTransaction, pageSize: Int?, known: EntityCountCache.Entry?) throws {
    commit = try transaction.currentToken().commit
    model = transaction._withSession { $0.schema.model }
    if let known { if known.commit == commit { own = known.own } else { earlier = known } }
    try transaction._withSession { session in
      guard session.storage.space() != nil else { return }
      let schema = session.schema
      for code in schema.rootCodes {
        guard let root = schema.entity(code: code), let table = schema.objectTable(rootCode: code) else { continue }
        let count = Int(clamping: try session.storage.entryCount(table))
        roots[root.name] = count
        if let pageSize, let size = try session.storage.sizes([table]).tables.first {
          bytes[root.name] = UInt64((size.branchPages + size.leafPages + size.overflowPages) * pageSize)
        }
        if root.concreteCodes.count == 1, let only = root.concreteCodes.first.flatMap({ schema.entity(code: $0) }) {
          own[only.name] = count
        }
        // A table without pages is empty for certain.
        if count == 0 {
          for code in root.concreteCodes { if let entity = schema.entity(code: code) { own[entity.name] = 0 } }
        }
      }
    }
  }

  /// Counts the objects of the entities that have no number yet, in the same transaction, until `isWanted` returns
  /// false.
  ///
  /// - Parameter isWanted: is called with the number of objects that were counted, after each 4,096.
  mutating func count(in transaction: borrowing ReadTransaction, while isWanted: (Int) -> Bool) throws {
    var isEnded = false
    var total = 0
    for root in rootNames where !isEnded && !isComplete(root) {
      let found: [String: Int] = try transaction._withSession { session in
        let schema = session.schema
        let entity = try schema.entity(root)
        let counts = try session.counts(rootCode: entity.rootCode) { count in
          isEnded = !isWanted(total + count)
          return !isEnded
        }
        return Dictionary(
          entity.concreteCodes.compactMap { code in schema.entity(code: code).map { ($0.name, counts[code] ?? 0) } },
          uniquingKeysWith: +)
      }
      if isEnded {
        bounds.merge(found) { $1 }
      } else {
        own.merge(found) { $1 }
        roots[root] = found.values.reduce(0, +)
      }
      total += found.values.reduce(0, +)
    }
  }

  private var rootNames: [String] {
    model.entities.filter { $0.superentityName == nil }.map(\.name).sorted()
  }

  /// Whether the numbers of all entities are known.
  var isComplete: Bool { rootNames.allSatisfy(isComplete) }

  private func isComplete(_ root: String) -> Bool { concreteEntities(root).allSatisfy { own[$0] != nil } }

  private func concreteEntities(_ entity: String) -> [String] {
    ([entity] + model.subentities(of: entity)).filter { !(model.entity(named: $0)?.isAbstract ?? true) }
  }

  /// The number of objects of an entity without its subentities.
  func own(of entity: String) -> EntityCount {
    model.entity(named: entity)?.isAbstract ?? true ? .exact(0) : sum([entity])
  }

  /// The number of objects of an entity and its subentities.
  func total(of entity: String) -> EntityCount { roots[entity].map { .exact($0) } ?? sum(concreteEntities(entity)) }

  /// The number of all objects.
  var total: EntityCount {
    let known = rootNames.compactMap { roots[$0] }
    return known.count == rootNames.count ? .exact(known.reduce(0, +)) : sum(rootNames.flatMap(concreteEntities))
  }

  private func sum(_ entities: [String]) -> EntityCount {
    let exact = entities.compactMap { own[$0] }
    if exact.count == entities.count { return .exact(exact.reduce(0, +)) }
    if let earlier {
      let known = entities.compactMap { earlier.own[$0] }
      if known.count == entities.count { return .earlier(known.reduce(0, +), commit: earlier.commit) }
    }
    return .atLeast(entities.reduce(0) { $0 + (own[$1] ?? bounds[$1] ?? 0) })
  }
}

extension EntityCounts {
  private static let timeLimit = Duration.milliseconds(150)

  /// Reads what is known of a state, and counts the other objects until the time limit.
  ///
  /// - Parameters:
  ///   - snapshot: nil for the present state.
  ///   - deadline: of the request.
  static func read(
    _ store: ObjectStore, at snapshot: String?, _ deadline: Deadline, timeLimit: Duration = timeLimit
  ) async throws -> EntityCounts {
    let cache = EntityCountCache.of(store)
    // The pages of a branch are also those of its store.
    let pageSize = snapshot == nil && store.parent == nil ? try store.engine.facts().pageSize : nil
    let known = cache.latest(StateName.key(store, snapshot))
    let counts = try await BoundedReader(store: store, deadline: deadline).read(at: snapshot) { transaction in
      let end = ContinuousClock.now + timeLimit
      var counts = try EntityCounts(transaction, pageSize: pageSize, known: known)
      try counts.count(in: transaction) { _ in .now < end }
      return counts
    }
    cache.keep(counts, StateName.key(store, snapshot))
    return counts
  }
}

extension EntityCounts {
  /// Counts all objects of a state in one transaction, on a thread of its own, and keeps the numbers for pages.
  ///
  /// - Throws: `cancelled`; errors of reading.
  static func all(
    in store: ObjectStore, _ snapshot: String?, progress: @escaping @Sendable (OperationProgress) -> Void,
    cancellation: Cancellation
  ) async throws -> EntityCounts {
    try await cancellation.onOwnThread {
      try counted(in: store, snapshot, progress: progress, cancellation: cancellation)
    }
  }

  private static func counted(
    in store: ObjectStore, _ snapshot: String?, progress: (OperationProgress) -> Void, cancellation: Cancellation
  ) throws -> EntityCounts {
    func count(_ transaction: borrowing ReadTransaction) throws -> EntityCounts {
      var counts = try EntityCounts(transaction, pageSize: nil, known: nil)
      let total = counts.roots.values.reduce(0, +)
      try counts.count(in: transaction) { count in
        progress(OperationProgress(phase: .objects, completed: count, total: total > 0 ? total : nil))
        return !cancellation.isCancelled
      }
      if cancellation.isCancelled { throw StoreError(.cancelled, "the count was cancelled; start it again") }
      return counts
    }
    let counts =
      if let snapshot { try StateName.snapshot(snapshot, of: store).read(count) } else { try store.runRead(count) }
    EntityCountCache.of(store).keep(counts, StateName.key(store, snapshot))
    return counts
  }
}
