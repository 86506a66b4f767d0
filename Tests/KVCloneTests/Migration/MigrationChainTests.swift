import Foundation
import KVCloneModel
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations

/// Migrations through several versions: all steps are applied to a record at once, with the same result as step by
/// step.
@Suite("Chains of lightweight steps")
struct MigrationChainTests {
  private static let first = ManagedObjectModel("Chain", version: "1") {
    EntityDescription("Item") {
      AttributeDescription("code", .integer16)
      AttributeDescription("text", .string)
      AttributeDescription("note", .string)
      AttributeDescription("data", .binary)
      RelationshipDescription("box", toOne: "Box", inverse: "items")
    }
    EntityDescription("Box") {
      AttributeDescription("total", .integer64, derivation: "items.@sum.code")
      RelationshipDescription("items", toMany: "Item", inverse: "box")
    }
  }
  /// Has a wider type, and a constraint that three objects violate; lacks an attribute with its blobs.
  private static let second = first.next("2") { draft in
    draft.attribute("Item", "code") { $0.type = .integer32 }
    draft.attribute("Box", "total") { $0.derivationExpression = "items.@count" }
    draft["Item"].uniquenessConstraints = [["note"]]
    draft.remove("data", from: "Item")
  }
  /// Has a string instead of the number, without the constraint; the removed attribute is back.
  private static let third = second.next("3") { draft in
    draft.attribute("Item", "code") { $0.type = .string }
    draft["Item"].uniquenessConstraints = []
    draft["Item"].attributes.append(AttributeDescription("data", .binary))
  }
  /// Has another name, a value for all objects, and an index.
  private static let fourth = third.next("4") { draft in
    draft.rename("Item", attribute: "code", to: "number")
    draft.attribute("Item", "note") { ($0.isOptional, $0.defaultValue) = (false, "none") }
    draft["Item"].indexes = [FetchIndexDescription("byNumber", [.init("number")])]
  }
  private static let versions = [first, second, third, fourth]

  private static func options(_ versions: [ManagedObjectModel], takesSnapshot: Bool = true) -> MigrationOptions {
    MigrationOptions(
      versions: versions, stages: [LightweightMigrationStage(versions.map { ManagedObjectModelReference($0) })],
      takesSnapshot: takesSnapshot)
  }

  private static func filled(_ count: Int = 60) throws -> TestStore {
    let test = try TestStore(first)
    try test.store.write { tx in
      let box = try tx.insert("Box")
      for number in 1...count {
        try tx.insert(
          "Item",
          [
            "code": .integer(Int64(number - 7)), "text": .string("text \(number)"),
            "note": number % 20 == 0 ? nil : .string("note \(number % 19)"),
            "data": .binary(Data(repeating: UInt8(number), count: number % 6 == 0 ? 9_000 : 9)),
          ], relationships: ["box": [box]])
      }
    }
    return test
  }

