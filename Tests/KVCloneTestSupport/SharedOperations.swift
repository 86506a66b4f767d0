import Foundation
public import KVClone

/// Random operations of one of many clients that change a store of the tests' random model concurrently.
///
/// A client does not know the operations of the others: it chooses among the objects that its transaction shows, and
/// records its operations for a model that repeats all of them in the order of the commits.
public struct SharedOperations {
  /// An operation with the ids that it affects.
  public enum Operation: Codable, Sendable {
    case insert(UInt64, entity: String, name: String)
    case setName(UInt64, String)
    case setCode(UInt64, Int64?)
    case setData(UInt64, byteCount: Int, byte: UInt8)
    case link(UInt64, String, [UInt64])
    case unlink(UInt64, String, [UInt64])
    case setMembers(UInt64, String, [UInt64])
    case delete([UInt64])
    case snapshot(String)
  }

  /// A committed transaction.
  public struct Step: Codable, Sendable {
    /// The number of the commit.
    public var commit: UInt64
    /// The operations in order.
    public var operations: [Operation]
  }

  private struct GivenUp: Error {}

  /// The wait for the write lock: long enough for a busy machine.
  public static let busyTimeout = Duration.seconds(300)

  private let name: String
  private let store: ObjectStore
  private var random: SeededGenerator
  private var count = 0
  private var snapshots: [String] = []

  /// - Parameter name: part of all names that this client sets, so that those of different clients differ.
  public init(_ name: String, _ store: ObjectStore, seed: UInt64) {
    (self.name, self.store, random) = (name, store, SeededGenerator(seed: seed))
  }

  /// Runs a transaction.
  ///
  /// - Returns: the committed step, or nil if the transaction was rolled back or rejected.
  public mutating func step() throws -> Step? {
    if snapshots.count > 12 || !snapshots.isEmpty && random.chance(in: 10) {
      try store.deleteSnapshot(named: snapshots.removeFirst())
    }
    var step = Step(commit: 0, operations: [])
    let isGivenUp = random.chance(in: 12)
    do {
      try store.write(timeout: Self.busyTimeout) { tx in
        step.commit = try tx.currentToken().commit + 1
        let size = 1 + random.below(12)
        // Every transaction changes something, so that each has a commit of its own.
        try insert(&tx, &step)
        while step.operations.count < size { try operation(&tx, &step) }
        if random.chance(in: 6) { try snapshot(&tx, &step) }
        if isGivenUp { throw GivenUp() }
      }
    } catch is GivenUp {
      return nil
    } catch is ValidationError {
      // Another object already has the code.
      return nil
    }
    for case .snapshot(let name) in step.operations { snapshots.append(name) }
    return step
  }

  // MARK: Operations

  private mutating func operation(_ tx: inout WriteTransaction, _ step: inout Step) throws {
    switch random.below(20) {
    case 0..<4: try insert(&tx, &step)
    case 4..<8: try set(&tx, &step)
    case 8..<12: try links(&tx, &step, sizes: [1, 1, 2, 5]) { .link($0, $1, $2) }
    case 12..<14: try unlink(&tx, &step)
    case 14..<17: try links(&tx, &step, sizes: [0, 1, 7, 16, 17, 40, 129]) { .setMembers($0, $1, $2) }
    default: try delete(&tx, &step)
    }
  }

  private mutating func perform(_ operation: Operation, _ tx: inout WriteTransaction, _ step: inout Step) throws {
    func ids(_ values: [UInt64]) -> [ObjectID] { values.map { ObjectID(rawValue: $0) } }
    switch operation {
    case .setName(let id, let name): try tx.set(ObjectID(rawValue: id), "name", .string(name))
    case .setCode(let id, let code): try tx.set(ObjectID(rawValue: id), "code", code.map { .integer($0) })
    case .setData(let id, let count, let byte):
      try tx.set(ObjectID(rawValue: id), "data", .binary(Data(repeating: byte, count: count)))
    case .link(let id, let name, let targets): try tx.link(ObjectID(rawValue: id), name, ids(targets))
    case .unlink(let id, let name, let targets): try tx.unlink(ObjectID(rawValue: id), name, ids(targets))
    case .setMembers(let id, let name, let targets): try tx.setMembers(ObjectID(rawValue: id), name, ids(targets))
    case .delete(let targets): _ = try tx.delete(ids(targets))
    case .insert, .snapshot: break
    }
    step.operations.append(operation)
  }

