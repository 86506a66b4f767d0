import Foundation
import KVClone
import KVCloneTestSupport
import Testing

@testable import KVCloneCore

private let dotModel = ManagedObjectModel("Dots") {
  EntityDescription("Dot", unique: [["a"], ["b", "c"]]) {
    AttributeDescription("a", .integer64)
    AttributeDescription("b", .integer64)
    AttributeDescription("c", .integer64, default: 0)
    AttributeDescription("d", .integer64, default: 0)
    RelationshipDescription("tags", toMany: "Tag", inverse: "dots")
  }
  EntityDescription("Tag") { RelationshipDescription("dots", toMany: "Dot", inverse: "tags") }
}

/// Random transactions with conflicts that a policy resolves, compared with the same rules on dictionaries.
@Suite("Uniqueness conflicts compared with plain dictionaries")
struct UniquenessConflictPropertyTests {
  @Test("random transactions", arguments: MergePolicy.allCases, PropertySeeds.seeds)
  func random(_ policy: MergePolicy, _ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let test = try TestStore(dotModel)
    let tags = try test.store.insert("Tag", count: 4)
    var dots = Dots(policy)
    for round in 0..<60 {
      var next = dots
      next.begin()
      do {
        try test.store.write(mergePolicy: policy) { tx in
          for _ in 0..<(1 + random.below(8)) { try Self.operation(&tx, &next, tags, &random) }
        }
        #expect(policy != .error || next.isUnique, "committed with a conflict, seed \(seed), round \(round)")
        next.settle()
        dots = next
      } catch is ValidationError {
        #expect(policy == .error && !next.isUnique, "refused, \(policy), seed \(seed), round \(round)")
      }
      #expect(dots.isUnique, "\(policy), seed \(seed), round \(round)")
      #expect(try Self.read(test.store) == dots.dots, "\(policy), seed \(seed), round \(round)")
      if round % 10 == 9 { try checked(test.store) }
    }
  }

  private static func operation(
    _ tx: inout WriteTransaction, _ dots: inout Dots, _ tags: [ObjectID], _ random: inout SeededGenerator
  ) throws {
    let ids = dots.dots.keys.sorted()
    func value(_ limit: Int) -> AttributeValue? {
      let number = random.below(limit)
      return number == 0 ? nil : .integer(Int64(number))
    }
    switch ids.isEmpty ? 0 : random.below(10) {
    case 0...3:
      var dot = Dots.Dot(values: ["c": 0, "d": 0])
      for (name, limit) in [("a", 12), ("b", 5), ("c", 4), ("d", 9)] where random.below(3) > 0 {
        dot.values[name] = .some(value(limit))
      }
      dot.tags = Set(tags.filter { _ in random.chance(in: 4) })
      dots.insert(try tx.insert("Dot", dot.values, relationships: ["tags": dot.tags.sorted()]), dot)
    case 4...7:
      let id = ids[random.below(ids.count)]
      let name = ["a", "a", "b", "c", "d"][random.below(5)]
      let value = value(12)
      try tx.set(id, name, value)
      dots.set(id, name, value)
    case 8:
      let id = ids[random.below(ids.count)]
      let tag = tags[random.below(tags.count)]
      try tx.link(id, "tags", [tag])
      dots.link(id, [tag])
    default:
      let id = ids[random.below(ids.count)]
      try tx.delete([id])
      dots.remove(id)
    }
  }

  private static func read(_ store: ObjectStore) throws -> [ObjectID: Dots.Dot] {
    try store.read { tx in
      var dots: [ObjectID: Dots.Dot] = [:]
      for object in try tx.fetch(FetchRequest("Dot")) {
        var dot = Dots.Dot(values: [:], tags: Set(try tx.members(object.id, "tags")))
        for name in ["a", "b", "c", "d"] { dot.values[name] = .some(object[name]) }
        dots[object.id] = dot.normalized
      }
      return dots
    }
  }
}

/// The rules of the policies on dictionaries.
private struct Dots {
  struct Dot: Equatable {
    var values: [String: AttributeValue?]
    var tags: Set<ObjectID> = []

    /// Every attribute with its value or nil.
    var normalized: Dot {
      var dot = self
      for name in ["a", "b", "c", "d"] where dot.values[name] == nil { dot.values[name] = .some(nil) }
      return dot
    }

    func value(_ name: String) -> AttributeValue? { values[name] ?? nil }

