import Foundation
import KVClone
import KVCloneOperations

private func fromCoreData() throws {
  var options = CoreDataImportOptions()
  options.model = try ManagedObjectModel.load(contentsOf: "App.xcdatamodeld").model
  let report = try ObjectStore.importCoreData(from: "app/App.sqlite", to: "store", options: options)
  print(report.objectCount, "objects,", report.linkCount, "links")
  let store = try ObjectStore.open(at: "store")
  store.close()
}

private func transactions(_ store: ObjectStore, _ note: ObjectID, _ milk: ObjectID) throws {
  let title = try store.read { tx in try tx.object(note)["title"] }
  try store.write { tx in
    try tx.set(note, "title", "Groceries")
    try tx.link(note, "items", [milk])
  }
  _ = title
}
