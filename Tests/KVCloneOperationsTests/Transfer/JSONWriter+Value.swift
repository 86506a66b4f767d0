import KVClone

extension JSONWriter {
  /// Writes any JSON value, with members in their order.
  mutating func value(_ value: JSONValue) {
    switch value {
    case .null: null()
    case .boolean(let value): boolean(value)
    case .integer(let value): integer(value)
    case .number(let value): double(value)
    case .string(let value): string(value)
    case .array(let values):
      beginArray()
      for element in values { self.value(element) }
      endArray()
    case .object(let object):
      beginObject()
      for member in object.members {
        key(member.name)
        self.value(member.value)
      }
      endObject()
    }
  }
}
