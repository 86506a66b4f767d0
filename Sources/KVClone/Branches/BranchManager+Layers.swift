import KVCloneBranches
package import KVCloneCore
import KVCloneLMDB
import KVCloneModel
package import KVCloneRecords

/// Writes on branches, and moves their bases, in a write transaction of the store.
extension BranchManager {
  /// Runs `body` with a session on a branch, in the transaction of the store. Its changes are those of the branch; both
  /// sides have the same commit.
  ///
  /// The caller calls hooks and validates. The history has one entry per commit, so only one call of a transaction may
  /// change objects. After an error of `body` that follows its first change, the transaction of
  /// the store is abort-only.
  ///
  /// - Throws: `branchNotFound`; errors of `body`.
  package mutating func write<R>(onBranch name: String, _ body: (inout Session) throws -> R) throws -> R {
    try session.settle()
    let tables = try BranchTables(creatingIn: &session.storage, session.schema.tables)
    let record = try BranchRecords.existing(session.storage, tables, name)
    return try write(to: try view(of: record, name, tables), body)
  }

  /// Runs `body` with a session on a layer of a branch.
  mutating func write<R>(to layer: BranchBackend, _ body: (inout Session) throws -> R) throws -> R {
    var own = session.context.session(
      StorageTransaction(lookingInto: layer), session.schema, commit: session.commit)
    try own.beginWrite(author: session.state.author)
    own.state.operation = session.state.operation
    // One sequence of serials for both.
    own.changes.nextSerials = session.changes.nextSerials
    own.changes.nextBlobSerial = session.changes.nextBlobSerial
    defer {
      session.changes.nextSerials = own.changes.nextSerials
      session.changes.nextBlobSerial = own.changes.nextBlobSerial
    }
    do {
      let result = try body(&own)
      if let failure = own.changes.failure { throw failure }
      try own.settle()
      try DerivedRefresh.refreshAll(in: &own)
      try HistoryWriter.finish(in: &own)
      try StoreLimits.check(in: own)
      try own.storage.recorder?.flush()
      let isChanged = layer.isChanged || own.storage.changeCount > 0
      try layer.writeRecord(commit: session.commit)
      if isChanged { session.changes.isEmpty = false }
      return result
    } catch {
      if own.storage.changeCount > 0 { session.changes.fail(error) }
      throw error
    }
  }

  // MARK: Moving the base

  /// Makes the present state of the store the base of a branch, which then has no changes of its own.
  ///
  /// Its earlier layer is deleted, or stays as long as the branch has snapshots of it.
  ///
  /// - Returns: the record of the branch.
  /// - Throws: `branchNotFound` and other errors of a write transaction.
  @discardableResult
  package mutating func rebaseEmpty(_ name: String) throws(StoreError) -> BranchValue {
    try rebase(name) { (_, _, _, _) in }
  }

  /// Makes the present state of the store the base of a branch, which shows the same as before: its new layer has what
  /// differs from the store.
  ///
  /// The time depends on the changes of both sides since the earlier base. Records that differ only in their commit are
  /// equal.
  ///
  /// - Returns: the record of the branch.
  /// - Throws: `branchNotFound` and other errors of a write transaction.
  @discardableResult
  package mutating func rebaseKeepingChanges(_ name: String) throws(StoreError) -> BranchValue {
    try rebase(name) { (session, old, target, base) throws(StoreError) in
      var filling = LayerFilling(old.backend, into: target, session)
      let storage = StorageTransaction(lookingInto: Self.engine(of: session))
      try LayerKeys(old.tables, layer: old.layer.code).forEach(in: storage) { (table, key) throws(StoreError) in
        try filling.copy(table, key)
      }
      try PreimageKeyList.forEachKey(in: old.layer.baseEpoch..<base, session) { (table, key) throws(StoreError) in
        try filling.copy(table, key)
      }
      let since = try Snapshots.existing(
        session.storage, session.schema.tables, old.layer.baseName, epoch: old.layer.baseEpoch)
      var born: [(table: TableCode, key: [UInt8])] = []
      try BornEntries(since: since, session.schema).forEach(in: session) { (table, key, _) throws(StoreError) in
        if try filling.differs(table, key) { born.append((table.code, Array(key))) }
      }
      for (table, key) in born { try filling.copy(table, key) }
      try filling.finish()
    }
  }

