import KVCloneModel
import KVCloneRecords

/// The index behind uniqueness constraints: one entry per object whose values are all there. Entries may be equal for a
/// while inside a transaction; a commit is what refuses them.
extension Session {
  /// Adds the entries of the object whose record is in `scratch`; their bytes, keys included.
  @discardableResult
  mutating func addIndexEntries(_ id: ObjectID, _ entity: CompiledEntity) throws(StoreError) -> UInt64 {
    var byteCount: UInt64 = 0
    for constraint in entity.constraints {
      byteCount += try addIndexEntry(id, try constraint.entry(entity, scratch.view, id, schema))
    }
    return byteCount
  }

  /// Adds the entries of an object whose record is `patch`; their bytes, keys included.
  mutating func addIndexEntries(_ id: ObjectID, _ entity: CompiledEntity, _ patch: RecordPatch) throws(StoreError)
    -> UInt64
  {
    var byteCount: UInt64 = 0
    for constraint in entity.constraints {
      byteCount += try addIndexEntry(id, try constraint.entry(entity, patch.view(entity.layout), id, schema))
    }
    return byteCount
  }

  private mutating func addIndexEntry(_ id: ObjectID, _ builder: IndexKeyBuilder?) throws(StoreError) -> UInt64 {
    guard let builder else { return 0 }
    let key = builder.key(id)
    var empty = ValueEnvelope.emptyValue(seed: ValueEnvelope.seed(tableCode: .indexes, key: key))
    let value = withUnsafeBytes(of: &empty) { Array($0) }
    try storage.put(schema.tables.indexes, key.span.bytes, value.span.bytes)
    return UInt64(key.count + value.count)
  }

  /// Removes the entries of the object whose record is in `scratch`.
  mutating func removeIndexEntries(_ id: ObjectID, _ entity: CompiledEntity) throws(StoreError) {
    for constraint in entity.constraints {
      guard let builder = try constraint.entry(entity, scratch.view, id, schema) else { continue }
      let key = builder.key(id)
      try storage.delete(schema.tables.indexes, key.span.bytes)
    }
  }

  /// Another object with the same values under a constraint.
  borrowing func conflict(
    _ constraint: CompiledConstraint, _ entity: CompiledEntity, _ view: borrowing RecordView, _ id: ObjectID
  ) throws(StoreError) -> ObjectID? {
    guard let builder = try constraint.entry(entity, view, id, schema) else { return nil }
    let values = try constraint.values(entity, view, id, schema)
    return try holder(of: constraint, builder, values: values, otherThan: id)
  }

  /// An object other than `id` whose entry has the builder's values. Long texts are cut in keys, so the values
  /// themselves decide.
  borrowing func holder(
    of constraint: CompiledConstraint, _ builder: IndexKeyBuilder, values: [AttributeValue?], otherThan id: ObjectID?
  ) throws(StoreError) -> ObjectID? {
    let prefix = builder.bytes
    var found: ObjectID?
    try storage.scan(schema.tables.indexes, from: prefix.span.bytes) { (key, _) throws(StoreError) in
      let other: ObjectID
      do throws(RecordError) {
        guard try IndexKey.values(of: copy key).isEqual(to: prefix) else { return false }
        other = try IndexKey.objectID(of: copy key)
      } catch {
        throw StoreError(.damaged, "an index has a malformed key; run `check` to see the extent")
      }
      guard other != id else { return true }
      if builder.isTruncated {
        let view = try existingRecord(other)
        let entity = try schema.entity(of: view, id: other)
        guard try constraint.values(entity, view, other, schema) == values else { return true }
      }
      found = other
      return false
    }
    return found
  }
}

extension CompiledConstraint {
  /// The values of an object under the constraint; a to-one target counts by its id.
  func values(_ entity: CompiledEntity, _ view: borrowing RecordView, _ id: ObjectID, _ schema: Schema)
    throws(StoreError) -> [AttributeValue?]
  {
    var values: [AttributeValue?] = []
    for column in columns {
      switch column {
      case .attribute(let index):
        values.append(try entity.value(of: entity.attributes[index], in: view, id: id, schema: schema))
      case .toOne(let index):
        let relationship = entity.relationships[index]
        let target = entity.field(relationship.field, code: relationship.code, in: view).flatMap { view.toOne($0) }
        values.append(target.map(Self.column))
      }
    }
    return values
  }

  /// A to-one target as an index holds it.
  static func column(_ target: ObjectID) -> AttributeValue { .integer(Int64(bitPattern: target.rawValue)) }

  /// The key without the object's id; nil where a value is nil, which never conflicts (R24), or of a kind that no key
  /// can hold.
  func entry(_ entity: CompiledEntity, _ view: borrowing RecordView, _ id: ObjectID, _ schema: Schema)
    throws(StoreError) -> IndexKeyBuilder?
  {
    builder(for: try values(entity, view, id, schema))
  }

  /// The key of these values.
  func builder(for values: [AttributeValue?]) -> IndexKeyBuilder? {
    guard !values.isEmpty, values.count <= FormatLimits.maximumIndexValueCount else { return nil }
    var builder = IndexKeyBuilder(indexID: indexID, valueCount: values.count)
    for value in values {
      guard let value, (try? builder.append(value)) != nil else { return nil }
    }
    return builder
  }
}

extension RawSpan {
  /// Whether the bytes are the same.
  func isEqual(to bytes: [UInt8]) -> Bool {
    guard byteCount == bytes.count else { return false }
    return withUnsafeBytes { $0.elementsEqual(bytes) }
  }
}
