import KVCloneCore
import KVCloneRecords
import Synchronization

/// The schemas for reading the snapshots of a store: each of the model version that the snapshot was created with.
final class SnapshotSchemas: Attachment {
  private struct Key: Hashable {
    let model: UInt64
    /// The store's current model, which determines the indexes that still exist.
    let current: UInt64
  }

  private let known = Mutex<[Key: Schema]>([:])

  /// Returns the schema of a snapshot, in a transaction that sees it.
  ///
  /// - Parameter schema: the schema of the store.
  func schema(
    of snapshot: SnapshotValue, _ storage: borrowing StorageTransaction, _ schema: Schema
  ) throws(StoreError) -> Schema {
    let current = try Metadata.counter(storage, schema.tables.metadata, MetadataKey.catalog)
    let key = Key(model: UInt64(snapshot.modelNumber), current: current)
    if let found = known.withLock({ $0[key] }) { return found }
    var catalog = try StoreCatalog(storage, schema.tables.metadata, number: key.model)
    if key.model != current {
      let now = try StoreCatalog(storage, schema.tables.metadata)
      catalog.forgetIndexes(missingIn: now)
    }
    let compiled = try Schema(catalog, tables: schema.tables, transformers: schema.transformers)
    known.withLock { known in
      // A store has one current model, and snapshots of a few earlier ones.
      known = known.filter { $0.key.current == current }
      known[key] = compiled
    }
    return compiled
  }
}
