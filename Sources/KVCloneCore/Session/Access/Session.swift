#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  import Foundation
#endif
package import KVCloneModel
package import KVCloneRecords

/// The access of one transaction to objects, shared by ``ReadTransaction`` and ``WriteTransaction``.
///
/// The type is public because ``ObjectReading`` names it. It has no public members.
public struct Session: ~Copyable {
  package var storage: StorageTransaction
  package let schema: Schema
  /// The record that is being edited; one at a time.
  package var scratch = RecordBuffer()
  /// Blobs of the record in `scratch`, in attributes that its entity no longer has: they are released when it is
  /// stored.
  package var orphanedBlobs = OrphanedBlobs()
  private let stateBox = Box(TransactionState())
  /// The commit number: of the last commit in a read transaction, of the coming one in a write transaction.
  package let commit: UInt64
  /// The last commit fully visible to this snapshot; nil outside snapshot reads.
  package var shownCommit: UInt64?
  /// The context shared with the other sessions of the store.
  package let context: StoreContext
  /// Deferred inverse links and index entries of inserted objects, once there are any.
  var deferred: DeferredInserts?
  /// Caches whether the store's fetch indexes are those of the schema.
  private let fetchIndexes = FetchIndexMemo()

  init(
    storage: consuming StorageTransaction, schema: Schema, context: StoreContext, commit: UInt64, shownCommit: UInt64?
  ) {
    self.storage = storage
    self.schema = schema
    self.context = context
    self.commit = commit
    self.shownCommit = shownCommit
  }

  package var storeUUID: UUID { context.uuid }

  package var serialFloor: SerialHighWaterMark { context.serialFloor }

  package var engine: (any StorageEngine)? { context.engine }

  var hooks: (any SessionHooks)? { context.hooks }

  package var limits: StoreLimits? { context.limits }

  /// Discards cached state that is not stored yet: the transaction was rolled back to a savepoint.
  mutating func forgetTransientState() {
    deferred = nil
    orphanedBlobs = OrphanedBlobs()
  }

  /// Ends this access and returns its storage transaction, to read it by another schema.
  package consuming func takeStorage() -> StorageTransaction { storage }

  /// Commits the storage transaction without completing pending changes.
  package consuming func commitStorage() throws(StoreError) { try storage.commit() }

  /// The state of this transaction that is not in its storage.
  package var state: TransactionState {
    @inline(__always) unsafeAddress { UnsafePointer(stateBox.place) }
    @inline(__always) unsafeMutableAddress { stateBox.place }
  }

  /// The changed objects, a part of `state`.
  package var changes: PendingChanges {
    @inline(__always) unsafeAddress { UnsafePointer(stateBox.place).pointer(to: \.changes).unsafelyUnwrapped }
    @inline(__always) unsafeMutableAddress { stateBox.place.pointer(to: \.changes).unsafelyUnwrapped }
  }

  /// Whether requests may use fetch indexes: those of the transaction's state are the schema's, except for those of
  /// ``lacksFetchIndex(_:)``.
  package borrowing func hasCurrentFetchIndexes() throws(StoreError) -> Bool {
    if let known = fetchIndexes.areCurrent { return known }
    let areCurrent = try schema.catalogWatch.isCurrent(schema, storage, schema.tables.metadata)
    fetchIndexes.areCurrent = areCurrent
    return areCurrent
  }

  /// Whether a fetch index is newer than the transaction's state, which has no entries of it.
  package borrowing func lacksFetchIndex(_ id: UInt16) -> Bool { id >= storage.backend.nextIndexID }

  /// Sets whether requests use the schema's fetch indexes, for a caller that knows whether they are current.
  package borrowing func trustFetchIndexes(_ areCurrent: Bool) { fetchIndexes.areCurrent = areCurrent }

  /// The object's verified record; nil if the object does not exist.
  ///
  /// - Throws: `corrupted` if the record is corrupted.
  @_lifetime(borrow self)
  package borrowing func record(_ id: ObjectID) throws(StoreError) -> RecordView? {
    guard let table = schema.objectTable(rootCode: id.rootCode) else { return nil }
    let key = ShortKey.object(id)
    guard let bytes = try storage.get(table, key.bytes) else { return nil }
    return try schema.view(of: bytes, id: id)
  }

  /// The record of an object; throws if it does not exist.
  @_lifetime(borrow self)
  package borrowing func existingRecord(_ id: ObjectID) throws(StoreError) -> RecordView {
    guard let table = schema.objectTable(rootCode: id.rootCode) else { throw schema.notFound(id) }
    let key = ShortKey.object(id)
    guard let bytes = try storage.get(table, key.bytes) else { throw schema.notFound(id) }
    return try schema.view(of: bytes, id: id)
  }

  /// The concrete entity of an object; throws if it does not exist.
  package borrowing func entity(of id: ObjectID) throws(StoreError) -> CompiledEntity {
    try schema.entity(of: try existingRecord(id), id: id)
  }

  /// The entity according to the record's header, for callers that verify the record later.
  borrowing func namedEntity(of id: ObjectID) throws(StoreError) -> CompiledEntity {
    guard let table = schema.objectTable(rootCode: id.rootCode) else { throw schema.notFound(id) }
    let key = ShortKey.object(id)
    guard let bytes = try storage.get(table, key.bytes) else { throw schema.notFound(id) }
    let code: UInt16
    do throws(RecordError) { code = try RecordView.entityCode(of: bytes) } catch { throw schema.corrupted(id, error) }
    guard let entity = schema.entity(code: code), entity.rootCode == id.rootCode else {
      throw schema.corrupted(id, .wrongLayout)
    }
    return entity
  }

