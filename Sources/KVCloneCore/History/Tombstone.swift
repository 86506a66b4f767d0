import KVCloneModel
import KVCloneRecords

/// Tombstones of deleted objects: the values of the attributes that the model preserves (Core Data's
/// `preservesValueInHistoryOnDeletion`), as in NDJSON.
extension HistoryWriter {
  /// Returns the tombstone of the object with the record in `scratch`; empty if there is nothing to preserve. Values in
  /// blobs are omitted: they may be of any size, and their bytes are deleted with the object.
  static func tombstone(_ id: ObjectID, _ entity: CompiledEntity, in session: borrowing Session) throws(StoreError)
    -> [UInt8]
  {
    if entity.preservedNames.isEmpty { return [] }
    var json = JSONWriter()
    var isEmpty = true
    json.beginObject()
    for name in entity.preservedNames {
      guard
        let value = try entity.value(named: name, in: session.scratch.view, id: id, schema: session.schema)?
          .withoutBlobs
      else {
        continue
      }
      isEmpty = false
      json.key(name)
      AttributeJSON.write(value, to: &json)
    }
    json.endObject()
    return isEmpty ? [] : Array(json.text.utf8)
  }
}

extension Schema {
  /// Returns the values of a tombstone. Attributes that the model no longer has, or has with another type, are omitted.
  ///
  /// - Throws: `corrupted` if the bytes are not a JSON object.
  func values(ofTombstone bytes: [UInt8], entityCode: UInt16) throws(StoreError) -> [String: AttributeValue] {
    if bytes.isEmpty { return [:] }
    let json = try? JSONParser.parse(bytes.span)
    guard case .object(let object)? = json else {
      throw StoreError(
        .corrupted, "the history of changes has a tombstone that cannot be parsed; run `check` to see the extent")
    }
    guard let entity = entity(code: entityCode) else { return [:] }
    var found = AttributeJSON.Attributes()
    for member in object.members {
      guard let attribute = model.attribute(member.name, of: entity.name) else { continue }
      try? AttributeJSON.read(member.value, for: attribute, into: &found)
    }
    return found.values.compactMapValues { $0 }
  }
}

extension AttributeValue {
  /// The value without parts in blobs; nil if nothing remains.
  fileprivate var withoutBlobs: AttributeValue? {
    switch self {
    case .blob: return nil
    case .composite(let elements):
      let kept = elements.compactMapValues(\.withoutBlobs)
      return kept.isEmpty ? nil : .composite(kept)
    default: return self
    }
  }
}
