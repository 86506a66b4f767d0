package import KVCloneModel
package import KVCloneRecords

extension CompiledConstraint {
  /// The values of an object under the constraint; a to-one target is represented by its id.
  package func values(_ entity: CompiledEntity, _ view: borrowing RecordView, _ id: ObjectID, _ schema: Schema)
    throws(StoreError) -> [AttributeValue?]
  {
    var values: [AttributeValue?] = []
    for column in columns { values.append(try entity.value(at: column, view, id, schema)) }
    return values
  }

  /// The representation of a to-one target in an index.
  package static func column(_ target: ObjectID) -> AttributeValue { .integer(Int64(bitPattern: target.rawValue)) }

  /// The key without the object's id; nil if a value is nil, which never conflicts (R24), or of a kind that no key can
  /// hold.
  package func entry(_ entity: CompiledEntity, _ view: borrowing RecordView, _ id: ObjectID, _ schema: Schema)
    throws(StoreError) -> IndexKeyBuilder?
  {
    builder(for: try values(entity, view, id, schema))
  }

  /// The key of these values.
  package func builder(for values: [AttributeValue?]) -> IndexKeyBuilder? {
    guard !values.isEmpty, values.count <= FormatLimits.maximumIndexValueCount else { return nil }
    var builder = IndexKeyBuilder(indexID: indexID, valueCount: values.count)
    for value in values {
      guard let value, (try? builder.append(value)) != nil else { return nil }
    }
    return builder
  }
}

extension RawSpan {
  /// Compares bytewise.
  package func isEqual(to bytes: [UInt8]) -> Bool {
    guard byteCount == bytes.count else { return false }
    return withUnsafeBytes { $0.elementsEqual(bytes) }
  }
}
