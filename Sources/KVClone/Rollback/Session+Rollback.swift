package import KVCloneCore
import KVCloneModel
package import KVCloneRecords

/// Rolling a whole store back: what came since is deleted as objects are deleted, so that nobody refers to it any more; then every
/// key that has a previous state gets that state back, byte for byte.
extension Session {
  /// The schema of a snapshot whose model means the same to stored data as the store's.
  ///
  /// - Throws: `incompatibleModel` where what a snapshot shows is not for the store's model.
  borrowing func requireSameModel(as snapshot: SnapshotValue, _ schemas: SnapshotSchemas) throws(StoreError) -> Schema {
    let past = try schemas.schema(of: snapshot, storage, schema)
    // A version that came back after another one stores what it has under other codes.
    if past.model.modelHash == schema.model.modelHash,
      SchemaCodes.storeAlike(past.codes, past.model, as: schema.codes, schema.model)
    {
      return past
    }
    throw StoreError(
      .incompatibleModel,
      "the store was migrated after the snapshot was created (by version \(past.model.versionIdentifier), "
        + "\(past.model.modelHash.hex.prefix(12))…); clone from the snapshot, or load a dump of it into a new store")
  }

  /// The objects of a root entity that came after a snapshot.
  private borrowing func objects(since horizon: SnapshotHorizon) throws(StoreError) -> ObjectSet {
    var found = ObjectSet()
    let schema = schema
    for rootCode in schema.rootCodes {
      guard let table = schema.objectTable(rootCode: rootCode) else { continue }
      let first = ShortKey.object(horizon.firstLater(rootCode: rootCode))
      try storage.scanToEnd(of: table, from: first.bytes) { (key, _) throws(StoreError) in
        _ = found.insert(try schema.objectID(key))
        return true
      }
    }
    return found
  }

  /// Brings back what a snapshot shows, in a transaction that has made the snapshot `automatic` and nothing else.
  ///
  /// - Parameter tally: what is to be done, counted before.
  mutating func rollBack(to snapshot: SnapshotValue, _ automatic: SnapshotInfo, _ tally: RollbackTally)
    throws(StoreError) -> RollbackResult
  {
    var tally = tally
    let horizon = SnapshotHorizon(snapshot, schema.orderedLists)
    let born = try objects(since: horizon)
    var run = RollbackRun(horizon, snapshot, schema)
    _ = try deleteAll(born)
    guard let recorder = storage.recorder else { return tally.result(automatic) }
    try recorder.flush()
    // A view of the same transaction, which sees through what is written meanwhile: that is saved before.
    let past = StorageTransaction(
      SnapshotBackend(recorder.inner, preimages: schema.tables.preimages, horizon, isWritten: true))
    var next: SavedKeysKey? = SavedKeysKey(epoch: snapshot.epoch, commit: 0, part: 0)
    while let start = next, let list = try savedKeys(from: start, before: .max) {
      for (table, key) in list.keys { try restore(table, key, past, &run) }
      next = list.place.following
    }
    tally.replacedByteCount = recorder.savedByteCount
    noteRecreated(run.recreated)
    try noteRestoredLists(&run)
    changes.isEmpty = false
    changes.inserted = run.recreated
    changes.updated = run.updated
    changes.derived.removeAll()
    return tally.result(automatic)
  }

  /// What is left when everything is there again: all was like this before, derived values too, unless they were computed by
  /// other expressions then. Nobody is asked about it.
  mutating func endRollback(from past: Schema) throws(StoreError) {
    if past.derivations.fingerprint != schema.derivations.fingerprint {
      try noteAllDerived()
      try refreshDerived()
    }
    changes.inserted = ObjectSet()
    changes.updated = ObjectSet()
  }

  /// Tells the history which lists were brought back, of objects that were there all the time.
  private mutating func noteRestoredLists(_ run: inout RollbackRun) throws(StoreError) {
    for (code, owners) in run.lists.sorted(by: { $0.key < $1.key }) {
      var next = owners.first(from: ObjectID(rawValue: 0))
      while let owner = next {
        let isThere = try exists(owner)
        if isThere, !run.recreated.contains(owner) {
          _ = run.updated.insert(owner)
          changes.history?.noteUpdate(owner, property: code)
        }
        next = owners.first(from: ObjectID(rawValue: owner.rawValue + 1))
      }
    }
  }

  /// Tells the history of objects that are there again, in the order of their ids.
  mutating func noteRecreated(_ objects: ObjectSet) {
    objects.forEach { id in
      changes.history?.noteInserts(from: id, count: 1)
      return true
    }
  }