  /// Loads the object's record into `scratch`, in the entity's current layout, and returns its entity.
  package mutating func load(_ id: ObjectID) throws(StoreError) -> CompiledEntity {
    try Self.load(id, storage, schema, into: &scratch, &orphanedBlobs)
  }

  private static func load(
    _ id: ObjectID, _ storage: borrowing StorageTransaction, _ schema: Schema, into buffer: inout RecordBuffer,
    _ orphanedBlobs: inout OrphanedBlobs
  ) throws(StoreError) -> CompiledEntity {
    if !orphanedBlobs.blobs.isEmpty { orphanedBlobs.blobs.removeAll() }
    guard let table = schema.objectTable(rootCode: id.rootCode) else { throw schema.notFound(id) }
    let key = ShortKey.object(id)
    guard let bytes = try storage.get(table, key.bytes) else { throw schema.notFound(id) }
    let view = try schema.view(of: bytes, id: id)
    let entity = try schema.entity(of: view, id: id)
    try load(&buffer, view, entity, id)
    if view.layout != entity.layout {
      orphanedBlobs = OrphanedBlobs(owner: id, blobs: view.blobs(missingIn: entity.layout))
    }
    return entity
  }

  /// Copies a record into a buffer, in the entity's current layout. Attributes that the record's own layout lacks get
  /// their defaults at the time when they were added.
  package static func load(
    _ buffer: inout RecordBuffer, _ view: borrowing RecordView, _ entity: CompiledEntity, _ id: ObjectID
  ) throws(StoreError) {
    if view.layout == entity.layout { return buffer.load(view) }
    do throws(RecordError) {
      let missing = try buffer.convert(view, to: entity.layout)
      for attribute in entity.attributes {
        guard let field = attribute.field, missing.contains(field) else { continue }
        try buffer.set(field, attribute.fill)
      }
    } catch {
      throw StoreError(
        .corrupted, "the record of \(entity.name)/\(id.serial) is corrupted: \(error)", entity: entity.name,
        object: "\(entity.name)/\(id.serial)")
    }
  }

  /// Seals the record in `scratch` and stores it.
  package mutating func store(_ id: ObjectID, _ entity: CompiledEntity) throws(StoreError) {
    scratch.seal(commit: commit, seed: ValueEnvelope.seed(object: id))
    try Self.put(&storage, entity.table, id, scratch)
    if !orphanedBlobs.blobs.isEmpty { try releaseOrphanedBlobs(id) }
  }

  /// Releases the blobs of a loaded record in attributes that no longer exist.
  package mutating func releaseOrphanedBlobs(_ id: ObjectID) throws(StoreError) {
    if orphanedBlobs.owner == id { for blob in orphanedBlobs.blobs { try releaseBlob(blob) } }
    orphanedBlobs.blobs.removeAll()
  }

  private static func put(
    _ storage: inout StorageTransaction, _ table: StorageTable, _ id: ObjectID, _ record: borrowing RecordBuffer
  ) throws(StoreError) {
    let key = ShortKey.object(id)
    try storage.put(table, key.bytes, record.bytes)
  }

  /// Seals the record in `scratch` and appends it as that of a new object, with the highest id of its table.
  package mutating func append(_ id: ObjectID, _ entity: CompiledEntity) throws(StoreError) {
    scratch.seal(commit: commit, seed: ValueEnvelope.seed(object: id))
    try Self.append(&storage, entity.table, id, scratch)
  }

  private static func append(
    _ storage: inout StorageTransaction, _ table: StorageTable, _ id: ObjectID, _ record: borrowing RecordBuffer
  ) throws(StoreError) {
    let key = ShortKey.object(id)
    try storage.append(table, key.bytes, record.bytes)
  }
}

/// The lifecycle hooks of a transaction; only their callers know the type.
package protocol SessionHooks: AnyObject, Sendable {}

/// Blobs of one object in attributes that its entity no longer has.
package struct OrphanedBlobs {
  var owner = ObjectID(rawValue: 0)
  package var blobs: [BlobReference] = []
}

extension RecordView {
  /// The blobs in attributes that another layout of the entity lacks.
  ///
  /// - Parameter taken: codes of attributes that were converted to others.
  func blobs(missingIn layout: RecordLayout, taken: Set<UInt16> = []) -> [BlobReference] {
    var found: [BlobReference] = []
    for field in 0..<self.layout.fieldCount where self.layout.kind(field).mayBeBlob && !isNull(field) {
      let code = self.layout[field].propertyCode
      guard layout.fieldIndex(ofProperty: code) == nil, !taken.contains(code), let blob = blobReference(field) else {
        continue
      }
      found.append(blob)
    }
    return found
  }
}

extension Session {
  /// Whether there are no deferred changes.
  @inline(__always)
  var isSettled: Bool { deferred?.isEmpty ?? true }

  /// Returns the deferred changes, to add to them.
  mutating func deferredInserts() -> DeferredInserts {
    if let deferred { return deferred }
    let deferred = DeferredInserts()
    self.deferred = deferred
    return deferred
  }

  /// Checks the free space before a large write of at least this size. Only this write is considered: data that the
  /// transaction has written before may be deleted again, and its pages reused.
  ///
  /// - Throws: `diskFull` or `mapFull`, if there is certainly not enough space.
  package borrowing func makeRoom(for byteCount: UInt64) throws(StoreError) {
    try StoreLimits.checkFileLimit(adding: byteCount, in: self)
    try storage.space()?.makeRoom(for: byteCount)
  }

  package var blobTables: BlobTables { schema.tables.ofBlobs }

  /// Removes a reference to a blob; the last one also deletes the bytes.
  package mutating func releaseBlob(_ reference: BlobReference) throws(StoreError) {
    _ = try storage.releaseReference(schema.tables, reference.id)
  }
}
