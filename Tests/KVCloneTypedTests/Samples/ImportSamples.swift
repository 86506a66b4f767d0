import Foundation
import KVClone

private func fromCoreData() throws {
  var options = CoreDataImportOptions()
  options.model = try ManagedObjectModel.load(contentsOf: "App.xcdatamodeld").model
  let report = try ObjectStore.importCoreData(from: "app/App.sqlite", to: "store", options: options)
  print(report.objectCount, "objects,", report.linkCount, "links")
  let store = try ObjectStore.open(at: "store")
  store.close()
}
