package import KVCloneCore
package import KVCloneRecords

/// The tables of a store with branches that reading and writing a branch needs.
package struct BranchTables: Sendable {
  package let overlays: StorageTable
  package let branches: StorageTable
  let store: SchemaTables

  private init(_ opened: [StorageTable], _ store: SchemaTables) {
    (overlays, branches) = (opened[0], opened[1])
    self.store = store
  }

  /// The tables of a store, as `table` opens them.
  package init(of store: SchemaTables, _ table: (TableCode) -> StorageTable) {
    self.init(TableCode.ofBranches.map(table), store)
  }

  /// Opens the tables in a write transaction, and creates them for the first branch of a store.
  package init(creatingIn storage: inout StorageTransaction, _ store: SchemaTables) throws(StoreError) {
    self.init(try storage.makeTables(TableCode.ofBranches), store)
  }

  /// Opens the tables; nil if the store never had a branch. Not called within a write transaction.
  package init?(_ engine: any StorageEngine, _ store: SchemaTables) throws(StoreError) {
    let storage = StorageTransaction(try engine.beginRead())
    if try Metadata.counter(storage, store.metadata, MetadataKey.layer) == 0 { return nil }
    _ = consume storage
    self.init(try engine.openTables(TableCode.ofBranches, create: false), store)
  }
}
