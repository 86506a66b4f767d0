import Foundation
import KVClone
import KVCloneTestSupport
import Testing

@testable import KVCloneCore
@testable import KVCloneQuery

private let graphModel = ManagedObjectModel("Dots and what is theirs") {
  EntityDescription("Dot", unique: ConflictOracle.constraints) {
    AttributeDescription("a", .integer64)
    AttributeDescription("b", .integer64)
    AttributeDescription("c", .integer64, default: 0)
    AttributeDescription("d", .integer64, default: 0)
    AttributeDescription("e", .integer64)
    AttributeDescription("name", .string)
    AttributeDescription("folded", .string, derivation: "lowercase:(name)")
    AttributeDescription("data", .binary)
    AttributeDescription("groupName", .string, derivation: "group.name")
    AttributeDescription("partCount", .integer64, derivation: "parts.@count")
    AttributeDescription("partSize", .integer64, derivation: "parts.@sum.size")
    RelationshipDescription("tags", toMany: "Tag", inverse: "dots")
    RelationshipDescription("group", toOne: "Group", inverse: "dots")
    RelationshipDescription("pal", toOne: "Dot")
    RelationshipDescription("main", toOne: "Leaf", inverse: "dot", deleteRule: .cascade)
    RelationshipDescription("parts", toMany: "Part", inverse: "dot", deleteRule: .cascade)
  }
  EntityDescription("Tag") { RelationshipDescription("dots", toMany: "Dot", inverse: "tags") }
  EntityDescription("Group") {
    AttributeDescription("name", .string)
    AttributeDescription("dotCount", .integer64, derivation: "dots.@count")
    AttributeDescription("size", .integer64, derivation: "dots.@sum.partSize")
    RelationshipDescription("dots", toMany: "Dot", inverse: "group")
  }
  EntityDescription("Leaf") { RelationshipDescription("dot", toOne: "Dot", inverse: "main") }
  EntityDescription("Part") {
    AttributeDescription("size", .integer64, default: 1)
    RelationshipDescription("dot", toOne: "Dot", inverse: "parts")
  }
}

/// Random transactions with conflicts that a policy resolves, including all deletes, merges and cascades, compared with
/// the same rules on dictionaries.
@Suite("Uniqueness conflicts in graphs compared with plain dictionaries")
struct UniquenessConflictGraphTests {
  @Test("random transactions", arguments: MergePolicy.allCases, PropertySeeds.seeds)
  func random(_ policy: MergePolicy, _ seed: UInt64) throws {
    var run = try ConflictRun(policy, seed: seed)
    // After a first difference, all later states differ.
    for _ in 0..<40 where run.isAlike { try run.transaction() }
    #expect(policy == .error || run.committed > 20, "\(run.committed) committed, seed \(seed)")
  }
}

private struct ConflictRun {
  let test: TestStore
  let policy: MergePolicy
  let seed: UInt64
  var random: SeededGenerator
  var oracle: ConflictOracle
  var tags: [ObjectID] = []
  var round = 0
  var committed = 0
  /// Whether the store has matched the oracle so far.
  var isAlike = true

  init(_ policy: MergePolicy, seed: UInt64) throws {
    (self.policy, self.seed) = (policy, seed)
    random = SeededGenerator(seed: seed)
    oracle = ConflictOracle(policy)
    test = try TestStore(graphModel)
    var hooks = ObjectLifecycle()
    hooks.willSave = { tx, id in
      let (d, b) = (try tx.value(id, "d"), try tx.value(id, "b"))
      if d == ConflictOracle.magic.d, b != ConflictOracle.magic.b { try tx.set(id, "b", ConflictOracle.magic.b) }
    }
    try test.store.register(hooks, for: "Dot")
    tags = try test.store.insert("Tag", count: 4)
  }

  mutating func transaction() throws {
    round += 1
    let place = "\(policy), seed \(seed), round \(round)"
    var (next, random) = (oracle, self.random)
    next.begin()
    do {
      try test.store.write(mergePolicy: policy) { tx in
        for _ in 0..<(1 + random.below(8)) { try operation(&tx, &next, &random, place) }
      }
      next.prepareToSave()
      #expect(next.isUnique, "committed with a conflict, \(place)")
      oracle = next
      committed += 1
    } catch is ValidationError {
      next.prepareToSave()
      #expect(!next.isUnique, "refused, \(place)")
    }
    self.random = random
    try compare(place)
    try checked(test.store)
  }

  // MARK: Operations

  private func pick(_ ids: some Collection<ObjectID>, _ random: inout SeededGenerator) -> ObjectID? {
    let sorted = ids.sorted()
    return sorted.isEmpty ? nil : sorted[random.below(sorted.count)]
  }

