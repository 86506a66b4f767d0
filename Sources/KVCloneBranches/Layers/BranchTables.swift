package import KVCloneCore
package import KVCloneRecords

/// The tables of a store with branches that reading and writing a branch needs.
package struct BranchTables: Sendable {
  package let overlays: StorageTable
  package let branches: StorageTable
  let store: SchemaTables

  package var all: [StorageTable] { [overlays, branches] }

  private init(_ opened: [StorageTable], _ store: SchemaTables) {
    (overlays, branches) = (opened[0], opened[1])
    self.store = store
  }

  /// The tables of a store, as `table` opens them.
  package init(of store: SchemaTables, _ table: (TableCode) -> StorageTable) {
    self.init(TableCode.ofBranches.map(table), store)
  }

  /// Opens the tables before a transaction that reads all tables begins; see ``require(_:in:)``.
  package static func all(of engine: any StorageEngine, _ store: SchemaTables) throws(StoreError) -> [StorageTable] {
    try BranchTables(engine, store)?.all ?? []
  }

  /// Rejects a transaction that may not see all tables: the first branch was created between the opening of `tables` and
  /// its begin.
  package static func require(
    _ tables: [StorageTable], in storage: borrowing StorageTransaction, _ store: SchemaTables
  ) throws(StoreError) {
    guard tables.isEmpty, try Metadata.counter(storage, store.metadata, MetadataKey.layer) > 0 else { return }
    throw StoreError(.busy, "the first branch of the store has just been created; try again")
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
