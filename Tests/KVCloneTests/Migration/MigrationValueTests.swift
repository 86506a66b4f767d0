import Foundation
import KVCloneModel
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations
@testable import KVCloneQuery

/// The values of attributes that were added, removed, added again, or changed their type: cases with exact
/// expectations.
@Suite("Migrations and values")
struct MigrationValueTests {
  private static func model(_ version: String, _ attributes: AttributeDescription...) -> ManagedObjectModel {
    ManagedObjectModel("Values", version: version) {
      EntityDescription("Note", indexes: [FetchIndexDescription("name", [.init("name")])]) {
        AttributeDescription("name", .string)
        for attribute in attributes { attribute }
      }
    }
  }

  private func names(_ store: ObjectStore, _ format: String) throws -> [String] {
    let request = FetchRequest("Note", predicate: try QueryPredicate(format: format))
    return try store.read { tx in
      try tx.fetchIDs(request).compactMap { id in
        if case .string(let name)? = try tx.value(id, "name") { name } else { nil }
      }.sorted()
    }
  }

  @Test("a sub-entity that declares a new attribute again has its own default")
  func ownDefault() throws {
    let model = ManagedObjectModel("Own", version: "1") {
      EntityDescription("Thing") { AttributeDescription("name", .string) }
      EntityDescription("Book", parent: "Thing") {}
      EntityDescription("Comic", parent: "Book") {}
    }
    let migrated = try MigratedStore(model)
    let thing = try migrated.store.insert("Thing")
    let book = try migrated.store.insert("Book")
    let comic = try migrated.store.insert("Comic")
    let next = model.next("2") { draft in
      draft["Thing"].attributes.append(AttributeDescription("stock", .integer16, default: 1))
      draft["Thing"].indexes = [FetchIndexDescription("stock", [.init("stock")])]
      draft["Book"].attributes.append(AttributeDescription("stock", .integer16, default: 2))
      draft["Comic"].attributes.append(AttributeDescription("stock", .integer16))
    }
    migrated.store.close()
    let report = try migrated.test.migrate(to: next)
    #expect(report.rewrittenCount == 2)
    try migrated.test.reopen()
    #expect(try migrated.store.value(thing, "stock") == 1)
    #expect(try migrated.store.value(book, "stock") == 2)
    #expect(try migrated.store.value(comic, "stock") == nil)
    try migrated.check("migrated")
    for (format, count) in [("stock == 1", 1), ("stock == 2", 1), ("stock == nil", 1)] {
      let request = FetchRequest("Thing", predicate: try QueryPredicate(format: format))
      let found = try migrated.store.read { tx in try tx.count(request) }
      #expect(found == count, "\(format)")
    }
  }

  @Test("an old object keeps the default that the attribute had when it came")
  func firstDefault() throws {
    let migrated = try MigratedStore(Self.model("1"))
    let old = try migrated.store.insert("Note", ["name": "old"])
    let changed = try migrated.store.insert("Note", ["name": "changed"])
    try migrated.migrate(to: Self.model("2", .init("x", .integer16, optional: false, default: 1)))
    let between = try migrated.store.insert("Note", ["name": "between"])
    try migrated.store.set(changed, "name", "touched")
    let three = Self.model("3", .init("x", .integer16, optional: false, default: 2))
    try migrated.migrate(to: three)
    let new = try migrated.store.insert("Note", ["name": "new"])
    for (id, value) in [(old, 1), (changed, 1), (between, 1), (new, 2)] {
      #expect(try migrated.store.value(id, "x") == .integer(Int64(value)))
    }
    // Through predicates, and through an index that is added later.
    #expect(try names(migrated.store, "x == 1") == ["between", "old", "touched"])
    let four = three.next("4") { draft in
      draft["Note"].indexes.append(FetchIndexDescription("x", [.init("x")]))
      draft.attribute("Note", "x") { $0.defaultValue = .integer(3) }
    }
    try migrated.migrate(to: four)
    #expect(try names(migrated.store, "x == 1") == ["between", "old", "touched"])
    #expect(try names(migrated.store, "x == 2") == ["new"])
    #expect(try names(migrated.store, "x == 3").isEmpty)
    let clone = try #require(try migrated.store.clone([old], options: CloneOptions()).roots.first)
    #expect(try migrated.store.value(clone, "x") == .integer(1))
    // A removed optional value is nil and not the default.
    try migrated.migrate(to: four.next("5") { $0.attribute("Note", "x") { $0.isOptional = true } })
    try migrated.store.set(old, "x", nil)
    #expect(try migrated.store.value(old, "x") == nil)
    try migrated.migrate(
      to: four.next("6") {
        $0.attribute("Note", "x") {
          $0.type = .string
          $0.isOptional = true
          $0.defaultValue = nil
        }
      })
    try migrated.check("in the end")
  }

  @Test("an attribute that comes again has no values of the one that was")
  func comesAgain() throws {
    let x = AttributeDescription("x", .string)
    let migrated = try MigratedStore(Self.model("1", x))
    let id = try migrated.store.insert("Note", ["name": "n", "x": "old"])
    try migrated.migrate(to: Self.model("2"))
    try migrated.migrate(to: Self.model("3", x))
    #expect(try migrated.store.value(id, "x") == nil)
    #expect(try names(migrated.store, "x == 'old'").isEmpty)
    try migrated.migrate(to: Self.model("4"))
    try migrated.migrate(to: Self.model("5", .init("x", .string, default: "new")))
    #expect(try migrated.store.value(id, "x") == "new")
    try migrated.workOn(seed: 1, "came again")
    try migrated.deleteSnapshots("came again")
  }

