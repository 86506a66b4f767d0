/// A property in the JSON of a description: its key, and how it is decoded and encoded.
struct CodedProperty<Root>: Sendable {
  fileprivate let decode: @Sendable (inout Root, KeyedDecodingContainer<CodedKey>) throws -> Void
  fileprivate let encode: @Sendable (Root, inout KeyedEncodingContainer<CodedKey>) throws -> Void

  /// Creates a property that is always encoded.
  init<Value: Codable & SendableMetatype>(required key: CodedKey, _ path: any WritableKeyPath<Root, Value> & Sendable) {
    decode = { root, container in root[keyPath: path] = try container.decode(Value.self, forKey: key) }
    encode = { root, container in try container.encode(root[keyPath: path], forKey: key) }
  }

  /// Creates a property that is encoded unless it is nil.
  init<Value: Codable & SendableMetatype>(_ key: CodedKey, _ path: any WritableKeyPath<Root, Value?> & Sendable) {
    decode = { root, container in root[keyPath: path] = try container.decodeIfPresent(Value.self, forKey: key) }
    encode = { root, container in try container.encodeIfPresent(root[keyPath: path], forKey: key) }
  }

  /// Creates a property that is encoded unless it has its default value, which may depend on properties before it.
  init<Value: Codable & Equatable & SendableMetatype>(
    _ key: CodedKey, _ path: any WritableKeyPath<Root, Value> & Sendable, default: @escaping @Sendable (Root) -> Value
  ) {
    decode = { root, container in root[keyPath: path] = try container.decode(or: `default`(root), forKey: key) }
    encode = { root, container in try container.encode(root[keyPath: path], unless: `default`(root), forKey: key) }
  }

  /// Creates a property that is encoded unless it has its default value.
  init<Value: Codable & Equatable & Sendable>(
    _ key: CodedKey, _ path: any WritableKeyPath<Root, Value> & Sendable, default: Value
  ) {
    self.init(key, path) { _ in `default` }
  }
}

extension Array {
  func decode<Root>(into root: inout Root, from decoder: any Decoder) throws where Element == CodedProperty<Root> {
    let container = try decoder.container(keyedBy: CodedKey.self)
    for property in self { try property.decode(&root, container) }
  }

  func encode<Root>(_ root: Root, to encoder: any Encoder) throws where Element == CodedProperty<Root> {
    var container = encoder.container(keyedBy: CodedKey.self)
    for property in self { try property.encode(root, &container) }
  }
}

/// The key of a property in the JSON of a description.
struct CodedKey: CodingKey, ExpressibleByStringLiteral {
  let stringValue: String
  var intValue: Int? { nil }

  init(stringLiteral text: String) { stringValue = text }

  init(stringValue: String) { self.stringValue = stringValue }

  init?(intValue: Int) { nil }
}
