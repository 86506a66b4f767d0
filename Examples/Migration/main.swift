// Migrates a store at startup: opens it with the newest model, and lets the store apply every version in between.
//
//   swift run --package-path Examples Migration [STORE]

import Foundation
import KVClone

/// The versions of the model, oldest first. An app keeps them all, so that it opens stores of any age.
let versions = [
  ManagedObjectModel("Shop", version: "Shop 1") {
    EntityDescription("Product") {
      AttributeDescription("name", .string, optional: false)
      AttributeDescription("price", .double, optional: false, default: 0)
    }
  },
  ManagedObjectModel("Shop", version: "Shop 2") {
    EntityDescription("Product") {
      AttributeDescription("title", .string, optional: false, renamingIdentifier: "name")
      AttributeDescription("price", .double, optional: false, default: 0)
      AttributeDescription("code", .string)
    }
  },
  ManagedObjectModel("Shop", version: "Shop 3") {
    EntityDescription("Product", unique: [["code"]]) {
      AttributeDescription("title", .string, optional: false)
      AttributeDescription("price", .double, optional: false, default: 0)
      AttributeDescription("code", .string, optional: false)
    }
  },
]

/// Sets a code for every product, because the next version requires one. The step to that version needs no stage: the
/// store infers it after reading the objects. (A `LightweightMigrationStage` requires a step that reads no objects.)
let coding = CustomMigrationStage(
  migratingFrom: "Shop 1", to: "Shop 2",
  didMigrate: { manager in
    try manager.forEachObject(of: "Product", where: try QueryPredicate(format: "code == nil")) { tx, id in
      try tx.set(id, "code", "P-\(id.serial)")
    }
  })

func openStore(at path: String) throws -> ObjectStore {
  var options = StoreOptions()
  options.automaticMigration = MigrationOptions(versions: versions, stages: [coding])
  return try ObjectStore.open(at: path, model: versions.last, options: options)
}

let path = CommandLine.arguments.dropFirst().first ?? "shop.kvclone"
if !FileManager.default.fileExists(atPath: path) {
  let old = try ObjectStore.create(at: path, model: versions[0])
  try old.write { tx in
    for (name, price) in [("Tea", 4.5), ("Coffee", 7.25)] {
      try tx.insert("Product", ["name": name, "price": price])
    }
  }
  // Without migration options, a newer model is an error that lists the differences.
  do {
    old.close()
    _ = try ObjectStore.open(at: path, model: versions[2])
  } catch {
    print("refused: \(error)")
  }
}

let store = try openStore(at: path)
try store.read { tx in
  for product in try tx.fetch(FetchRequest("Product", sortDescriptors: [QuerySortDescriptor(key: "code")])) {
    let (code, title): (String, String) = (try product.decode("code"), try product.decode("title"))
    print("\(code): \(title)")
  }
}
print("snapshots taken before migrations:", try store.snapshots().filter(\.isAutomatic).count)
store.close()