  private func value(_ name: String, _ random: inout SeededGenerator) -> AttributeValue? {
    if name == "name" {
      return random.chance(in: 3) ? nil : .string(["x", "X", "y", "Y", "z", "Zz", "zZ", "w"][random.below(8)])
    }
    let number = random.below(["a": 14, "b": 6, "c": 5, "d": 9, "e": 4][name] ?? 2)
    return number == 0 ? nil : .integer(Int64(number))
  }

  private func data(_ random: inout SeededGenerator) -> Data? {
    let byte = UInt8(random.below(5))
    return byte == 0 ? nil : Data(repeating: byte, count: random.chance(in: 2) ? 3000 : 20)
  }

  private func operation(
    _ tx: inout WriteTransaction, _ next: inout ConflictOracle, _ random: inout SeededGenerator, _ place: String
  ) throws {
    switch next.dots.isEmpty ? 0 : random.below(16) {
    case 0...3: try insert(&tx, &next, &random)
    case 4...7:
      guard let id = pick(next.dots.keys, &random) else { return }
      let name = ConflictOracle.names[random.below(6)]
      let value = value(name, &random)
      try tx.set(id, name, value)
      next.set(id, name, value)
    case 8:
      guard let id = pick(next.dots.keys, &random) else { return }
      let data = data(&random)
      try tx.set(id, "data", data.map { .binary($0) })
      next.setData(id, data)
    case 9...11: try link(&tx, &next, &random)
    case 12: try remove(&tx, &next, &random)
    case 13:
      let parts = try tx.fetchIDs(FetchRequest("Part"))
      if let part = pick(parts, &random) { try tx.set(part, "size", .integer(Int64(random.below(9)))) }
      if let group = pick(next.groups, &random) { try tx.set(group, "name", value("name", &random)) }
    case 14: try batch(&tx, &next, &random, place)
    default:
      let replaced = try tx.resolveConstraintConflicts()
      next.settleNow()
      for (gone, kept) in replaced {
        let exists = (try tx.exists(gone), try tx.exists(kept))
        #expect(!exists.0 && exists.1 && next.last(from: gone) == kept, "\(place)")
      }
    }
  }

  private func insert(_ tx: inout WriteTransaction, _ next: inout ConflictOracle, _ random: inout SeededGenerator)
    throws
  {
    var dot = ConflictOracle.Dot()
    var values: [String: AttributeValue?] = [:]
    dot.values = ConflictOracle.defaults
    for name in ConflictOracle.names where random.below(3) > 0 {
      let value = value(name, &random)
      values[name] = .some(value)
      dot.values[name] = value
    }
    dot.data = data(&random)
    if let data = dot.data { values["data"] = .some(.binary(data)) }
    dot.tags = Set(tags.filter { _ in random.chance(in: 4) })
    if random.chance(in: 2) { dot.group = try group(&tx, &next, &random) }
    if random.chance(in: 3) { dot.pal = pick(next.dots.keys, &random) }
    if random.chance(in: 2) { dot.main = try other("Leaf", &tx, &next, &random) }
    while random.chance(in: 2) { dot.parts.insert(try other("Part", &tx, &next, &random)) }
    let id = try tx.insert(
      "Dot", values,
      relationships: [
        "tags": dot.tags.sorted(), "group": [dot.group].compactMap { $0 }, "pal": [dot.pal].compactMap { $0 },
        "main": [dot.main].compactMap { $0 }, "parts": dot.parts.sorted(),
      ])
    next.insert(id, dot)
  }

  private func group(_ tx: inout WriteTransaction, _ next: inout ConflictOracle, _ random: inout SeededGenerator) throws
    -> ObjectID
  {
    if next.groups.count >= 3, let known = pick(next.groups, &random) { return known }
    let id = try tx.insert("Group", ["name": value("name", &random)])
    next.groups.insert(id)
    return id
  }

  /// A leaf or a part: a new one, or one that may belong to another dot.
  private func other(
    _ entity: String, _ tx: inout WriteTransaction, _ next: inout ConflictOracle, _ random: inout SeededGenerator
  ) throws -> ObjectID {
    let known = try tx.fetchIDs(FetchRequest(entity))
    if random.chance(in: 3), let known = pick(known, &random) { return known }
    let id = try tx.insert(entity)
    next.insertOther(id)
    return id
  }

