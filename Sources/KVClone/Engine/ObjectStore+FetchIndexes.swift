#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import KVCloneModel
import KVCloneRecords

/// Bringing a store's fetch indexes in line with its model, when it is opened for writing.
extension ObjectStore {
  /// The store's catalog from now on: with its model, and fetch indexes as that has them.
  ///
  /// A damaged record stands in the way of a new index, and must not in the way of everything else: the store then goes on
  /// without the new ones, and the next opening tries again.
  static func update(
    _ catalog: StoreCatalog, replacing stored: StoreCatalog, _ engine: any StorageEngine, _ tables: SchemaTables,
    _ format: FormatRecord, _ options: StoreOptions
  ) throws(StoreError) -> StoreCatalog {
    for addsIndexes in [true, false] {
      guard let successor = try catalog.succeeding(stored, addsIndexes: addsIndexes) else { return stored }
      do throws(StoreError) {
        try onceMoreIfMapFull { () throws(StoreError) in
          try write(successor, replacing: stored, engine, tables, format, options)
        }
        return successor
      } catch {
        guard error.kind == .damaged, addsIndexes else { throw error }
        options.logger?.error("new fetch indexes could not be built, and are left out: \(error.message)")
      }
    }
    return stored
  }

  /// Makes `catalog` the store's: the model is written down, entries of new indexes are made, and those of indexes that
  /// the model has no more are dropped, all in one write transaction.
  private static func write(
    _ catalog: StoreCatalog, replacing stored: StoreCatalog, _ engine: any StorageEngine, _ tables: SchemaTables,
    _ format: FormatRecord, _ options: StoreOptions
  ) throws(StoreError) {
    var storage = StorageTransaction(try engine.beginWrite(label: "adopt model", timeout: options.busyTimeout))
    let present = try StoreCatalog(storage, tables.metadata)
    guard present.number == stored.number else {
      throw StoreError(.busy, "another process gave the store another version of its model just now; open it again")
    }
    guard let code = UInt16(exactly: catalog.number) else {
      throw StoreError(.limitExceeded, "a store remembers at most 65,535 versions of its model")
    }
    let schema = try Schema(catalog, tables: tables)
    let commit = try Metadata.counter(storage, tables.metadata, MetadataKey.commitCounter)
    let (old, new) = (stored.codes.fetchIndexIDs, catalog.codes.fetchIndexIDs)
    try storage.record(schema, commit: commit + 1, droppedIndexes: old.subtracting(new))
    var session = Session(
      storage: storage, schema: schema, commit: commit + 1, storeUUID: format.storeUUID, serialFloor: SerialFloor(),
      engine: engine)
    try session.writeCatalog(catalog, code)
    for id in old.subtracting(new).sorted() { try session.dropIndex(id) }
    try session.buildFetchIndexes(new.subtracting(old))
    try session.writeCounters()
    try session.storage.commit()
  }
}

extension Session {
  /// How many bytes of keys are held while an index is built: the more, the fewer of its pages are written twice.
  private static var buildBatchByteCount: Int { 8 << 20 }
  /// How many keys are held while an index is dropped.
  private static var dropBatch: Int { 1000 }

  fileprivate mutating func writeCatalog(_ catalog: StoreCatalog, _ code: UInt16) throws(StoreError) {
    let table = schema.tables.metadata
    try Metadata.put(&storage, table, MetadataKey.model(code), try catalog.document())
    try Metadata.put(&storage, table, MetadataKey.catalog, CounterValue(catalog.number))
    if catalog.codes.fetchIndexes != nil { try raiseFormat(to: FormatLimits.fetchIndexFormatVersion) }
  }

  /// Makes the entries that objects have in these indexes, some objects at a time.
  fileprivate mutating func buildFetchIndexes(_ ids: Set<UInt16>) throws(StoreError) {
    if ids.isEmpty { return }
    for rootCode in schema.rootCodes {
      let isConcerned = schema.entities.contains { entity in
        entity.rootCode == rootCode && entity.fetchIndexes.contains { ids.contains($0.indexID) }
      }
      var next: ObjectID? = isConcerned ? ObjectID(rootCode: rootCode, serial: 0) : nil
      while let start = next {
        var keys = WaitingKeys()
        next = try gatherKeys(ids, from: start, into: &keys)
        storage.keepPlaces(in: [schema.tables.indexes])
        defer { storage.keepPlaces(in: []) }
        try keys.drain { (key) throws(StoreError) in try putIndexEntry(key) }
      }
    }
  }

  /// Gathers the keys of the entries that the next objects have; the object after them.
  private borrowing func gatherKeys(
    _ ids: Set<UInt16>, from start: ObjectID, into keys: inout WaitingKeys
  ) throws(StoreError) -> ObjectID? {
    guard let table = schema.objectTable(rootCode: start.rootCode) else { return nil }
    var next: ObjectID?
    let key = ShortKey.object(start)
    try storage.scan(table, from: key.bytes) { (key, value) throws(StoreError) in
      let id = try schema.objectID(key)
      if keys.byteCount >= Self.buildBatchByteCount {
        next = id
        return false
      }
      let view = try schema.view(of: copy value, id: id)
      let entity = try schema.entity(of: view, id: id)
      for index in entity.fetchIndexes where ids.contains(index.indexID) {
        keys.append(try index.builder(entity, view, id, schema).key(id))
      }
      return true
    }
    return next
  }

  /// Removes all entries of an index, some at a time.
  fileprivate mutating func dropIndex(_ id: UInt16) throws(StoreError) {
    let prefix = IndexKey.prefix(indexID: id)
    var isEmpty = false
    while !isEmpty {
      let keys = try keys(beginningWith: prefix)
      for key in keys { try storage.delete(schema.tables.indexes, key.span.bytes) }
      isEmpty = keys.isEmpty
    }
  }

  private borrowing func keys(beginningWith prefix: [UInt8]) throws(StoreError) -> [[UInt8]] {
    var keys: [[UInt8]] = []
    try storage.scan(schema.tables.indexes, from: prefix.span.bytes) { (key, _) throws(StoreError) in
      let bytes = key.withUnsafeBytes { Array($0) }
      guard bytes.starts(with: prefix), keys.count < Self.dropBatch else { return false }
      keys.append(bytes)
      return true
    }
    return keys
  }
}