  private static func lines(_ store: ObjectStore, snapshot: String? = nil) throws -> [Substring] {
    var bytes: [UInt8] = []
    let sink = { (span: RawSpan) in span.withUnsafeBytes { bytes.append(contentsOf: $0) } }
    if let snapshot {
      _ = try store.snapshot(named: snapshot).dump(to: sink)
    } else {
      _ = try store.dump(to: sink)
    }
    return String(decoding: bytes, as: UTF8.self).split(separator: "\n").filter { !$0.hasPrefix(#"{"kvclone""#) }
  }

  private static func migrate(_ test: TestStore, to model: ManagedObjectModel, _ options: MigrationOptions) throws
    -> MigrationReport
  {
    test.store.close()
    let report = try test.migrate(to: model, migration: options)
    try test.reopen()
    return report
  }

  @Test("each record is written once for all versions, and the plan says so")
  func once() throws {
    let test = try Self.filled()
    let before = try Self.lines(test.store)
    test.store.close()
    let options = Self.options(Self.versions)
    let plan = try test.planMigration(to: Self.fourth, migration: options)
    #expect(plan.steps.map(\.rewrittenCount) == [60, 60, 60])
    #expect(plan.steps.map(\.joinedCount) == [60, 60, 0])
    #expect(plan.steps[0].byteCount < plan.steps[2].byteCount)
    let report = try Self.migrate(test, to: Self.fourth, options)
    #expect(report.rewrittenCount == 60)
    #expect(report.versions == ["1", "2", "3", "4"])
    let found = try test.store.read { tx in
      try tx.fetch(FetchRequest("Item", predicate: QueryPredicate(format: "number == '13'"))).map {
        [$0["text"], $0["note"], $0["data"]]
      }
    }
    // An attribute that was removed and added again has no former values.
    #expect(found == [["text 20", "none", nil]])
    let total = try test.store.read { tx in try tx.fetch(FetchRequest("Box")).first?["total"] }
    #expect(total == 60)
    let shown = try Self.lines(test.store, snapshot: try #require(report.snapshot))
    #expect(shown == before)
    try checked(test.store)
    try test.store.deleteSnapshot(named: try #require(report.snapshot))
    try test.store.expectNoPreviousStates()
    try checked(test.store)
  }

  @Test("no blob is left of an attribute that was removed in between", arguments: [true, false])
  func blobs(takesSnapshot: Bool) throws {
    let test = try Self.filled()
    let options = Self.options(Self.versions, takesSnapshot: takesSnapshot)
    let report = try Self.migrate(test, to: Self.fourth, options)
    if let snapshot = report.snapshot { try test.store.deleteSnapshot(named: snapshot) }
    try checked(test.store)
    #expect(try test.store.blobCounts() == BlobCounts())
  }

  @Test("a handler in between has the steps before it done")
  func handler() throws {
    let test = try Self.filled()
    let stage = CustomMigrationStage(
      migratingFrom: "2", to: "3", label: "numbers",
      willMigrate: { manager in
        try manager.forEachObject(of: "Item") { tx, id in
          guard case .integer(let code)? = try tx.value(id, "code") else { return }
          try tx.set(id, "code", .integer(code * 100_000))
          try tx.set(id, "note", .string("\(id.serial)"))
        }
      })
    let stages: [any MigrationStage] = [
      LightweightMigrationStage(["1", "2"]), stage, LightweightMigrationStage(["3", "4"]),
    ]
    let options = MigrationOptions(versions: Self.versions, stages: stages)
    let plan = try { () throws in
      test.store.close()
      return try test.planMigration(to: Self.fourth, migration: options)
    }()
    #expect(plan.steps.map(\.joinedCount) == [0, 60, 0])
    // The constraint of the second version counts here, because handlers may read the objects.
    expectError(.notUnique) { _ = try test.migrate(to: Self.fourth, migration: options) }
    try test.reopen()
    try test.store.write { tx in
      for item in try tx.fetch(FetchRequest("Item")) { try tx.set(item.id, "note", nil) }
    }
    let report = try Self.migrate(test, to: Self.fourth, options)
    #expect(report.rewrittenCount == 120)
    let found = try test.store.read { tx in
      try tx.fetch(FetchRequest("Item", predicate: QueryPredicate(format: "number == '1300000'"))).map { $0["text"] }
    }
    #expect(found == ["text 20"])
    try checked(test.store)
  }

  private static let order = ManagedObjectModel("Order", version: "1") {
    EntityDescription("Order") {
      AttributeDescription("price", .integer32)
      AttributeDescription("label", .string)
    }
  }

  @Test("what a version in between derives is a value of the next one", arguments: [true, false])
  func derivedOnTheWay(isDerivedAtFirst: Bool) throws {
    let first =
      isDerivedAtFirst
      ? Self.order.next("1") {
        $0["Order"].attributes.append(AttributeDescription("name", .string, derivation: "uppercase:(label)"))
        $0["Order"].attributes.append(AttributeDescription("changed", .date, derivation: "now()"))
      } : Self.order
    let second = Self.order.next("2") {
      $0["Order"].attributes.append(AttributeDescription("name", .string, derivation: "lowercase:(label)"))
    }
    let third = Self.order.next("3") { draft in
      draft.remove("label", from: "Order")
      draft.attribute("Order", "price") { $0.type = .integer64 }
      draft["Order"].attributes.append(AttributeDescription("name", .string))
      draft["Order"].attributes.append(AttributeDescription("changed", .date, derivation: "now()"))
    }
    let test = try TestStore(first)
    try test.store.write { tx in
      for number in 1...5 {
        try tx.insert("Order", ["price": .integer(Int64(number)), "label": .string("A\(number)b")])
      }
    }
    _ = try Self.migrate(test, to: third, Self.options([first, second, third]))
    let orders = try test.store.read { tx in try tx.fetch(FetchRequest("Order")) }
    #expect(orders.map { $0["name"] } == (1...5).map { .string("a\($0)b") })
    #expect(orders.map { $0["price"] } == (1...5).map { .integer(Int64($0)) })
    #expect(orders.allSatisfy { $0["changed"] != nil })
    try checked(test.store)
  }

  @Test("a value that a later version cannot represent leaves the store unchanged")
  func notConvertible() throws {
    let test = try Self.filled()
    let before = try Self.lines(test.store)
    let fifth = Self.fourth.next("5") { $0.attribute("Item", "text") { $0.type = .integer64 } }
    let error = expectError(.notConvertible) {
      _ = try Self.migrate(test, to: fifth, Self.options(Self.versions + [fifth]))
    }
    #expect(error?.property == "text")
    try test.reopen()
    let after = try Self.lines(test.store)
    #expect(after == before)
    try checked(test.store)
  }

  private static func moves(_ versions: [ManagedObjectModel]) -> Bool {
    zip(versions, versions.dropFirst()).contains { source, destination in
      let oracle = MigrationOracle(from: source, to: destination)
      return oracle.entities.keys.contains { !oracle.keepsIDs($0) }
    }
  }

  /// Random successive changes, compared with the oracle's result for each, and with a store that migrates step by
  /// step.
  @Test("random chains", arguments: PropertySeeds.seeds + [4, 5, 6])
  func random(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    var versions = [Library.model]
    var names: [String] = []
    while versions.count < 5 {
      guard let change = Library.changes.randomElement(using: &generator), change.first == Library.model else {
        continue
      }
      let next = versions[versions.count - 1].next("\(versions.count + 1)", change.changes[0])
      let previous = versions[versions.count - 1]
      guard (try? next.validate()) != nil, next.modelHash != previous.modelHash,
        ModelDifference(from: previous, to: next).refusals.isEmpty,
        !versions.contains(where: { $0.modelHash == next.modelHash })
      else { continue }
      // The former name of a moved object would be another object's name by then, so no lookup could find it.
      if change.name == "names of entities swapped", Self.moves(versions) { continue }
      versions.append(next)
      names.append(change.name)
    }
    let what = "seed \(seed): \(names)"
    let last = versions[versions.count - 1]
    let atOnce = try MigratedStore(Library.model, seed: seed, size: 5)
    guard try atOnce.migrate(to: last, versions: versions, what) else { return }
    try atOnce.workOn(seed: seed, what)
    try atOnce.deleteSnapshots(what)
  }
}
