import KVCloneModel
import KVCloneRecords

/// What the history keeps of a deleted object: the values of the attributes that the model preserves (Core Data's
/// `preservesValueInHistoryOnDeletion`), as NDJSON has them.
extension HistoryWriter {
  /// The tombstone of the object whose record is in `scratch`; empty where there is nothing to keep. Values in blobs are left
  /// out: they may be of any size, and their bytes go with the object.
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
  /// The values of a tombstone. Attributes that the model has no more, or with another type, are left out.
  ///
  /// - Throws: `damaged` for what is no JSON object.
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
  /// The value without what is kept in blobs; nil where nothing is left.
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
