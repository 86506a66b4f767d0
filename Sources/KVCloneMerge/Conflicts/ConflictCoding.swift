import KVCloneModel

/// The coded forms of conflicts and answers.
///
/// Ids and fingerprints are texts: programs that read numbers of JSON as floating-point numbers would round them, and
/// make each answer stale.
enum CodedID {
  static func text(_ id: ObjectID) -> String { String(id.rawValue) }

  static func id<Key: CodingKey>(
    _ text: String, _ key: Key, _ container: KeyedDecodingContainer<Key>
  ) throws -> ObjectID {
    guard let value = UInt64(text) else {
      throw DecodingError.dataCorruptedError(forKey: key, in: container, debugDescription: "not the text of an id")
    }
    return ObjectID(rawValue: value)
  }
}

extension KeyedEncodingContainer {
  fileprivate mutating func encode(_ ids: [ObjectID], _ key: Key) throws {
    try encode(ids.map(CodedID.text), forKey: key)
  }
}

extension KeyedDecodingContainer {
  func id(_ key: Key) throws -> ObjectID {
    try CodedID.id(try decode(String.self, forKey: key), key, self)
  }

  /// An id that may be absent or null.
  fileprivate func idIfPresent(_ key: Key) throws -> ObjectID? {
    try decodeIfPresent(String.self, forKey: key).map { try CodedID.id($0, key, self) }
  }

  fileprivate func ids(_ key: Key) throws -> [ObjectID] {
    try decode([String].self, forKey: key).map { try CodedID.id($0, key, self) }
  }
}

// MARK: Conflicts

extension ObjectConflict: Codable {
  private enum CodingKeys: String, CodingKey {
    case kind, id, entity, property, other, side, base, ours, theirs, oursChange, theirsChange, fingerprint
  }

  /// Encodes the conflict: ids as decimal texts, the fingerprint as a hexadecimal one.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(kind, forKey: .kind)
    try container.encode(CodedID.text(id), forKey: .id)
    try container.encode(entity, forKey: .entity)
    try container.encodeIfPresent(property, forKey: .property)
    try container.encodeIfPresent(other.map(CodedID.text), forKey: .other)
    try container.encodeIfPresent(side, forKey: .side)
    try container.encodeIfPresent(base, forKey: .base)
    try container.encodeIfPresent(ours, forKey: .ours)
    try container.encodeIfPresent(theirs, forKey: .theirs)
    try container.encodeIfPresent(oursChange, forKey: .oursChange)
    try container.encodeIfPresent(theirsChange, forKey: .theirsChange)
    try container.encode(String(fingerprint, radix: 16), forKey: .fingerprint)
  }

  /// Decodes a conflict. Only its kind, ids, entity and fingerprint are required: an answer is bound to them.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    guard let fingerprint = UInt64(try container.decode(String.self, forKey: .fingerprint), radix: 16) else {
      throw DecodingError.dataCorruptedError(
        forKey: .fingerprint, in: container, debugDescription: "not the text of a fingerprint")
    }
    self.init(
      kind: try container.decode(Kind.self, forKey: .kind), id: try container.id(.id),
      entity: try container.decode(String.self, forKey: .entity),
      property: try container.decodeIfPresent(String.self, forKey: .property), other: try container.idIfPresent(.other),
      side: try container.decodeIfPresent(MergeSide.self, forKey: .side),
      base: try container.decodeIfPresent(Value.self, forKey: .base),
      ours: try container.decodeIfPresent(Value.self, forKey: .ours),
      theirs: try container.decodeIfPresent(Value.self, forKey: .theirs),
      oursChange: try container.decodeIfPresent(ObjectChange.self, forKey: .oursChange),
      theirsChange: try container.decodeIfPresent(ObjectChange.self, forKey: .theirsChange), fingerprint: fingerprint)
  }
}

extension ObjectConflict.Value: Codable {
  private enum CodingKeys: String, CodingKey {
    case attribute, object, members
  }

  /// Encodes an object with one member: `attribute`, `object` or `members`. Nil is null.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    switch self {
    case .attribute(let value): try container.encode(value, forKey: .attribute)
    case .object(let id): try container.encode(id.map(CodedID.text), forKey: .object)
    case .members(let ids): try container.encode(ids, .members)
    }
  }

  /// Decodes an object with one member.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    if container.contains(.attribute) {
      self = .attribute(try container.decodeIfPresent(AttributeValue.self, forKey: .attribute))
    } else if container.contains(.object) {
      self = .object(try container.idIfPresent(.object))
    } else {
      self = .members(try container.ids(.members))
    }
  }
}

// MARK: Answers

extension ConflictAnswer: Codable {
  private enum CodingKeys: String, CodingKey {
    case attribute, object, order
  }
  private static let refusal = "refuse"

  /// Encodes `ours`, `theirs`, `refuse`, or an object with one member: `attribute`, `object` or `order`. Nil is null.
  public func encode(to encoder: any Encoder) throws {
    switch self {
    case .side(let side): return try side.encode(to: encoder)
    case .refuse: return try Self.refusal.encode(to: encoder)
    case .attribute, .object, .order: break
    }
    var container = encoder.container(keyedBy: CodingKeys.self)
    switch self {
    case .attribute(let value): try container.encode(value, forKey: .attribute)
    case .object(let id): try container.encode(id.map(CodedID.text), forKey: .object)
    case .order(let ids): try container.encode(ids, .order)
    case .side, .refuse: break
    }
  }

  /// Decodes an answer.
  public init(from decoder: any Decoder) throws {
    if let text = try? decoder.singleValueContainer().decode(String.self) {
      self = text == Self.refusal ? .refuse : .side(try MergeSide(from: decoder))
      return
    }
    let container = try decoder.container(keyedBy: CodingKeys.self)
    if container.contains(.attribute) {
      self = .attribute(try container.decodeIfPresent(AttributeValue.self, forKey: .attribute))
    } else if container.contains(.object) {
      self = .object(try container.idIfPresent(.object))
    } else {
      self = .order(try container.ids(.order))
    }
  }
}
