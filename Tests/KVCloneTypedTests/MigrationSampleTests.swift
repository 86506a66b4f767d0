import Foundation
import KVClone
import Testing

/// Runs the stage of the article on migration.
struct MigrationSampleTests {
  private static let shop1 = ManagedObjectModel("Shop", version: "Shop 1") {
    EntityDescription("Book") { AttributeDescription("title", .string) }
    EntityDescription("Draft") { AttributeDescription("text", .string) }
  }
  private static let shop2 = ManagedObjectModel("Shop", version: "Shop 2") {
    EntityDescription("Book") {
      AttributeDescription("title", .string)
      AttributeDescription("isbn", .string)
    }
    EntityDescription("Draft") { AttributeDescription("text", .string) }
  }
  private static let shop3 = ManagedObjectModel("Shop", version: "Shop 3") {
    EntityDescription("Book") {
      AttributeDescription("title", .string)
      AttributeDescription("isbn", .string, optional: false)
    }
    EntityDescription("Draft") { AttributeDescription("text", .string) }
  }
  private static let versions = [shop1, shop2, shop3]

  /// Calls `body` with the path of a store of the first version that contains books and drafts.
  private func withShop(_ body: (String) throws -> Void) throws {
    let folder = NSTemporaryDirectory() + "/kvclone-migration-" + UUID().uuidString
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let path = folder + "/shop.kvclone"
    let store = try ObjectStore.create(at: path, model: Self.shop1)
    try store.write { tx in
      for number in 1...5 { try tx.insert("Book", ["title": .string("Title \(number)")]) }
      try tx.insert("Draft", ["text": "unfinished"])
    }
    store.close()
    try body(path)
  }

  @Test func theStageSetsWhatBecomesRequired() throws {
    try withShop { path in
      let options = try stages(Self.versions)
      let plan = try ObjectStore.planMigration(at: path, to: Self.shop3, migration: options)
      #expect(plan.isPossible, "\(plan.errors)")
      let report = try ObjectStore.migrate(at: path, to: Self.shop3, migration: options)
      #expect(report.versions == ["Shop 1", "Shop 2", "Shop 3"])
      let store = try ObjectStore.open(at: path)
      defer { store.close() }
      let books = try store.read { tx in try tx.fetch(FetchRequest("Book")) }
      #expect(books.count == 5 && books.allSatisfy { $0["isbn"] == .string("isbn \($0.id.serial)") })
      #expect(try store.read { tx in try tx.count(entity: "Draft") } == 0)
      try checked(store)
    }
  }

  @Test func aLightweightStageRejectsTheStep() throws {
    try withShop { path in
      var options = try stages(Self.versions)
      options.stages.append(LightweightMigrationStage(["Shop 2", "Shop 3"]))
      expectError(.invalidStage) { try ObjectStore.migrate(at: path, to: Self.shop3, migration: options) }
    }
  }
}
