package import KVClone

/// Values as text: short, one line.
package enum ValueText {
  package static func describe(_ value: AttributeValue) -> String {
    switch value {
    case .binary(let data), .transformable(let data): return "<\(Text.bytes(UInt64(data.count)))>"
    case .blob(let reference): return "<\(Text.bytes(reference.byteCount))>"
    case .string(let text), .uri(let text):
      var json = JSONWriter()
      json.string(text)
      return json.text
    case .composite(let elements):
      let parts = elements.sorted { $0.key < $1.key }.map { "\($0.key): \(describe($0.value))" }
      return "{\(parts.joined(separator: ", "))}"
    default:
      var json = JSONWriter()
      AttributeJSON.write(value, to: &json)
      let text = json.text
      return text.hasPrefix("\"") ? String(text.dropFirst().dropLast()) : text
    }
  }

  /// A value in a table, or in CSV, where quotes are the format's own.
  package static func cell(_ value: AttributeValue, isPlain: Bool) -> String {
    switch value {
    case .string(let text) where isPlain, .uri(let text) where isPlain: text
    default: describe(value)
    }
  }

  /// The non-nil properties of an object, by name.
  package static func properties<T: ObjectReading & ~Copyable>(
    of object: ManagedObject, _ model: ManagedObjectModel, _ transaction: borrowing T, memberLimit: Int
  ) throws -> [(name: String, text: String)] {
    var result: [(name: String, text: String)] = []
    for attribute in model.attributes(of: object.entityName) where attribute.isStored {
      guard let value = try object.value(attribute.name) else { continue }
      result.append((attribute.name, describe(value)))
    }
    for relationship in model.relationships(of: object.entityName) where !relationship.isTransient {
      let count = object.count(relationship.name)
      if count == 0 { continue }
      if memberLimit == 0, relationship.isToMany {
        result.append((relationship.name, "\(count)"))
        continue
      }
      let members = try transaction.members(object.id, relationship.name).prefix(max(memberLimit, 1))
      var names = try members.map { try transaction.name(of: $0) }
      if count > names.count { names.append("… \(count) in all") }
      result.append((relationship.name, names.joined(separator: ", ")))
    }
    return result
  }
}
