package import KVCloneCore
import KVCloneLMDB
import KVCloneModel
package import KVCloneRecords

/// Fills a new layer of a branch: writes the entries in which a view of the branch differs from the base of the layer.
///
/// The caller passes all keys that may differ, in any order and any number of times. The store must not change
/// until then.
package struct LayerFilling: ~Copyable {
  private let source: any StorageBackend
  private let target: BranchBackend
  /// A session on the target.
  private var session: Session
  /// The indexes that have entries.
  private let indexes: Set<UInt16>
  /// The blobs that written records refer to.
  private let blobs = SerialSet()
  /// The number of references to a blob, if it is more than one.
  private var references: [UInt64: UInt64] = [:]

  /// - Parameters:
  ///   - source: the view of the branch, in the same transaction.
  ///   - target: the new layer, without entries.
  ///   - session: a session of the store in the same transaction.
  package init(_ source: any StorageBackend, into target: BranchBackend, _ session: borrowing Session) {
    self.source = source
    self.target = target
    self.session = session.context.session(
      StorageTransaction(lookingInto: target), session.schema, commit: session.commit)
    let codes = session.schema.codes
    indexes = codes.fetchIndexIDs.union(codes.indexes.values.flatMap(\.values))
  }

  /// Writes the state that a key has in the source, if it differs.
  package mutating func copy(_ code: TableCode, _ key: [UInt8]) throws(StoreError) {
    guard isCopied(code, key), let table = session.schema.table(code) else { return }
    let mark = target.beginReadScope()
    defer { target.endReadScope(mark) }
    // Copies, because writes move the engine's pages.
    let wanted = try source.get(table, unsafePointers(key.span.bytes)).map { Array($0) }
    let shown = try target.get(table, unsafePointers(key.span.bytes))
    if Self.areEqual(wanted, shown, isRecord: code.rootCode != nil) { return }
    if code.rootCode != nil { try noteRecord(key, wanted, replacing: shown.map { Array($0) }) }
    guard let wanted else {
      try session.storage.delete(table, key.span.bytes)
      return
    }
    try session.storage.put(table, key.span.bytes, wanted.span.bytes)
  }

  /// Whether the states of a key differ, and copying it would write an entry.
  package borrowing func differs(_ table: StorageTable, _ key: UnsafeRawBufferPointer) throws(StoreError) -> Bool {
    guard isCopied(table.code, Array(key)) else { return false }
    let wanted = try source.get(table, key).map { Array($0) }
    return !Self.areEqual(wanted, try target.get(table, key), isRecord: table.code.rootCode != nil)
  }

  /// Describes the blobs of the written records that the base does not show. The record of the branch is complete
  /// afterwards.
  package mutating func finish() throws(StoreError) {
    let tables = session.schema.tables.ofBlobs
    try blobs.forEach { (serial) throws(StoreError) in
      if try session.storage.blobInfo(tables, serial) != nil { return true }
      let past = StorageTransaction(lookingInto: source)
      guard var info = try past.blobInfo(tables, serial) else {
        throw tables.corrupted(serial, "An object of a branch refers to it, but the blob is missing.")
      }
      info.referenceCount = references[serial] ?? 1
      try session.storage.store(tables, serial, info)
      return true
    }
  }

  // MARK: Entries

  /// Descriptions of blobs follow from records, and so do entries of indexes that the source lacks entries of.
  private borrowing func isCopied(_ code: TableCode, _ key: [UInt8]) -> Bool {
    guard code == .indexes else { return SnapshotHorizon.isVersioned(code) && code != .blobInfo }
    let index = key.withUnsafeBytes { SnapshotHorizon.indexID($0) }
    return index < source.nextIndexID && indexes.contains(index)
  }

  /// Records that differ only in their commit are equal.
  private static func areEqual(_ one: [UInt8]?, _ other: UnsafeRawBufferPointer?, isRecord: Bool) -> Bool {
    guard let one, let other else { return (one == nil) == (other == nil) }
    // The checksum includes the commit, which follows it.
    let start = isRecord ? 16 : 0
    guard one.count == other.count, one.count >= start else { return false }
    return one[start...].elementsEqual(other[start...])
  }

  /// Counts the blobs of a record, and writes its entries in indexes that the source lacks entries of.
  private mutating func noteRecord(_ key: [UInt8], _ wanted: [UInt8]?, replacing shown: [UInt8]?) throws(StoreError) {
    let id = try session.schema.objectID(key.span.bytes)
    let old = try shown.map { (record) throws(StoreError) in try youngKeys(id, record) } ?? []
    var new: [[UInt8]] = []
    if let wanted {
      let view = try session.schema.view(of: wanted.span.bytes, id: id)
      let entity = try session.schema.entity(of: view, id: id)
      for blob in entity.blobs(in: view) where !blobs.insert(blob.id) { references[blob.id, default: 1] += 1 }
      new = try youngKeys(id, wanted)
    }
    for key in old where !new.contains(key) {
      try session.storage.delete(session.schema.tables.indexes, key.span.bytes)
    }
    for key in new where !old.contains(key) { try IndexEntries.put(key, in: &session) }
  }

  private borrowing func youngKeys(_ id: ObjectID, _ record: [UInt8]) throws(StoreError) -> [[UInt8]] {
    let view = try session.schema.view(of: record.span.bytes, id: id)
    let entity = try session.schema.entity(of: view, id: id)
    let first = source.nextIndexID
    if first > session.schema.codes.lastIndex { return [] }
    return try entity.indexKeys(id, view, session.schema).filter { key in
      key.withUnsafeBytes { SnapshotHorizon.indexID($0) } >= first
    }
  }
}
