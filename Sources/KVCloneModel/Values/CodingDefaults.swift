/// Descriptions omit default values: a stored model stays small, and a property that a later version of the library
/// adds is decoded as its default from older data. Decoders ignore unknown keys.
extension KeyedEncodingContainer {
  mutating func encode<Value: Encodable & Equatable>(
    _ value: Value, unless standard: Value, forKey key: Key
  ) throws {
    if value != standard { try encode(value, forKey: key) }
  }
}

extension KeyedDecodingContainer {
  func decode<Value: Decodable>(_ type: Value.Type = Value.self, or standard: Value, forKey key: Key) throws -> Value {
    try decodeIfPresent(Value.self, forKey: key) ?? standard
  }
}
