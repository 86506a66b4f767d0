import Foundation
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations
@testable import KVCloneQuery

/// Errors that plans must find although only the last step of the operation would detect them.
@Suite("Plans find what operations refuse")
struct PlanTests {
  private static func books(
    _ version: String, code: AttributeType = .string, unique: Bool = false, longest: AttributeValue? = nil,
    pages: Int = 0, owned: Bool = false
  ) -> ManagedObjectModel {
    ManagedObjectModel("Books", version: version) {
      EntityDescription("Shelf") {
        AttributeDescription("name", .string)
        RelationshipDescription("books", toMany: "Book", inverse: "shelf", deleteRule: .cascade)
      }
      EntityDescription("Book", unique: unique ? [["title"]] : []) {
        AttributeDescription("title", .string, optional: !owned, max: longest)
        AttributeDescription("code", code)
        RelationshipDescription("shelf", toOne: "Shelf", inverse: "books")
        RelationshipDescription("pages", toMany: "Page", inverse: "book", optional: pages == 0, min: pages)
        if owned { RelationshipDescription("owner", toOne: "Shelf", optional: false) }
      }
      EntityDescription("Page") { RelationshipDescription("book", toOne: "Book", inverse: "pages") }
    }
  }

  /// Inserts a shelf with `count` books.
  private func shelf(_ store: ObjectStore, _ count: Int, _ values: (Int) -> [String: AttributeValue?]) throws
    -> ObjectID
  {
    try store.write { tx in
      let shelf = try tx.insert("Shelf")
      for number in 0..<count { _ = try tx.insert("Book", values(number), relationships: ["shelf": [shelf]]) }
      return shelf
    }
  }

  @Test("a clone's plan counts every reason, and keeps the first 100")
  func everyReason() throws {
    let test = try TestStore(Self.books("1", unique: true))
    let shelf = try shelf(test.store, 150) { ["title": .string("title \($0)")] }
    let plan = try test.store.planClone([shelf])
    #expect(plan.errors.count == 100 && plan.errorCount == 150)
    #expect(plan.errors.allSatisfy { $0.kind == .uniquenessConflict })
    #expect(Set(plan.errors.compactMap(\.object)).count == 100)
    #expect(throws: CloneError.self) { _ = try test.store.clone([shelf]) }
  }

  @Test(
    "a clone into a store with a stricter model",
    arguments: [
      books("2", longest: .integer(3)), books("2", pages: 1), books("2", owned: true),
    ])
  func stricterModel(_ model: ManagedObjectModel) throws {
    let (test, other) = (try TestStore(Self.books("1")), try TestStore(model))
    let shelf = try shelf(test.store, 3) { ["title": $0 == 0 ? nil : .string("a title")] }
    let plan = try test.store.planClone([shelf], into: other.store)
    #expect(plan.errorCount > 0)
    #expect(plan.errors.allSatisfy { $0.entity == "Book" && $0.property != nil && $0.object != nil }, "\(plan.errors)")
    #expect(throws: CloneError.self) { _ = try test.store.clone([shelf], into: other.store) }
    #expect(try other.store.info().objectCount == 0)
    // Values that the destination allows are planned and cloned.
    try other.reopen()
    let fits = try TestStore(Self.books("1"))
    #expect(try test.store.planClone([shelf], into: fits.store).errors.isEmpty)
    #expect(try test.store.clone([shelf], into: fits.store).objectCount == 4)
  }

  @Test("a clone of a snapshot with values that are older than the model's rules")
  func olderValues() throws {
    let test = try TestStore(Self.books("1"))
    let shelf = try shelf(test.store, 2) { _ in ["title": "a long title"] }
    test.store.close()
    try test.migrate(to: Self.books("2", longest: .integer(3)))
    try test.reopen()
    let snapshot = try test.store.createSnapshot(named: "after")
    let plan = try test.store.planClone([shelf], from: snapshot)
    #expect(plan.errors.map(\.kind) == [.invalidValue, .invalidValue])
    #expect(throws: CloneError.self) { _ = try test.store.clone([shelf], from: snapshot) }
    try checked(test.store)
  }

  @Test(
    "a migration's plan lists conversions and equal values together, and does not grow the file", .needsDataFile(.sizes)
  )
  func migration() throws {
    var options = StoreOptions()
    options.spillBudget = 1 << 16
    let test = try TestStore(Self.books("1"), options: options)
    _ = try shelf(test.store, 3000) { ["title": .string("title \($0 / 2)"), "code": $0 % 1000 == 7 ? "male" : "12"] }
    test.store.close()
    let data = test.path + "/data.mdb"
    let length = try FileManager.default.attributesOfItem(atPath: data)[.size] as? Int
    let model = Self.books("2", code: .integer32, unique: true)
    let plan = try test.planMigration(to: model, options: options)
    #expect(plan.errorCount == 3 + 1500 && plan.errors.count == 100 && plan.report == nil)
    #expect(
      plan.errors.prefix(4).map(\.kindName) == ["notConvertible", "notConvertible", "notConvertible", "notUnique"])
    #expect(plan.errors.allSatisfy { $0.entity == "Book" && $0.object?.hasPrefix("Book/") == true })
    #expect(try FileManager.default.attributesOfItem(atPath: data)[.size] as? Int == length)
    expectError(.notConvertible) { try test.migrate(to: model, options: options) }
    let other = Self.books("3", code: .integer32)
    try test.reopen(options: options)
    try test.store.write { tx in
      for id in try tx.fetchIDs(FetchRequest("Book")) { try tx.set(id, "code", "12") }
    }
    test.store.close()
    let possible = try test.planMigration(to: other, options: options)
    let report = try test.migrate(to: other, options: options)
    #expect(possible.isPossible && possible.report?.rewrittenCount == report.rewrittenCount)
    #expect(possible.byteCount == report.byteCount && report.byteCount > 0)
    try test.reopen(options: options)
    try checked(test.store)
  }

  @Test("objects that a mapping model leaves out are deleted, and the plan and the report say so")
  func leftOut() throws {
    let test = try TestStore(Self.books("1"))
    _ = try shelf(test.store, 3) { ["title": .string("title \($0)")] }
    test.store.close()
    let mapping = MappingModel([EntityMapping(from: "Shelf", to: "Shelf")])
    let migration = MigrationOptions(mappings: [mapping])
    let model = Self.books("2", code: .integer32)
    let plan = try test.planMigration(to: model, migration: migration)
    #expect(plan.isPossible && plan.report?.deletedCount == 3 && plan.report?.createdCount == 1)
    #expect(plan.steps.flatMap(\.removals).map { "\($0.entity) \($0.objectCount)" } == ["Book 3"])
    #expect(try test.migrate(to: model, migration: migration).deletedCount == 3)
    try test.reopen()
    #expect(try test.store.info().objectCount == 1)
    try checked(test.store)
  }

  @Test("a dry run cannot be committed")
  func dryRun() throws {
    let test = try TestStore(Self.books("1"))
    let reasons = PlanReasons()
    try test.store.runWrite(label: "plan", timeout: nil, dryRun: reasons) { tx in _ = try tx.insert("Shelf") }
    let count = try test.store.info().objectCount
    #expect(reasons.isEmpty && count == 0)
    let id = try test.store.insert("Shelf")
    #expect(id.serial == 1)
  }
}
