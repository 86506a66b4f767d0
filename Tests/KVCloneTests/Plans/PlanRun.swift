import Foundation
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations
@testable import KVCloneQuery

/// One random run of planned operations.
final class PlanRun {
  let seed: UInt64
  var random: SeededGenerator
  private var models: PlanModel
  private(set) var test: TestStore
  /// The destination of clones into another store.
  private var other: TestStore
  private(set) var count = 0
  private var versions = 1
  /// Whether strings are numbers, so that most migrations succeed.
  private var isPlain = false
  private var tallies: [String: (succeeded: Int, refused: Int)] = [:]
  private var current = ""

  init(seed: UInt64) throws {
    self.seed = seed
    random = SeededGenerator(seed: seed)
    models = PlanModel(&random)
    test = try TestStore(models.model("1"))
    other = try TestStore(models.model("other"))
  }

  var place: String { "seed \(seed), operation \(count), \(current)" }

  var summary: String {
    let parts = tallies.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value.succeeded)+\($0.value.refused)" }
    return "seed \(seed): \(count) planned operations (succeeded+refused): \(parts.joined(separator: ", "))"
  }

  func step() throws {
    try change(test.store)
    if random.chance(in: 4) { try change(other.store) }
    if random.chance(in: 6) { try limit() }
    // Clones of clones grow without bound.
    if try random.chance(in: 30) || test.store.info().objectCount > 1000 || other.store.info().objectCount > 1000 {
      try begin()
    }
    count += 1
    switch random.below(20) {
    case 0..<8: try clone()
    case 8..<11: try cloneSnapshot()
    case 11..<13: try cloneInto()
    case 13..<17: try rollBack()
    default: try migrate()
    }
    if random.chance(in: 10) { try checked(test.store) }
  }

  /// Starts over with another pair of stores.
  private func begin() throws {
    try checked(test.store)
    try checked(other.store)
    test = try TestStore(models.model("1"))
    other = try TestStore(models.model("other"))
    isPlain = random.chance(in: 2)
    for _ in 0..<10 { try change(test.store) }
  }

  /// Opens the store with tight limits, with a write-ahead log, or with neither.
  private func limit() throws {
    var options = StoreOptions()
    let info = try test.store.info()
    if random.chance(in: 3) { options.maximumObjectCount = max(0, info.objectCount + random.below(20) - 2) }
    if random.chance(in: 3) { options.maximumFileBytes = info.fileBytes + UInt64(random.below(30) * 4096) }
    if random.chance(in: 3) { options.journalMode = .writeAheadLog }
    if options.maximumFileBytes == nil, random.chance(in: 4) { options.tracksHistory = random.chance(in: 2) }
    if random.chance(in: 4) { options.spillBudget = 64 << 10 }
    try test.reopen(options: options)
  }

  // MARK: States

  /// Changes a store in small transactions; rejected ones change nothing.
  private func change(_ store: ObjectStore) throws {
    for _ in 0..<(1 + random.below(4)) {
      do {
        try store.write { tx in
          for _ in 0..<(1 + random.below(3)) { try change(&tx, store.model) }
        }
      } catch is ValidationError {
      } catch let error as StoreError {
        guard [.limitExceeded, .deleteDenied, .wrongType, .outOfRange].contains(error.kind) else { throw error }
      }
    }
    if store === test.store, random.chance(in: 5) {
      let names = try store.snapshots().map(\.name)
      if names.count > 3 {
        try? store.deleteSnapshot(named: names[random.below(names.count)])
      } else {
        _ = try? store.createSnapshot(named: "s\(random.below(6))")
      }
    }
  }

  private func change(_ tx: inout WriteTransaction, _ model: ManagedObjectModel) throws {
    let all = try ids(tx)
    switch random.below(all.count > 60 ? 14 : 10) {
    case 0..<5: try insert(&tx, model)
    case 5..<7:
      guard let id = pick(all) else { return }
      let entity = try tx.entityName(of: id)
      guard let attribute = pick(model.attributes(of: entity).filter { !$0.isDerived }) else { return }
      try tx.set(id, attribute.name, value(attribute))
    case 7..<9:
      guard let id = pick(all) else { return }
      let entity = try tx.entityName(of: id)
      guard let relationship = pick(model.relationships(of: entity)) else { return }
      let targets = all.filter { (try? tx.entityName(of: $0)) == relationship.destinationEntityName }
      let some = (0..<(relationship.isToMany ? 1 + random.below(random.chance(in: 6) ? 12 : 3) : 1)).compactMap { _ in
        pick(targets)
      }
      var seen: Set<ObjectID> = []
      try tx.setMembers(id, relationship.name, some.filter { seen.insert($0).inserted })
    default:
      if let id = pick(all) { try tx.delete([id]) }
    }
  }

  private func insert(_ tx: inout WriteTransaction, _ model: ManagedObjectModel) throws {
    guard let entity = pick(["Folder", "Doc", "Doc", "Part", "Part", "Tag", "Extra"]),
      model.entity(named: entity) != nil
    else { return }
    var values: [String: AttributeValue?] = [:]
    for attribute in model.attributes(of: entity) where !attribute.isDerived {
      if !attribute.isOptional || random.chance(in: 2) { values[attribute.name] = value(attribute) }
    }
    var links: [String: [ObjectID]] = [:]
    let all = try ids(tx)
    for relationship in model.relationships(of: entity) where !relationship.isOptional || random.chance(in: 3) {
      if let target = pick(all.filter { (try? tx.entityName(of: $0)) == relationship.destinationEntityName }) {
        links[relationship.name] = [target]
      }
    }
    _ = try tx.insert(entity, values, relationships: links)
  }

  private func value(_ attribute: AttributeDescription) -> AttributeValue? {
    if attribute.isOptional, random.chance(in: 6) { return nil }
    switch attribute.type {
    case .string where isPlain: return .string("\(1 + random.below(30))")
    case .string: return .string(pick(["1", "2", "7", "12", "3.5", "male", "a long title", "", "70000"]) ?? "")
    case .integer16, .integer32, .integer64: return .integer(Int64(random.below(9)) * (random.chance(in: 6) ? 4000 : 1))
    case .double: return .double(Double(random.below(9)) / (random.chance(in: 3) ? 4 : 1))
    case .decimal: return .decimal(Decimal(random.below(9)))
    case .uuid: return .uuid(UUID())
    case .binary:
      return .binary(Data(repeating: UInt8(random.below(9)), count: [3, 600, 5000, 20_000][random.below(4)]))
    default: return nil
    }
  }

  private func pick<T>(_ values: [T]) -> T? { values.isEmpty ? nil : values[random.below(values.count)] }

  private func ids(_ tx: borrowing some ObjectReading & ~Copyable) throws -> [ObjectID] {
    let model = tx._withSession { session in session.schema.model }
    var ids: [ObjectID] = []
    for entity in model.entities { ids += try tx.fetchIDs(FetchRequest(entity.name)) }
    return ids
  }

  /// Returns all objects as text, with the number of the last commit.
  private func state(_ store: ObjectStore) throws -> String {
    var text = "commit \(try store.info().commit) "
    _ = try store.dump { piece in piece.withUnsafeBytes { text += String(decoding: $0, as: UTF8.self) } }
    return text
  }

  // MARK: Planned operations

  /// Compares a plan with its operation.
  ///
  /// - Parameters:
  ///   - plan: returns a description of the plan, and its errors.
  ///   - operation: returns a description of the result in the same form.
  private func compare(
    _ kind: String, _ store: () -> ObjectStore, plan: () throws -> (text: String, errors: [String]),
    operation: () throws -> String
  ) throws {
    current = kind
    let before = try state(store())
    var planned = ""
    var errors: [String] = []
    do {
      (planned, errors) = try plan()
    } catch {
      errors = ["thrown: \(error)"]
    }
    #expect(try state(store()) == before, "the plan changed the store, \(place)")
    var tally = tallies[kind] ?? (0, 0)
    do {
      let done = try operation()
      #expect(errors.isEmpty, "planned \(errors.prefix(3)), and succeeded, \(place)")
      if errors.isEmpty { #expect(planned == done, "\(place)") }
      tally.succeeded += 1
    } catch {
      #expect(!errors.isEmpty, "planned without errors, and failed: \(error), \(place)")
      #expect(try state(store()) == before, "the failed operation changed the store, \(place)")
      tally.refused += 1
    }
    tallies[kind] = tally
  }

  private func options(_ model: ManagedObjectModel) -> CloneOptions {
    var options = CloneOptions()
    if random.chance(in: 3) {
      options.count = [2, 3, 5, 1 << 40, 99_999_999_999, 1 << 48, .max][random.below(random.chance(in: 4) ? 7 : 3)]
    }
    if random.chance(in: 4) { options.blobs = .copy }
    if random.chance(in: 6) { options.references = .keepOriginal }
    if random.chance(in: 4) {
      options.excludedRelationshipNames = [["parts", "docs", "tags", "folder"][random.below(4)]]
    }
    if random.chance(in: 4) { options.passingExclusionList = true }
    if random.chance(in: 8) { options.maxObjects = random.below(12) }
    if random.chance(in: 8) { options.maxBytes = UInt64(random.below(4000)) }
    if random.chance(in: 6) { options.idempotencyKey = "key \(random.below(4))" }
    if random.chance(in: 4) { options.recordsProvenance = true }
    let rules: [CloneRule] = [.follow, .reference, .skip]
    if random.chance(in: 3) {
      let entity = ["Doc", "Folder", "Tag"][random.below(3)]
      if let relationship = pick(model.relationships(of: entity)) {
        options.rules["\(entity).\(relationship.name)"] = rules[random.below(3)]
      }
    }
    options.outsideObjects = pick([.match, .matchOrLeaveEmpty, .leaveEmpty, .refuse]) ?? .match
    return options
  }

  private func roots(_ all: [ObjectID]) -> [ObjectID] {
    (0..<(random.chance(in: 4) ? 2 : 1)).compactMap { _ in pick(all) }
  }

  private func clone() throws {
    let store = test.store
    let roots = roots(try store.read { tx in try ids(tx) })
    let options = options(store.model)
    if roots.isEmpty { return }
    try compare(
      "clone", { store }, plan: { try store.planClone(roots, options: options).comparison },
      operation: { try store.clone(roots, options: options).comparison })
  }

  private func cloneSnapshot() throws {
    let store = test.store
    guard let info = pick(try store.snapshots()) else { return }
    let snapshot = try store.snapshot(named: info.name)
    let roots = roots(try snapshot.read { tx in try ids(tx) })
    let options = options(store.model)
    if roots.isEmpty { return }
    try compare(
      "clone of a snapshot", { store },
      plan: { try store.planClone(roots, from: snapshot, options: options).comparison },
      operation: { try store.clone(roots, from: snapshot, options: options).comparison })
  }

  private func cloneInto() throws {
    let (store, other) = (test.store, other.store)
    let roots = roots(try store.read { tx in try ids(tx) })
    let options = options(store.model)
    if roots.isEmpty { return }
    try compare(
      "clone into another store", { other },
      plan: { try store.planClone(roots, into: other, options: options).comparison },
      operation: { try store.clone(roots, into: other, options: options).comparison })
    if random.chance(in: 4) { self.other = try TestStore(models.model("other")) }
  }

  private func rollBack() throws {
    let store = test.store
    guard let info = pick(try store.snapshots()) else { return }
    let snapshot = try store.snapshot(named: info.name)
    var objects: [ObjectID]?
    if random.chance(in: 2) { objects = roots(try snapshot.read { tx in try ids(tx) }) }
    if objects?.isEmpty == true { return }
    try compare(
      objects == nil ? "rollback" : "rollback of objects", { store },
      plan: {
        let plan = try store.planRollback(to: snapshot, objects: objects)
        return (
          "\(plan.updatedCount) \(plan.recreatedCount) \(plan.deletedCount) \(plan.replacedByteCount)",
          plan.errors.map(\.message)
        )
      },
      operation: {
        let result = try store.rollback(to: snapshot, objects: objects)
        return "\(result.updatedCount) \(result.recreatedCount) \(result.deletedCount) \(result.replacedByteCount)"
      })
  }

  private func migrate() throws {
    versions += 1
    let next = models.model("\(versions)")
    let migration = MigrationOptions(takesSnapshot: !random.chance(in: 3))
    let options = test.store.options
    try compare(
      "migration", { self.test.store },
      plan: {
        self.test.store.close()
        defer { try? self.test.reopen(options: options) }
        let plan = try self.test.planMigration(to: next, migration: migration, options: options)
        #expect(plan.isPossible == plan.errors.isEmpty)
        return (plan.report?.comparison ?? "nothing", plan.errors.map(\.message))
      },
      operation: {
        self.test.store.close()
        defer { try? self.test.reopen(options: options) }
        let report = try self.test.migrate(to: next, migration: migration, options: options)
        return report.comparison
      })
  }
}

extension ClonePlan {
  fileprivate var comparison: (text: String, errors: [String]) {
    if isRepeated { return ("repeated", []) }
    let counts = counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
    return (
      "\(objectCount) \(counts) touched \(affectedObjectCount) \(affectedObjectIDs) blobs \(blobsShared) \(bytesShared) \(bytesCopied) written \(bytesWritten)",
      errors.map { "\($0.kind): \($0.message)" }
    )
  }
}

extension CloneResult {
  fileprivate var comparison: String {
    if isRepeated { return "repeated" }
    let counts = counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
    return
      "\(objectCount) \(counts) touched \(affectedObjectCount) \(affectedObjectIDs) blobs \(blobsShared) \(bytesShared) \(bytesCopied) written \(bytesWritten)"
  }
}

extension MigrationReport {
  fileprivate var comparison: String {
    "\(versions) \(rewrittenCount) \(movedCount) \(createdCount) \(deletedCount) \(byteCount)"
  }
}
