package import KVClone
package import KVCloneBranches
package import KVCloneCore
import KVCloneRecords

/// A store in an engine of any kind, for tests of branches.
package final class BranchFixture {
  package let store: ObjectStore
  private let storage: StorageFixture

  package init(_ kind: StorageKind, model: ManagedObjectModel = snapshotModel) throws {
    storage = try StorageFixture(kind)
    store = try ObjectStore.create(in: storage.engine, model: model)
  }

  deinit { store.close() }

  /// The tables of branches; nil if the store never had one.
  package func tables() throws -> BranchTables? { try BranchTables(store.engine, store.schema.tables) }

  /// The numbers of entries that branches, snapshots and blobs left.
  package func remains() throws -> [String: UInt64] {
    let session = try store.readSession()
    let tables = session.schema.tables
    var all = [
      "preimages": tables.preimages, "snapshots": tables.snapshots, "blobs": tables.blobs, "blobinfo": tables.blobinfo,
    ]
    if let own = try self.tables() { (all["overlays"], all["branches"]) = (own.overlays, own.branches) }
    var counts: [String: UInt64] = [:]
    for (name, table) in all {
      let count = try session.storage.entryCount(table)
      if count > 0 { counts[name] = count }
    }
    return counts
  }
}
