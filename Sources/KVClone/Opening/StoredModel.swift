package import KVCloneCore
package import KVCloneModel
import KVCloneRecords

/// A model that a store had: it keeps all of them, for the records and snapshots of their time.
package struct StoredModel: Sendable {
  /// Ascending: a store is created with 1.
  package let number: Int
  package let model: ManagedObjectModel
  /// The names of the snapshots that are read with it.
  package let snapshots: [String]
}

extension StoredModel {
  /// Returns the models that a store had, from the earliest to the current one.
  ///
  /// Also models that differ in annotations or indexes only: those with equal hashes.
  ///
  /// - Parameter limit: the largest number of models; earlier ones are left out.
  package static func all(of store: ObjectStore, limit: Int = .max) throws(StoreError) -> [StoredModel] {
    let session = try store.readSession()
    let metadata = session.schema.tables.metadata
    let current = try StoreCatalog(session.storage, metadata)
    var snapshots: [UInt64: [String]] = [:]
    for (name, value) in try Snapshots.all(session.storage, session.schema.tables) where !value.isHidden {
      snapshots[UInt64(value.modelNumber), default: []].append(name)
    }
    var found: [StoredModel] = []
    for number in (1...max(1, current.number)).suffix(limit) {
      // A store that was copied object by object has the current model only.
      let catalog = number == current.number ? current : try? StoreCatalog(session.storage, metadata, number: number)
      guard let catalog else { continue }
      found.append(StoredModel(number: Int(number), model: catalog.model, snapshots: snapshots[number] ?? []))
    }
    return found
  }
}