  /// The layer that a branch had before.
  private typealias OldLayer = (backend: BranchBackend, layer: BranchValue.Layer, tables: BranchTables)

  /// Replaces the layer of a branch by one over the present state of the store.
  ///
  /// - Parameter fill: writes the entries of the new layer; gets the epoch of its base.
  private mutating func rebase(
    _ name: String,
    _ fill: (borrowing Session, OldLayer, BranchBackend, UInt64) throws(StoreError) -> Void
  ) throws(StoreError) -> BranchValue {
    try session.settle()
    let tables = try BranchTables(creatingIn: &session.storage, session.schema.tables)
    let old = try BranchRecords.existing(session.storage, tables, name)
    let code = try nextNumbers(1)
    let (base, counts) = try makeBase(nil, layer: code)
    let layer = BranchValue.Layer(code: code, baseEpoch: base.value.epoch, baseName: base.name)
    return try replaceLayer(of: name, old, tables, with: layer, counts) {
      (session, backend, target) throws(StoreError) in
      try fill(session, (backend, old.present, tables), target, base.value.epoch)
    }
  }

  /// Replaces the present layer of a branch, which is deleted, or stays as long as the branch has snapshots of it. Its
  /// drafts end: the new layer does not have what their bases need.
  ///
  /// - Parameters:
  ///   - counts: the numbers of objects of the base of the new layer.
  ///   - fill: writes the entries of the new layer; gets the present view of the branch, and the new one.
  mutating func replaceLayer(
    of name: String, _ old: BranchValue, _ tables: BranchTables, with layer: BranchValue.Layer,
    _ counts: [BranchValue.ObjectCount],
    _ fill: (borrowing Session, BranchBackend, BranchBackend) throws(StoreError) -> Void
  ) throws(StoreError) -> BranchValue {
    try session.storage.recorder?.flush()
    let old = try endDrafts(of: name, old, tables)
    var new = BranchValue(
      number: old.number, created: old.created, expires: old.expires, lastCommit: session.commit, layers: old.layers,
      objectCounts: counts)
    let isKept = try LayerKeys(tables, layer: old.present.code).hasSnapshots(
      in: StorageTransaction(lookingInto: Self.engine(of: session)))
    if !isKept { new.layers.removeLast() }
    new.layers.append(layer)
    let target = try view(of: new, name, tables)
    try fill(session, try view(of: old, name, tables), target)
    // Before the old layer is deleted: blobs that the new one describes stay.
    try BranchRecords.put(target.record, name, tables, in: &session.storage)
    if !isKept { try drop(old.present, tables) }
    session.changes.isEmpty = false
    return target.record
  }

  /// Deletes the bases of the drafts of a branch, and returns its record: an earlier layer has none, or it would stay
  /// for ever.
  private mutating func endDrafts(of name: String, _ record: BranchValue, _ tables: BranchTables) throws(StoreError)
    -> BranchValue
  {
    let layer = try view(of: record, name, tables)
    var branch = session.context.session(
      StorageTransaction(lookingInto: layer), session.schema, commit: session.commit)
    let bases = try Snapshots.all(branch.storage, branch.schema.tables).filter(\.value.isDraft).map(\.name)
    if bases.isEmpty { return record }
    try branch.storage.record(branch.schema, commit: branch.commit)
    try SnapshotManager.own(&branch) { (snapshots) throws(StoreError) in
      for base in bases { try snapshots.deleteBase(base) }
    }
    try branch.storage.recorder?.flush()
    return layer.record
  }

  // MARK: Views

  /// The transaction without recording for the store's snapshots.
  static func engine(of session: borrowing Session) -> any StorageBackend {
    session.storage.recorder?.inner ?? session.storage.backend
  }

  /// The view of the last layer of a branch in this transaction. The store must not change while it is used.
  func view(
    of record: BranchValue, _ name: String, _ tables: BranchTables, isFrozen: Bool = false
  ) throws(StoreError) -> BranchBackend {
    let horizon = try BranchRecords.horizon(
      of: record.present, branch: name, session.storage, tables, session.schema.orderedLists)
    return BranchBackend(
      Self.engine(of: session), tables, name: name, record, horizon, isFrozen: isFrozen)
  }
}
