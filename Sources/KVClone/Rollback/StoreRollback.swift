import KVCloneBranches
import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// Rolls a whole store back: deletes newer objects by the ordinary deletion, which also removes the links to them; then
/// restores the preimage of every key byte for byte.
struct StoreRollback: ~Copyable, SessionOwner {
  private var session: Session

  init(_ session: consuming Session) {
    self.session = session
  }

  consuming func finish() -> Session { session }

  /// Returns the objects of a root entity that were created after a snapshot.
  private borrowing func objects(since horizon: SnapshotHorizon) throws(StoreError) -> ObjectSet {
    var found = ObjectSet()
    let schema = session.schema
    for rootCode in schema.rootCodes {
      guard let table = schema.objectTable(rootCode: rootCode) else { continue }
      let first = ShortKey.object(horizon.firstLater(rootCode: rootCode))
      try session.storage.scanToEnd(of: table, from: first.bytes) { (key, _) throws(StoreError) in
        _ = found.insert(try schema.objectID(key))
        return true
      }
    }
    return found
  }

  /// Restores the content of a snapshot, in a transaction that has created the snapshot `automatic` and nothing else.
  ///
  /// - Parameter past: the schema of the snapshot.
  /// - Returns: the objects that differ between the two snapshots.
  mutating func run(
    to snapshot: SnapshotValue, _ past: Schema, _ automatic: SnapshotValue
  ) throws(StoreError) -> RollbackTally {
    let horizon = SnapshotHorizon(snapshot, session.schema.orderedLists)
    let born = try objects(since: horizon)
    var run = RollbackRun(horizon, snapshot, session.schema)
    _ = try ObjectDeletion.deleteAll(born, in: &session)
    guard let recorder = session.storage.recorder else { return RollbackTally() }
    try recorder.flush()
    // A view of the same transaction: its content stays the same, because writes save preimages first.
    let then = StorageTransaction(
      SnapshotBackend(recorder.inner, preimages: session.schema.tables.preimages, horizon, isWritten: true))
    var windows = ReadWindows(session.storage)
    var next: SavedKeysKey? = SavedKeysKey(epoch: snapshot.epoch, commit: 0, part: 0)
    while let start = next, let list = try PreimageKeyList(session, from: start, before: .max) {
      for (table, key) in list.keys {
        // Later lists are those of this transaction.
        if list.place.epoch < automatic.epoch { run.changes.note(table, key) }
        windows.next()
        try restore(table, key, then, &run)
      }
      next = list.place.following
    }
    session.state.history?.noteRecreated(run.recreated)
    try noteRestoredLists(&run)
    session.changes.isEmpty = false
    session.changes.inserted = run.recreated
    session.changes.updated = run.updated
    session.changes.derived.removeAll()
    run.changes.sortChunks()
    var tally = try tally(run.changes, recorder, since: past, SnapshotHorizon(automatic, session.schema.orderedLists))
    tally.deletedCount += born.count
    tally.replacedByteCount = recorder.savedByteCount
    return tally
  }

  /// Counts the objects that differ between a snapshot and the state before the rollback, by their values: a record or
  /// a list can have other bytes and the same content.
  ///
  /// This compares objects after their keys were restored, because the chunks of a list are saved at different times,
  /// and because deleting later objects has removed the links to them.
  ///
  /// - Parameter before: the snapshot of the state before the rollback.
  private borrowing func tally(
    _ changes: SnapshotComparison.Changes, _ recorder: PreimageRecorder, since past: Schema, _ before: SnapshotHorizon
  ) throws(StoreError) -> RollbackTally {
    let context = StoreContext(uuid: session.storeUUID)
    let preimages = session.schema.tables.preimages
    let then = context.session(SnapshotBackend(recorder.inner, preimages: preimages, changes.horizon), past)
    let now = context.session(SnapshotBackend(recorder.inner, preimages: preimages, before), session.schema)
    var tally = RollbackTally()
    // Both read in the transaction of the rollback.
    var windows = ReadWindows(now.storage)
    for rootCode in session.schema.rootCodes {
      var next = changes.objects.set(rootCode: rootCode)?.next(from: 0)
      while let serial = next {
        windows.next()
        let id = ObjectID(rootCode: rootCode, serial: serial)
        if let difference = try SnapshotComparison.difference(id, then, now, changes) { tally.note(difference) }
        next = changes.objects.set(rootCode: rootCode)?.next(from: serial + 1)
      }
    }
    return tally
  }

