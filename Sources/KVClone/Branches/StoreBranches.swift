#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif
import KVCloneBranches
public import KVCloneCore
import KVCloneRecords

/// The branches of a store: writable views of its state at one time, each an ``ObjectStore``.
///
/// ```swift
/// let spring = try store.branches.create("spring-prices")
/// try draft.write { tx in try tx.set(article, ["price": 12]) }
/// ```
///
/// Changes of a branch are visible on it only, and later changes elsewhere are not visible on it. A branch shares the
/// file, the write lock, the hooks and the model of its store. `KVCloneMerge` adds merges in both directions
/// (<doc:Merging>).
public struct StoreBranches: Sendable {
  package let store: ObjectStore

  init(_ store: ObjectStore) { self.store = store }

  /// Creates a branch, and returns it. It writes a few small records, regardless of the size of the store.
  ///
  /// Its base, which is the present state or the named snapshot, is retained as long as the branch exists: afterwards,
  /// the first change of each entry of the store also writes its preimage.
  ///
  /// - Parameters:
  ///   - name: 1 to 128 characters from `A-Z`, `a-z`, `0-9`, `.`, `_` and `-`.
  ///   - snapshot: the snapshot to begin from; nil for the present state. It cannot be deleted before the branch.
  ///   - expires: the time after which the app may delete the branch; nil for no expiry. The store does not delete it.
  /// - Throws: `branchExists`, `invalidBranchName`, `snapshotNotFound`, also for a snapshot of a branch;
  ///   `incompatibleModel` for a snapshot of another model version; `unsupportedOnBranch` for a snapshot that was
  ///   created within a transaction with changes, and on a branch; `busy`, `diskFull` and other errors of a write
  ///   transaction.
  @available(*, noasync, message: "use the asynchronous form")
  @discardableResult
  public func create(_ name: String, from snapshot: Snapshot? = nil, expiresAt expires: Date? = nil) throws
    -> ObjectStore
  {
    try make(name, snapshot, expires)
  }

  /// Creates a branch from asynchronous code.
  @discardableResult
  public func create(_ name: String, from snapshot: Snapshot? = nil, expiresAt expires: Date? = nil) async throws
    -> ObjectStore
  {
    try await store.onWriterQueue { try make(name, snapshot, expires) }
  }

  /// Returns a branch. All callers in a process get the same instance, which closes with the store and keeps it alive.
  ///
  /// - Throws: `branchNotFound`; `unsupportedOnBranch` on a branch.
  public func open(_ name: String) throws(StoreError) -> ObjectStore {
    let tables = try existingTables(name)
    let session = try store.readSession()
    return try open(name, try BranchRecords.existing(session.storage, tables, name), tables)
  }

  /// Returns the descriptions of all branches, in the order of creation.
  ///
  /// - Throws: `unsupportedOnBranch` on a branch.
  public func list() throws(StoreError) -> [BranchInfo] {
    try requireStore()
    guard let tables = try tables() else { return [] }
    let session = try store.readSession()
    return try BranchRecords.all(session.storage, tables).map { BranchInfo($0.name, $0.value) }
  }

  /// Returns the size of what only the bases of a branch retain, in bytes: preimages and blobs. Snapshots of the branch
  /// keep the base that it had before a merge or a reset.
  ///
  /// The duration depends on the changes of the store since the base.
  ///
  /// - Throws: `branchNotFound`, `corrupted`; `unsupportedOnBranch` on a branch.
  public func retainedBytes(of name: String) throws(StoreError) -> UInt64 {
    try retainedBytes(of: name, isCancelled: { false })
  }

  /// Counts the retained bytes; throws `cancelled` once `isCancelled` returns true.
  package func retainedBytes(of name: String, isCancelled: () -> Bool) throws(StoreError) -> UInt64 {
    let tables = try existingTables(name)
    let session = try store.readSession()
    let layers = try BranchRecords.existing(session.storage, tables, name).layers
    for layer in layers {
      _ = try Snapshots.existing(session.storage, store.schema.tables, layer.baseName, epoch: layer.baseEpoch)
    }
    let all = try Snapshots.all(session.storage, store.schema.tables).map(\.value)
    return try PreimageSweeper(session).retainedByteCount(
      of: Set(layers.map(\.baseEpoch)), among: all, isCancelled: isCancelled)
  }

  /// Returns the hidden snapshots that are bases of branches or drafts, in the order of creation. They cannot be
  /// deleted by name. On a branch, returns the bases of its drafts.
  ///
  /// - Throws: `corrupted`.
  public func bases() throws(StoreError) -> [SnapshotInfo] { try StoreSnapshots(store).bases() }

  /// Deletes a branch with everything that was written on it. Later transactions on it throw `branchNotFound`.
  ///
  /// Time and space depend on what the branch wrote, and on what only its base retains.
  ///
  /// - Throws: `branchNotFound`, `busy`, `diskFull` and other errors of a write transaction; `unsupportedOnBranch` on a
  ///   branch.
  @available(*, noasync, message: "use the asynchronous form")
  public func delete(_ name: String) throws { try remove(name) }

  /// Deletes a branch from asynchronous code.
  public func delete(_ name: String) async throws { try await store.onWriterQueue { try remove(name) } }

  // MARK: Inside the library

  private func make(_ name: String, _ snapshot: Snapshot?, _ expires: Date?) throws -> ObjectStore {
    try requireStore()
    if let snapshot { try StoreSnapshots(store).requireOwn(snapshot) }
    let (record, tables) = try change { (manager) throws(StoreError) in
      try manager.create(name, from: snapshot, expires: expires)
    }
    store.resource(OpenBranches.self).note(tables)
    return try open(name, record, tables)
  }

  private func remove(_ name: String) throws {
    _ = try existingTables(name)
    try change { (manager) throws(StoreError) in
      manager.session.storage.markDeleteOnly()
      try manager.delete(name)
    }
  }

  private func change<R>(_ body: (inout BranchManager) throws(StoreError) -> R) throws -> R {
    try retryIfMapFull {
      try store.runWrite(label: "branch", timeout: nil) { tx in try BranchManager.change(in: &tx, body) }
    }
  }

  package func existingTables(_ name: String) throws(StoreError) -> BranchTables {
    try requireStore()
    guard let tables = try tables() else { throw BranchRecords.notFound(name) }
    return tables
  }

  /// The tables of branches, which stay open; nil if the store never had one.
  package func tables() throws(StoreError) -> BranchTables? {
    try store.resource(OpenBranches.self).tables { () throws(StoreError) in
      try BranchTables(store.engine, store.schema.tables)
    }
  }

  /// A branch has no branches of its own.
  private func requireStore() throws(StoreError) { try store.engine.requireStore(for: "the list of branches") }

  private func open(_ name: String, _ record: BranchValue, _ tables: BranchTables) throws(StoreError) -> ObjectStore {
    try store.resource(OpenBranches.self).branch(record.number) { () throws(StoreError) in
      let engine = BranchEngine(
        store.engine, tables, name: name, number: record.number, store.schema.orderedLists)
      return ObjectStore(
        path: store.path, uuid: store.uuid, options: store.options, engine: engine, schema: store.schema,
        formatVersion: store.formatVersion,
        resources: [PinnedSnapshots(limit: store.options.pinnedSnapshotLimits(of: store.engine).limit)],
        branchOf: store)
    }
  }
}