  private func link(_ tx: inout WriteTransaction, _ next: inout ConflictOracle, _ random: inout SeededGenerator) throws
  {
    guard let id = pick(next.dots.keys, &random) else { return }
    let isNone = random.chance(in: 4)
    switch random.below(5) {
    case 0:
      let tag = tags[random.below(tags.count)]
      try tx.link(id, "tags", [tag])
      next.addTags(id, [tag])
    case 1:
      let group = try isNone ? nil : group(&tx, &next, &random)
      try tx.setToOne(id, "group", group)
      next.setGroup(id, group)
    case 2:
      let pal = isNone ? nil : pick(next.dots.keys, &random)
      try tx.setToOne(id, "pal", pal)
      next.setPal(id, pal)
    case 3:
      let main = try isNone ? nil : other("Leaf", &tx, &next, &random)
      try tx.setToOne(id, "main", main)
      next.setMain(id, main)
    default:
      let part = try other("Part", &tx, &next, &random)
      try tx.link(id, "parts", [part])
      next.addParts(id, [part])
    }
  }

  private func remove(_ tx: inout WriteTransaction, _ next: inout ConflictOracle, _ random: inout SeededGenerator)
    throws
  {
    switch random.below(3) {
    case 0:
      guard let id = pick(next.dots.keys, &random) else { return }
      try tx.delete([id])
      next.remove(id)
    case 1:
      guard let id = pick(next.others, &random) else { return }
      try tx.delete([id])
      next.removeOther(id)
    default:
      guard let id = pick(next.groups, &random) else { return }
      try tx.delete([id])
      next.removeGroup(id)
    }
  }

  private func batch(
    _ tx: inout WriteTransaction, _ next: inout ConflictOracle, _ random: inout SeededGenerator, _ place: String
  ) throws {
    var objects: [[String: AttributeValue?]] = []
    for _ in 0..<(1 + random.below(4)) {
      var values: [String: AttributeValue?] = [:]
      for name in ConflictOracle.names where random.below(3) > 0 { values[name] = .some(value(name, &random)) }
      objects.append(values)
    }
    // Serials are consecutive.
    let first = try tx.insert("Dot")
    try tx.delete([first])
    let result = try tx.batchInsert("Dot", objects, resultType: .objectIDs)
    var inserted: [ObjectID] = []
    for (index, values) in objects.enumerated() {
      let id = ObjectID(rootCode: first.rootCode, serial: first.serial + UInt64(index) + 1)
      var dot = ConflictOracle.Dot(values: ConflictOracle.defaults)
      for (name, value) in values { dot.values[name] = value }
      next.insert(id, dot)
      next.settleInserted(id)
      inserted.append(id)
    }
    next.prepareToSave()
    let last = inserted.map { next.last(from: $0) }
    #expect(result.count == objects.count && result.objectIDs == last, "\(place)")
    for id in result.objectIDs {
      let exists = try tx.exists(id)
      #expect(exists, "\(id) of a batch, \(place)")
    }
  }

  // MARK: The store

  private mutating func compare(_ place: String) throws {
    var dots: [ObjectID: ConflictOracle.Dot] = [:]
    var derived: [ObjectID: [AttributeValue?]] = [:]
    var others: Set<ObjectID> = []
    try test.store.read { tx in
      for object in try tx.fetch(FetchRequest("Dot")) {
        let id = object.id
        var dot = ConflictOracle.Dot()
        for name in ConflictOracle.names { dot.values[name] = object[name] }
        dot.data = try tx.data(id, "data")
        dot.tags = Set(try tx.members(id, "tags"))
        dot.parts = Set(try tx.members(id, "parts"))
        (dot.group, dot.pal, dot.main) = (object.toOne("group"), object.toOne("pal"), object.toOne("main"))
        dots[id] = dot
        derived[id] = [object["folded"], object["partCount"]]
      }
      others = Set(try tx.fetchIDs(FetchRequest("Leaf")) + tx.fetchIDs(FetchRequest("Part")))
    }
    #expect(Set(dots.keys) == Set(oracle.dots.keys), "\(place)")
    isAlike = dots == oracle.dots && others == oracle.others
    for (id, dot) in oracle.dots where dots[id] != dot {
      Issue.record("\(id): \(String(describing: dots[id])) instead of \(dot), \(place)")
    }
    #expect(others == oracle.others, "\(place)")
    for (id, dot) in oracle.dots {
      let wanted: [AttributeValue?] = [dot.folded.map { .string($0) }, .integer(Int64(dot.parts.count))]
      #expect(derived[id] == wanted, "\(id), \(place)")
    }
    let blobs = oracle.dots.values.filter { ($0.data?.count ?? 0) > 1024 }.count
    #expect(try test.store.blobCount() == blobs, "\(place)")
  }
}