  /// Finishes the rollback after all keys are restored. The restored state was valid before, including derived values
  /// unless their expressions have changed since, so no hooks are called.
  mutating func end(from past: Schema) throws(StoreError) {
    if past.derivations.fingerprint != session.schema.derivations.fingerprint {
      try DerivedRefresh.noteAll(in: &session)
      try DerivedRefresh.refreshAll(in: &session)
    }
    session.changes.inserted = ObjectSet()
    session.changes.updated = ObjectSet()
  }

  /// Records the restored lists of objects that existed all the time in the history.
  private mutating func noteRestoredLists(_ run: inout RollbackRun) throws(StoreError) {
    var windows = ReadWindows(session.storage)
    for (code, owners) in run.lists.sorted(by: { $0.key < $1.key }) {
      var next = owners.first(from: ObjectID(rawValue: 0))
      while let owner = next {
        windows.next()
        let isThere = try session.exists(owner)
        if isThere, !run.recreated.contains(owner) {
          _ = run.updated.insert(owner)
          session.state.history?.noteUpdate(owner, property: code)
        }
        next = owners.first(from: ObjectID(rawValue: owner.rawValue + 1))
      }
    }
  }

  /// Restores the earlier value of a key.
  private mutating func restore(
    _ code: TableCode, _ key: [UInt8], _ past: borrowing StorageTransaction, _ run: inout RollbackRun
  ) throws(StoreError) {
    let isSeen = key.withUnsafeBytes { run.horizon.sees(code, $0) }
    guard isSeen, let table = session.schema.table(code) else { return }
    // A copy, because writes move the engine's pages.
    let then = try past.get(table, key.span.bytes)?.withUnsafeBytes { Array($0) }
    if code == .blobInfo { return }
    // The key may be listed in several epochs, or be restored already.
    let isSame = try Self.isSame(try session.storage.get(table, key.span.bytes), then)
    if isSame { return }
    if code.rootCode != nil, let id = try? NumberKey.objectID(key.span.bytes) {
      return try restoreObject(id, table, then, past, &run)
    }
    if code == .indexes {
      let id = key.withUnsafeBytes { SnapshotHorizon.indexID($0) }
      guard run.indexes.contains(id) else { return }
    }
    if code == .links, let link = try? LinkKey(key.span.bytes), session.schema.propertyNames[link.relationship] != nil {
      _ = run.lists[link.relationship, default: ObjectSet()].insert(link.owner)
    }
    try Self.put(&session.storage, table, key, then)
  }

  private static func isSame(_ now: RawSpan?, _ then: [UInt8]?) throws(StoreError) -> Bool {
    guard let now, let then else { return (now == nil) == (then == nil) }
    return now.withUnsafeBytes { $0.elementsEqual(then) }
  }

  private static func put(
    _ storage: inout StorageTransaction, _ table: StorageTable, _ key: [UInt8], _ value: [UInt8]?
  ) throws(StoreError) {
    if let value {
      try storage.put(table, key.span.bytes, value.span.bytes)
    } else {
      try storage.delete(table, key.span.bytes)
    }
  }

