import KVCloneModel
import KVCloneRecords

/// Stores a model version, and builds and drops indexes for all objects.
package enum IndexBuilder {
  /// The size of the keys that are buffered while an index is built: the larger, the fewer of its pages are written
  /// twice.
  private static var buildBatchByteCount: Int { 8 << 20 }
  /// The number of keys that are buffered while an index is dropped.
  private static var dropBatch: Int { 1000 }

  /// Stores a model version that follows another one.
  package static func writeCatalog(
    _ catalog: StoreCatalog, _ code: UInt16, after stored: StoreCatalog, in session: inout Session
  )
    throws(StoreError)
  {
    let table = session.schema.tables.metadata
    try Metadata.put(&session.storage, table, MetadataKey.model(code), try catalog.document())
    try Metadata.put(&session.storage, table, MetadataKey.catalog, CounterValue(catalog.number))
    for layout in catalog.layouts where layout.id > stored.codes.lastLayout {
      try Metadata.put(&session.storage, table, MetadataKey.layout(layout.id), layout)
    }
    if catalog.codes.former != nil { try session.raiseFormat(to: FormatLimits.migrationFormatVersion) }
    if catalog.codes.fetchIndexes != nil { try session.raiseFormat(to: FormatLimits.fetchIndexFormatVersion) }
  }

  /// Builds the entries of all objects in these indexes, including those of constraints, in batches of objects.
  package static func build(
    _ ids: Set<UInt16>, in session: inout Session,
    _ progress: (Int) throws(StoreError) -> Void = { (_) throws(StoreError) in }
  ) throws(StoreError) {
    if ids.isEmpty { return }
    for rootCode in session.schema.rootCodes {
      let isConcerned = session.schema.entities.contains { entity in
        entity.rootCode == rootCode
          && (entity.fetchIndexes.contains { ids.contains($0.indexID) }
            || entity.constraints.contains { ids.contains($0.indexID) })
      }
      var next: ObjectID? = isConcerned ? ObjectID(rootCode: rootCode, serial: 0) : nil
      while let start = next {
        var keys = DeferredKeys()
        next = try gatherKeys(ids, from: start, into: &keys, in: session)
        session.storage.retainCursors(in: [session.schema.tables.indexes])
        defer { session.storage.retainCursors(in: []) }
        let count = keys.count
        try keys.drain { (key) throws(StoreError) in try IndexEntries.put(key, in: &session) }
        try progress(count)
      }
    }
  }

  /// Collects the keys of the entries of the next objects; returns the object after them.
  private static func gatherKeys(
    _ ids: Set<UInt16>, from start: ObjectID, into keys: inout DeferredKeys, in session: borrowing Session
  ) throws(StoreError) -> ObjectID? {
    guard let table = session.schema.objectTable(rootCode: start.rootCode) else { return nil }
    var next: ObjectID?
    let key = ShortKey.object(start)
    try session.storage.scanToEnd(of: table, from: key.bytes) { (key, value) throws(StoreError) in
      let id = try session.schema.objectID(key)
      if keys.byteCount >= Self.buildBatchByteCount {
        next = id
        return false
      }
      let view = try session.schema.view(of: copy value, id: id)
      let entity = try session.schema.entity(of: view, id: id)
      for constraint in entity.constraints where ids.contains(constraint.indexID) {
        if let builder = try constraint.entry(entity, view, id, session.schema) { keys.append(builder.key(id)) }
      }
      for index in entity.fetchIndexes where ids.contains(index.indexID) {
        keys.append(try index.builder(entity, view, id, session.schema).key(id))
      }
      return true
    }
    return next
  }

  /// Removes all entries of an index, in batches.
  package static func drop(_ id: UInt16, in session: inout Session) throws(StoreError) {
    let prefix = IndexKey.prefix(indexID: id)
    var isEmpty = false
    while !isEmpty {
      let keys = try keys(beginningWith: prefix, in: session)
      for key in keys { try session.storage.delete(session.schema.tables.indexes, key.span.bytes) }
      isEmpty = keys.isEmpty
    }
  }

  private static func keys(beginningWith prefix: [UInt8], in session: borrowing Session) throws(StoreError) -> [[UInt8]]
  {
    var keys: [[UInt8]] = []
    try session.storage.scan(session.schema.tables.indexes, within: prefix.span.bytes) { (key, _) throws(StoreError) in
      let bytes = key.withUnsafeBytes { Array($0) }
      guard bytes.starts(with: prefix), keys.count < Self.dropBatch else { return false }
      keys.append(bytes)
      return true
    }
    return keys
  }
}