    func isSet(_ name: String) -> Bool {
      let value = value(name)
      return value != nil && (value != 0 || name == "a" || name == "b")
    }

    /// The values under a constraint; nil if one of them is nil.
    func key(_ constraint: [String]) -> [AttributeValue]? {
      let values = constraint.compactMap { value($0) }
      return values.count == constraint.count ? values : nil
    }
  }

  static let constraints = [["a"], ["b", "c"]]

  let policy: MergePolicy
  private(set) var dots: [ObjectID: Dot] = [:]
  private var before: [ObjectID: Dot] = [:]
  private var changed: Set<ObjectID> = []
  private var returned: Set<ObjectID> = []

  init(_ policy: MergePolicy) { self.policy = policy }

  mutating func begin() { (before, changed, returned) = (dots, [], []) }

  var isUnique: Bool { dots.keys.allSatisfy { conflict(of: $0) == nil } }

  mutating func insert(_ id: ObjectID, _ dot: Dot) { dots[id] = dot.normalized }

  mutating func set(_ id: ObjectID, _ name: String, _ value: AttributeValue?) {
    guard let dot = dots[id], dot.value(name) != value else { return }
    dots[id]?.values[name] = .some(value)
    changed.insert(id)
  }

  mutating func link(_ id: ObjectID, _ tags: Set<ObjectID>) {
    guard let dot = dots[id], !tags.isSubset(of: dot.tags) else { return }
    dots[id]?.tags.formUnion(tags)
    changed.insert(id)
  }

  mutating func remove(_ id: ObjectID) { dots[id] = nil }

  // MARK: Resolution

  private func isNew(_ id: ObjectID) -> Bool { before[id] == nil }

  private func conflict(of id: ObjectID) -> (constraint: [String], other: ObjectID)? {
    firstConflict(of: id, in: dots, Self.constraints) { $0.key($1) }
  }

  /// Resolves conflicts of new objects in their order, then of changed stored ones, until none is left.
  mutating func settle() {
    if policy == .error { return }
    var goesOn = true
    while goesOn {
      goesOn = false
      for isInserted in [true, false] {
        var last = ObjectID(rawValue: 0)
        while let id = dots.keys.filter({ isNew($0) == isInserted && (isInserted || changed.contains($0)) && $0 > last }
        ).min() {
          last = id
          while let conflict = conflict(of: id) {
            guard settle(id, conflict.other, conflict.constraint) else { break }
            goesOn = true
          }
        }
      }
    }
  }

  private mutating func settle(_ id: ObjectID, _ other: ObjectID, _ constraint: [String]) -> Bool {
    let isHolder: Bool
    let key = dots[id]?.key(constraint)
    let held = (before[id]?.key(constraint) == key, before[other]?.key(constraint) == key)
    if isNew(id) != isNew(other) {
      isHolder = isNew(other)
    } else if !isNew(id), held.0 != held.1 {
      isHolder = held.0
    } else {
      isHolder = id < other
    }
    let (holder, comer) = isHolder ? (id, other) : (other, id)
    let policy = policy
    let isOfStore = policy == .rollback || policy == .mergeByPropertyStoreTrump
    if isNew(comer) {
      if policy != .rollback {
        take(from: comer, to: holder) { mine, theirs, name in
          switch policy {
          case .overwrite: true
          case .mergeByPropertyObjectTrump: theirs.isSet(name)
          default: theirs.isSet(name) && !mine.isSet(name)
          }
        }
      }
      dots[comer] = nil
      returned.remove(holder)
    } else if isOfStore {
      guard returned.insert(comer).inserted, let stored = before[comer] else { return false }
      for name in policy == .rollback ? ["a", "b", "c", "d"] : ["a", "b", "c"] { set(comer, name, stored.value(name)) }
    } else {
      take(from: holder, to: comer) { mine, theirs, name in
        policy == .mergeByPropertyObjectTrump && theirs.isSet(name) && !mine.isSet(name)
      }
      dots[holder] = nil
      returned.remove(comer)
    }
    return true
  }

  private mutating func take(from gone: ObjectID, to kept: ObjectID, _ takes: (Dot, Dot, String) -> Bool) {
    guard let theirs = dots[gone], let mine = dots[kept] else { return }
    for name in ["a", "b", "c", "d"] where takes(mine, theirs, name) { set(kept, name, theirs.value(name)) }
    link(kept, theirs.tags)
  }
}
