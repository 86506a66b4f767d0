#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import KVCloneBranches
import KVCloneCore
import KVCloneRecords

/// Updates the fetch indexes of a store to those of its model when it is opened for writing.
enum ModelAdoption {
  /// Returns the new catalog of the store, with its model and that model's fetch indexes.
  ///
  /// A corrupted record prevents the creation of an index, but not the opening of the store: it then opens without the
  /// new indexes, and the next opening tries again.
  static func update(
    _ catalog: StoreCatalog, replacing stored: StoreCatalog, _ engine: any StorageEngine, _ tables: SchemaTables,
    _ format: FormatRecord, _ options: StoreOptions
  ) throws(StoreError) -> StoreCatalog {
    for addsIndexes in [true, false] {
      guard let successor = try catalog.succeeding(stored, addsIndexes: addsIndexes) else { return stored }
      do throws(StoreError) {
        try retryIfMapFull { () throws(StoreError) in
          try write(successor, replacing: stored, engine, tables, format, options)
        }
        return successor
      } catch {
        guard error.kind == .corrupted, addsIndexes else { throw error }
        options.logger?.error("new fetch indexes could not be built and are not used: \(error.message)")
      }
    }
    return stored
  }

  /// Makes `catalog` the store's: writes the model, builds new indexes, and drops those that the model no longer has,
  /// all in one write transaction.
  private static func write(
    _ catalog: StoreCatalog, replacing stored: StoreCatalog, _ engine: any StorageEngine, _ tables: SchemaTables,
    _ format: FormatRecord, _ options: StoreOptions
  ) throws(StoreError) {
    var storage = StorageTransaction(try engine.beginWrite(label: "adopt model", timeout: options.busyTimeout))
    let present = try StoreCatalog(storage, tables.metadata)
    guard present.number == stored.number else {
      throw StoreError(.busy, "another process changed the model of the store during opening; open it again")
    }
    guard let code = UInt16(exactly: catalog.number) else {
      throw StoreError(
        .limitExceeded,
        "the store has stored 65,535 model versions, the maximum; dump it, and load the dump into a new store")
    }
    // Branches keep values of the earlier expressions.
    if catalog.model.derivations.fingerprint != stored.model.derivations.fingerprint {
      let branches = try BranchRecords.names(in: &storage, tables)
      if !branches.isEmpty { throw .branches(branches, prevent: "the new expression of a derived attribute") }
    }
    let schema = try Schema(catalog, tables: tables)
    let commit = try Metadata.counter(storage, tables.metadata, MetadataKey.commitCounter)
    let (old, new) = (stored.codes.fetchIndexIDs, catalog.codes.fetchIndexIDs)
    try storage.record(schema, commit: commit + 1, droppedIndexes: old.subtracting(new))
    var session = StoreContext(uuid: format.storeUUID, engine: engine).session(storage, schema, commit: commit + 1)
    try IndexBuilder.writeCatalog(catalog, code, after: stored, in: &session)
    for id in old.subtracting(new).sorted() { try IndexBuilder.drop(id, in: &session) }
    try BranchIndexes.drop(old.subtracting(new), in: &session)
    try IndexBuilder.build(new.subtracting(old), in: &session)
    try session.writeCounters()
    try session.commitStorage()
  }
}
