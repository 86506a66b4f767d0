public import KVCloneModel
public import KVCloneRecords

extension Session {
  /// The records of an entity's objects by ascending serial, until `body` answers false.
  package borrowing func forEachRecord(
    of entity: CompiledEntity, includesSubentities: Bool, from start: UInt64 = 0,
    _ body: (ObjectID, borrowing RecordView) throws(StoreError) -> Bool
  ) throws(StoreError) {
    let key = ShortKey.object(ObjectID(rootCode: entity.rootCode, serial: start))
    let schema = schema
    var known = KnownLayout(entity.wantedCodes(includesSubentities: includesSubentities))
    try storage.scanToEnd(of: entity.table, from: key.bytes) { (key, value) throws(StoreError) in
      let id = try schema.objectID(key)
      guard let layout = try known.layout(of: copy value, id, schema) else { return true }
      return try body(id, try schema.view(of: copy value, layout, id: id))
    }
  }
}

/// The layout of the record that a scan was at last: neighbours are of one entity and layout, as a rule.
@usableFromInline
package struct KnownLayout {
  /// Codes of the entities whose records are wanted.
  @usableFromInline let wanted: Set<UInt16>
  /// The layout and entity that the last record's header named, and what that means.
  @usableFromInline var last: UInt32?
  @usableFromInline var layout: RecordLayout?

  package init(_ wanted: Set<UInt16>) {
    self.wanted = wanted
  }

  /// The layout of an object's record; nil where the record is not wanted.
  @inlinable @inline(__always)
  package mutating func layout(of record: borrowing RawSpan, _ id: ObjectID, _ schema: Schema) throws(StoreError)
    -> RecordLayout?
  {
    let names: UInt32
    do throws(RecordError) { names = try RecordView.layoutAndEntity(of: copy record) } catch {
      throw schema.corrupted(id, error)
    }
    if names != last {
      layout = try schema.layout(names, of: copy record, id, ifOf: wanted)
      last = names
    }
    return layout
  }
}