  @Test("a text that says no number stops it, and the object is named")
  func texts() throws {
    let migrated = try MigratedStore(Self.model("1", .init("x", .string)))
    let good = try migrated.store.insert("Note", ["x": "-12"])
    let bad = try migrated.store.insert("Note", ["x": "twelve"])
    let none = try migrated.store.insert("Note")
    let before = try migrated.lines()
    let two = Self.model("2", .init("x", .integer32))
    migrated.store.close()
    let error = expectError(.notConvertible) { try migrated.test.migrate(to: two) }
    #expect(error?.property == "x" && error?.object == "Note/\(bad.serial)")
    try migrated.test.reopen()
    #expect(try migrated.lines() == before)
    try migrated.check("refused")
    #expect(try migrated.store.snapshots().isEmpty)
    try migrated.store.set(bad, "x", "13")
    try migrated.migrate(to: two)
    #expect(try migrated.store.value(good, "x") == -12 && migrated.store.value(bad, "x") == 13)
    #expect(try migrated.store.value(none, "x") == nil)
  }

  @Test(
    "texts become numbers, and only those that say one",
    arguments: [
      ("1", AttributeType.integer16, AttributeValue.integer(1)), ("40000", .integer16, nil), ("1.0", .integer16, nil),
      ("", .integer64, nil), (" 7 ", .integer64, .integer(7)), ("1 2", .integer64, nil), ("0x10", .integer64, nil),
      ("9223372036854775807", .integer64, .integer(.max)), ("9223372036854775808", .integer64, nil),
      ("1e3", .double, .double(1000)), ("nan", .integer32, nil), ("1,5", .double, nil),
      ("1.5", .decimal, .decimal(1.5)),
      ("1.5kg", .decimal, nil), ("--1", .decimal, nil), (".", .decimal, nil), ("e5", .decimal, nil),
    ] as [(String, AttributeType, AttributeValue?)])
  func text(_ text: String, _ type: AttributeType, _ value: AttributeValue?) throws {
    let migrated = try MigratedStore(Self.model("1", .init("x", .string)))
    let id = try migrated.store.insert("Note", ["x": .string(text)])
    migrated.store.close()
    let next = Self.model("2", .init("x", type))
    if value == nil {
      expectError(.notConvertible) { try migrated.test.migrate(to: next) }
      return try migrated.test.reopen()
    }
    try migrated.test.migrate(to: next)
    try migrated.test.reopen()
    #expect(try migrated.store.value(id, "x") == value)
  }

  @Test("a new constraint that objects break stops it")
  func constraint() throws {
    let migrated = try MigratedStore(Self.model("1"))
    try migrated.store.insert("Note", ["name": "a"])
    let second = try migrated.store.insert("Note", ["name": "a"])
    let two = Self.model("2").next("2") { $0["Note"].uniquenessConstraints = [["name"]] }
    migrated.store.close()
    expectError(.notUnique) { try migrated.test.migrate(to: two) }
    try migrated.test.reopen()
    try migrated.check("refused")
    try migrated.store.set(second, "name", "b")
    #expect(try migrated.migrate(to: two))
    #expect(throws: (any Error).self) { try migrated.store.set(second, "name", "a") }
  }

  @Test("the model that the store has already requires no work")
  func same() throws {
    let migrated = try MigratedStore(Self.model("1"))
    try migrated.store.insert("Note", ["name": "a"])
    let commit = try migrated.store.info().commit
    migrated.store.close()
    #expect(try migrated.test.planMigration(to: Self.model("1")).steps.isEmpty)
    let report = try migrated.test.migrate(to: Self.model("1"))
    #expect(report.snapshot == nil && report.rewrittenCount == 0)
    try migrated.test.reopen()
    #expect(try migrated.store.info().commit == commit)
  }

  @Test("names and URIs from before lead to the same objects, and never to others")
  func names() throws {
    let model = ManagedObjectModel("Names", version: "1") {
      EntityDescription("Above") { AttributeDescription("name", .string) }
      EntityDescription("Below") { AttributeDescription("name", .string) }
    }
    let migrated = try MigratedStore(model)
    let above = try migrated.store.insert("Above", count: 3)
    let below = try migrated.store.insert("Below", count: 5)
    try migrated.store.delete([above[1]])
    let uris = try migrated.store.read { tx in try (above.dropFirst(2) + below).map { try tx.uri(of: $0) } }
    try migrated.migrate(to: model.next("2") { $0["Below"].superentityName = "Above" })
    try migrated.store.read { tx in
      for uri in uris {
        let id = try tx.objectID(named: uri)
        #expect(try tx.exists(id))
        let entity = try tx.entityName(of: id)
        #expect(uri.contains("/\(entity)/"))
      }
    }
    for serial in [above[1].serial, below[3].serial, below[4].serial] {
      let found = try? migrated.store.read { tx in try tx.name(of: try tx.objectID(named: "Above/\(serial)")) }
      #expect(found == nil, "Above/\(serial) never was, or is deleted")
    }
  }
}
