import KVClone
import KVCloneCore

/// Numbers of objects and bytes by entity, as far as they are known in short time.
struct EntityCounts: Sendable {
  /// The number of objects by their concrete entity.
  private(set) var own: [String: Int] = [:]
  /// The number of objects in the table of a root entity, which has those of all its subentities.
  private(set) var roots: [String: Int] = [:]
  /// The size of the table of a root entity in bytes, without blobs and long relationships.
  private(set) var bytes: [String: UInt64] = [:]

  private static let timeLimit = Duration.milliseconds(150)

  /// Reads what the engine knows by itself, and then counts the other objects until the time limit.
  static func read(_ context: PageContext) async throws -> EntityCounts {
    let pageSize = context.snapshotName == nil ? try context.store.engine.facts().pageSize : nil
    let known = try await context.read { tx in try EntityCounts(tx, pageSize: pageSize) }
    let missing = context.model.entities.filter {
      $0.superentityName == nil && !known.isComplete($0.name, context.model)
    }
    var counts = known
    let reader = BoundedReader(store: context.store, deadline: Deadline(after: timeLimit))
    for root in missing {
      do {
        let found = try await reader.read(at: context.snapshotName) { tx in try Self.counted(root.name, tx) }
        counts.own.merge(found) { $1 }
        counts.roots[root.name] = found.values.reduce(0, +)
      } catch let error as ExplorerError where error.kind == .timeLimit {
        break
      }
    }
    return counts
  }

  /// - Parameter pageSize: in bytes; nil for a snapshot, which has no pages of its own.
  private init(_ transaction: borrowing ReadTransaction, pageSize: Int?) throws {
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

  private static func counted(_ root: String, _ transaction: borrowing ReadTransaction) throws -> [String: Int] {
    try transaction._withSession { session in
      let schema = session.schema
      let entity = try schema.entity(root)
      let counts = try session.counts(rootCode: entity.rootCode)
      var found: [String: Int] = [:]
      for code in entity.concreteCodes {
        if let entity = schema.entity(code: code) { found[entity.name] = counts[code] ?? 0 }
      }
      return found
    }
  }

  private func isComplete(_ root: String, _ model: ManagedObjectModel) -> Bool {
    ([root] + model.subentities(of: root)).allSatisfy { name in
      model.entity(named: name)?.isAbstract ?? true || own[name] != nil
    }
  }

  /// The number of objects of an entity and its subentities; nil if it is unknown.
  func total(of entity: String, in model: ManagedObjectModel) -> Int? {
    if let count = roots[entity] { return count }
    var sum = 0
    for name in [entity] + model.subentities(of: entity) where !(model.entity(named: name)?.isAbstract ?? true) {
      guard let count = own[name] else { return nil }
      sum += count
    }
    return sum
  }
}