  private mutating func insert(_ tx: inout WriteTransaction, _ step: inout Step) throws {
    count += 1
    let entity = pick(["Person", "Person", "Employee", "Club", "Tag", "Note"]) ?? "Tag"
    let label = "\(name)-\(count)"
    let key = entity == "Note" ? "text" : "name"
    let id = try tx.insert(entity, entity == "Tag" ? [:] : [key: .string(label)])
    step.operations.append(.insert(id.rawValue, entity: entity, name: label))
  }

  private mutating func snapshot(_ tx: inout WriteTransaction, _ step: inout Step) throws {
    count += 1
    let label = "\(name)-\(count)"
    try tx.createSnapshot(named: label)
    step.operations.append(.snapshot(label))
  }

  private mutating func set(_ tx: inout WriteTransaction, _ step: inout Step) throws {
    guard let id = pick(try ids("Named", tx)) else { return }
    count += 1
    switch random.below(4) {
    case 0: try perform(.setName(id.rawValue, "\(name)-\(count)"), &tx, &step)
    case 1:
      try perform(.setCode(id.rawValue, random.chance(in: 4) ? nil : Int64(random.below(5000))), &tx, &step)
    default:
      let size = pick([0, 5, 1024, 1025, 4000, 9000, 70_000]) ?? 0
      try perform(.setData(id.rawValue, byteCount: size, byte: UInt8(truncatingIfNeeded: count)), &tx, &step)
    }
  }

  private mutating func links(
    _ tx: inout WriteTransaction, _ step: inout Step, sizes: [Int], _ operation: (UInt64, String, [UInt64]) -> Operation
  ) throws {
    guard let (id, relationship) = try pickRelationship(tx) else { return }
    let size = pick(sizes) ?? 0
    let targets = try ids(relationship.destinationEntityName, tx).shuffled(using: &random)
      .prefix(relationship.isToMany ? size : min(size, 1))
    if targets.isEmpty && size > 0 { return }
    try perform(operation(id.rawValue, relationship.name, targets.map(\.rawValue)), &tx, &step)
  }

  private mutating func unlink(_ tx: inout WriteTransaction, _ step: inout Step) throws {
    guard let (id, relationship) = try pickRelationship(tx) else { return }
    let members = try tx.members(id, relationship.name).shuffled(using: &random).prefix(random.below(5))
    try perform(.unlink(id.rawValue, relationship.name, members.map(\.rawValue)), &tx, &step)
  }

  private mutating func delete(_ tx: inout WriteTransaction, _ step: inout Step) throws {
    let all = try ["Named", "Tag", "Note"].flatMap { try ids($0, tx) }
    // Above some hundred objects, deletions outnumber insertions, so that the store stays small in long runs.
    let doomed = all.shuffled(using: &random).prefix(all.count > 250 ? 6 : random.below(2))
    if doomed.isEmpty { return }
    do throws(StoreError) {
      _ = try tx.delete(Array(doomed))
    } catch {
      guard error.kind == .deleteDenied else { throw error }
      return
    }
    step.operations.append(.delete(doomed.map(\.rawValue)))
  }

  // MARK: Choices

  private func ids(_ entity: String, _ tx: borrowing WriteTransaction) throws -> [ObjectID] {
    try tx.fetchIDs(FetchRequest(entity))
  }

  private mutating func pick<Element>(_ elements: [Element]) -> Element? { elements.randomElement(using: &random) }

  private mutating func pickRelationship(
    _ tx: borrowing WriteTransaction
  ) throws -> (ObjectID, RelationshipDescription)? {
    let found = try ids(pick(["Person", "Person", "Club", "Tag", "Note"]) ?? "Tag", tx)
    // A few objects get most of the links, so that lists get long.
    guard let id = random.chance(in: 2) ? pick(Array(found.prefix(3))) : pick(found) else { return nil }
    return pick(store.model.relationships(of: try tx.entityName(of: id))).map { (id, $0) }
  }
}
