package import KVCloneCore
package import KVCloneLMDB
package import KVCloneRecords
package import KVCloneTracing
import Synchronization

/// The engine of a branch: that of its store, with every transaction in front of the branch. Both share the write lock,
/// the commits, and everything else.
package final class BranchEngine: StorageEngine {
  /// The engine of the store.
  package let store: any StorageEngine
  package let name: String
  /// The number of the branch. Another branch may get its name after it is deleted.
  package let number: UInt32
  package let tables: BranchTables
  private let orderedLists: OrderedLists
  private let isClosed = Atomic(false)
  /// The view of the base, which changes only with the layer.
  private let known = Mutex<(layer: UInt32, horizon: SnapshotHorizon)?>(nil)

  package init(
    _ store: any StorageEngine, _ tables: BranchTables, name: String, number: UInt32, _ orderedLists: OrderedLists
  ) {
    self.store = store
    self.tables = tables
    self.name = name
    self.number = number
    self.orderedLists = orderedLists
  }

  package var spanTarget: SpanTarget { store.spanTarget }

  // MARK: Transactions

  package func beginRead() throws(StoreError) -> any StorageBackend {
    try begin { () throws(StoreError) in try store.beginRead() }
  }

  package func beginPinnedRead(owner: String) throws(StoreError) -> any StorageBackend {
    try begin { () throws(StoreError) in try store.beginPinnedRead(owner: owner) }
  }

  package func beginWrite(label: String, timeout: Duration, isDryRun: Bool) throws(StoreError) -> any StorageBackend {
    try begin { () throws(StoreError) in try store.beginWrite(label: label, timeout: timeout, isDryRun: isDryRun) }
  }

  private func begin(_ body: () throws(StoreError) -> any StorageBackend) throws(StoreError) -> any StorageBackend {
    if isClosed.load(ordering: .relaxed) {
      throw StoreError(.closed, "the branch \(name) was closed; open it again")
    }
    let inner = try body()
    do throws(StoreError) {
      let storage = StorageTransaction(lookingInto: inner)
      let record = try BranchRecords.existing(storage, tables, name, number: number)
      return BranchBackend(inner, tables, name: name, record, try horizon(record.present, storage))
    } catch {
      inner.abort()
      throw error
    }
  }

  /// The part of the store that the base of a layer can see.
  private func horizon(_ layer: BranchValue.Layer, _ storage: borrowing StorageTransaction) throws(StoreError)
    -> SnapshotHorizon
  {
    if let known = known.withLock({ $0 }), known.layer == layer.code { return known.horizon }
    let horizon = try BranchRecords.horizon(of: layer, branch: name, storage, tables, orderedLists)
    known.withLock { $0 = (layer.code, horizon) }
    return horizon
  }

  /// Ends the use of the branch. The engine of the store stays open.
  package func close() { isClosed.store(true, ordering: .relaxed) }

  // MARK: Of the store

  package func openTables(_ tables: [TableCode], create: Bool) throws(StoreError) -> [StorageTable] {
    try store.openTables(tables, create: create)
  }

  package func watchCommits(_ body: @escaping @Sendable () -> Void) -> (any CommitWatch)? { store.watchCommits(body) }

  package func readers() throws(StoreError) -> [StorageReader]? { try store.readers() }

  package func clearStaleReaders() throws(StoreError) -> Int { try store.clearStaleReaders() }

  package func writer() -> WriteLockHolder? { store.writer() }

  package func uploadLeases() throws(StoreError) -> (any UploadLeases)? { try store.uploadLeases() }

  package func facts() throws(StoreError) -> StorageFacts { try store.facts() }

  package var space: (any EngineSpace)? { store.space }

  package var files: (any EngineFiles)? { store.files }

  package var network: (any EngineNetwork)? { store.network }
}
