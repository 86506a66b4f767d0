import Foundation
import KVClone

private func migrate(_ path: String) throws {
  let versions = try ManagedObjectModel.loadVersions(contentsOf: "Notes.xcdatamodeld").map(\.model)
  let wanted = try ManagedObjectModel.load(contentsOf: "Notes.xcdatamodeld").model
  let plan = try ObjectStore.planMigration(at: path, to: wanted, migration: MigrationOptions(versions: versions))
  guard plan.isPossible else { fatalError("\(plan.errors)") }
  let report = try ObjectStore.migrate(at: path, to: wanted, migration: MigrationOptions(versions: versions))
  _ = report
}

private func number(of book: ManagedObject) throws -> String { "isbn \(book.id.serial)" }

/// The options of the article's stage, which `MigrationSampleTests` runs.
func stages(_ versions: [ManagedObjectModel]) throws -> MigrationOptions {
  let numbering = CustomMigrationStage(
    migratingFrom: "Shop 1", to: "Shop 2",
    willMigrate: { manager in
      try manager.write { tx in _ = try tx.batchDelete(FetchRequest("Draft")) }
    },
    didMigrate: { manager in
      try manager.forEachObject(of: "Book", where: try QueryPredicate(format: "isbn == nil")) { tx, id in
        try tx.set(id, "isbn", .string(try number(of: tx.object(id))))
      }
    })
  let options = MigrationOptions(versions: versions, stages: [numbering])
  return options
}

private struct SplitNames: EntityMigrationPolicy {}

private func mapping() throws {
  let mapping = MappingModel([
    EntityMapping(from: "Author", to: "Writer", policy: "SplitNames"),
    EntityMapping(
      from: "Book", to: "Volume",
      attributes: [
        PropertyMapping("heading", .source("title")), try PropertyMapping("cents", format: "$source.price * 100"),
      ],
      relationships: [
        PropertyMapping("writer", .destinationInstances(mapping: "AuthorToWriter", of: .source("author")))
      ]),
  ])
  let options = MigrationOptions(mappings: [mapping], policies: ["SplitNames": SplitNames()])
  _ = options
}