  /// Gives a key the state that it had then.
  private mutating func restore(
    _ code: TableCode, _ key: [UInt8], _ past: borrowing StorageTransaction, _ run: inout RollbackRun
  ) throws(StoreError) {
    let isSeen = key.withUnsafeBytes { run.horizon.sees(code, $0) }
    guard isSeen, let table = schema.table(code) else { return }
    // Copied: what is written moves the engine's bytes.
    let then = try past.get(table, key.span.bytes)?.withUnsafeBytes { Array($0) }
    if code == .blobInfo { return }
    // Listed in more than one epoch, or brought back already.
    let isSame = try Self.isSame(try storage.get(table, key.span.bytes), then)
    if isSame { return }
    if code.rootCode != nil, let id = try? NumberKey.objectID(key.span.bytes) {
      return try restoreObject(id, table, then, past, &run)
    }
    if code == .indexes {
      let id = key.withUnsafeBytes { SnapshotHorizon.indexID($0) }
      guard run.indexes.contains(id) else { return }
    }
    if code == .links, let link = try? LinkKey(key.span.bytes), schema.propertyNames[link.relationship] != nil {
      _ = run.lists[link.relationship, default: ObjectSet()].insert(link.owner)
    }
    try Self.put(&storage, table, key, then)
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

  /// Gives an object the record that it had then, with the entries of indexes that came later.
  private mutating func restoreObject(
    _ id: ObjectID, _ table: StorageTable, _ then: [UInt8]?, _ past: borrowing StorageTransaction,
    _ run: inout RollbackRun
  ) throws(StoreError) {
    let wasThere = try exists(id)
    var oldBlobs: [BlobReference] = []
    var oldKeys: [[UInt8]] = []
    if wasThere {
      let entity = try load(id)
      // Also those of attributes that the record has from an earlier version of the model.
      oldBlobs = entity.blobs(in: scratch.view) + outlived.blobs
      outlived.blobs.removeAll()
      oldKeys = try entity.indexKeys(id, scratch.view, schema).filter { run.isYounger($0) }
    }
    guard let then else {
      if wasThere, !run.recreated.contains(id) {
        // It was there under its old id because a rollback had brought it back.
        let entity = try load(id)
        if changes.history != nil { try noteDeletion(id, entity) }
      }
      for blob in oldBlobs { try releaseBlob(blob) }
      for key in oldKeys { try storage.delete(schema.tables.indexes, key.span.bytes) }
      _ = run.updated.remove(id)
      return try Self.put(&storage, table, ShortKey.object(id).array, nil)
    }
    let view = try schema.view(of: then.span.bytes, id: id)
    let entity = try schema.entity(of: view, id: id)
    let newKeys = try entity.indexKeys(id, view, schema).filter { run.isYounger($0) }
    // Those that come first: what is in both is never without a referrer.
    for blob in entity.blobs(in: view) { try addReference(to: blob, describedIn: past) }
    for blob in oldBlobs { try releaseBlob(blob) }
    if wasThere {
      if noteRestoredProperties(id, view) { _ = run.updated.insert(id) }
    } else {
      _ = run.recreated.insert(id)
    }
    for key in oldKeys where !newKeys.contains(key) { try storage.delete(schema.tables.indexes, key.span.bytes) }
    for key in newKeys where !oldKeys.contains(key) { try putIndexEntry(key) }
    try Self.put(&storage, table, ShortKey.object(id).array, then)
  }

  /// Tells the history which properties differ between the record in `scratch` and the one that comes instead; whether any does.
  private mutating func noteRestoredProperties(_ id: ObjectID, _ then: borrowing RecordView) -> Bool {
    var isChanged = false
    for field in 0..<scratch.layout.fieldCount {
      let code = scratch.layout[field].propertyCode
      guard let other = then.layout.fieldIndex(ofProperty: code) else { continue }
      let isSame: Bool
      if scratch.layout.kind(field) == .toMany {
        isSame =
          scratch.view.head(field) == then.head(other)
          && (scratch.view.head(field).isChunked
            || scratch.view.inlineIDs(field).array == then.inlineIDs(other).array)
      } else if scratch.layout.kind(field) == .toOne {
        isSame = scratch.view.toOne(field) == then.toOne(other)
      } else {
        isSame = (try? scratch.view.value(field)) == (try? then.value(other))
      }
      if isSame { continue }
      isChanged = true
      changes.history?.noteUpdate(id, property: code)
    }
    return isChanged
  }

  /// Counts a referrer of a blob that a record of a snapshot has. One that went since is described again: its bytes were kept.
  mutating func addReference(
    to blob: BlobReference, describedIn past: borrowing StorageTransaction
  ) throws(StoreError) {
    if try storage.blobInfo(blobTables, blob.id) == nil {
      guard var info = try past.blobInfo(blobTables, blob.id), info.state == .complete else {
        throw blobTables.missing(blob.id)
      }
      info.referenceCount = 0
      try storage.store(blobTables, blob.id, info)
    }
    try storage.addReferences(blobTables, blob.id)
  }
}

/// What one rollback of a whole store keeps in mind.
struct RollbackRun {
  let horizon: SnapshotHorizon
  /// Indexes that have entries now, and had them all then.
  let indexes: Set<UInt16>
  private let nextIndexID: UInt16
  var updated = ObjectSet()
  var recreated = ObjectSet()
  /// By property: objects of whose long lists pieces were brought back.
  var lists: [UInt16: ObjectSet] = [:]

  init(_ horizon: SnapshotHorizon, _ snapshot: SnapshotValue, _ schema: Schema) {
    self.horizon = horizon
    nextIndexID = snapshot.nextIndexID
    indexes = schema.codes.fetchIndexIDs.union(schema.codes.indexes.values.flatMap(\.values))
  }

  /// Whether an entry is of an index that came after the snapshot.
  func isYounger(_ key: [UInt8]) -> Bool {
    key.withUnsafeBytes { SnapshotHorizon.indexID($0) } >= nextIndexID
  }
}

extension CompiledEntity {
  /// The large values that a record has.
  func blobs(in view: borrowing RecordView) -> [BlobReference] {
    var blobs: [BlobReference] = []
    for field in 0..<view.layout.fieldCount where view.layout.kind(field).mayBeBlob && !view.isNull(field) {
      if let blob = view.blobReference(field) { blobs.append(blob) }
    }
    return blobs
  }
}

extension Schema {
  /// A table by its code; nil for one that the schema does not know.
  package func table(_ code: TableCode) -> StorageTable? {
    if let rootCode = code.rootCode { return objectTable(rootCode: rootCode) }
    switch code {
    case .links: return tables.links
    case .indexes: return tables.indexes
    case .blobInfo: return tables.blobinfo
    case .provenance: return tables.provenance
    default: return nil
    }
  }
}