  /// Restores the earlier record of an object, and its entries in indexes that were created later.
  private mutating func restoreObject(
    _ id: ObjectID, _ table: StorageTable, _ then: [UInt8]?, _ past: borrowing StorageTransaction,
    _ run: inout RollbackRun
  ) throws(StoreError) {
    let wasThere = try session.exists(id)
    var oldBlobs: [BlobReference] = []
    var oldKeys: [[UInt8]] = []
    if wasThere {
      let entity = try session.load(id)
      // Includes attributes that the record has from an earlier version of the model.
      oldBlobs = entity.blobs(in: session.scratch.view) + session.orphanedBlobs.blobs
      session.orphanedBlobs.blobs.removeAll()
      oldKeys = try entity.indexKeys(id, session.scratch.view, session.schema).filter { run.isYounger($0) }
    }
    guard let then else {
      if wasThere, !run.recreated.contains(id) {
        // It exists under its old id because an earlier rollback restored it.
        let entity = try session.load(id)
        if session.state.history != nil { try HistoryWriter.noteDeletion(id, entity, in: &session) }
      }
      for blob in oldBlobs { try session.releaseBlob(blob) }
      for key in oldKeys { try session.storage.delete(session.schema.tables.indexes, key.span.bytes) }
      _ = run.updated.remove(id)
      return try Self.put(&session.storage, table, ShortKey.object(id).array, nil)
    }
    let view = try session.schema.view(of: then.span.bytes, id: id)
    let entity = try session.schema.entity(of: view, id: id)
    let newKeys = try entity.indexKeys(id, view, session.schema).filter { run.isYounger($0) }
    // References are added first, so that a blob in both records never has none.
    for blob in entity.blobs(in: view) {
      try session.blobTables.addReference(to: blob, &session.storage, describedIn: past)
    }
    for blob in oldBlobs { try session.releaseBlob(blob) }
    if wasThere {
      if noteRestoredProperties(id, view) { _ = run.updated.insert(id) }
    } else {
      _ = run.recreated.insert(id)
    }
    for key in oldKeys where !newKeys.contains(key) {
      try session.storage.delete(session.schema.tables.indexes, key.span.bytes)
    }
    for key in newKeys where !oldKeys.contains(key) { try IndexEntries.put(key, in: &session) }
    try Self.put(&session.storage, table, ShortKey.object(id).array, then)
  }

  /// Records in the history which properties differ between the record in `scratch` and its replacement; returns
  /// whether any does.
  private mutating func noteRestoredProperties(_ id: ObjectID, _ then: borrowing RecordView) -> Bool {
    var isChanged = false
    for field in 0..<session.scratch.layout.fieldCount {
      let code = session.scratch.layout[field].propertyCode
      guard let other = then.layout.fieldIndex(ofProperty: code) else { continue }
      let isSame: Bool
      if session.scratch.layout.kind(field) == .toMany {
        isSame =
          session.scratch.view.head(field) == then.head(other)
          && (session.scratch.view.head(field).isChunked
            || session.scratch.view.inlineIDs(field).array == then.inlineIDs(other).array)
      } else if session.scratch.layout.kind(field) == .toOne {
        isSame = session.scratch.view.toOne(field) == then.toOne(other)
      } else {
        isSame = (try? session.scratch.view.value(field)) == (try? then.value(other))
      }
      if isSame { continue }
      isChanged = true
      session.state.history?.noteUpdate(id, property: code)
    }
    return isChanged
  }
}

/// The state of one rollback of a whole store.
struct RollbackRun {
  let horizon: SnapshotHorizon
  /// The objects and chunks that were changed since the snapshot.
  var changes: SnapshotComparison.Changes
  /// Indexes that have entries now, and had all of them then.
  let indexes: Set<UInt16>
  private let nextIndexID: UInt16
  var updated = ObjectSet()
  var recreated = ObjectSet()
  /// By property: the objects with restored chunks of long lists.
  var lists: [UInt16: ObjectSet] = [:]

  init(_ horizon: SnapshotHorizon, _ snapshot: SnapshotValue, _ schema: Schema) {
    self.horizon = horizon
    changes = SnapshotComparison.Changes(horizon: horizon)
    nextIndexID = snapshot.nextIndexID
    indexes = schema.codes.fetchIndexIDs.union(schema.codes.indexes.values.flatMap(\.values))
  }

  /// Whether an entry is of an index that was created after the snapshot.
  func isYounger(_ key: [UInt8]) -> Bool {
    key.withUnsafeBytes { SnapshotHorizon.indexID($0) } >= nextIndexID
  }
}
