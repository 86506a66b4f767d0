import KVClone

/// An object as its pages show it: values that were read, without a transaction.
struct ObjectFacts: Sendable {
  let id: ObjectID
  var name: DisplayName
  var uri: String
  /// The number of the commit that last changed the object.
  var commit: UInt64
  /// The size of the record in bytes, without chunks of lists and blobs.
  var recordLength: Int
  var attributes: [AttributeFacts]
  var relationships: [LinkFacts]
  /// References from objects with relationships to this object that have no inverse.
  var incoming: [LinkFacts]
  var provenance: ProvenanceFacts?
  /// The neighbours among the objects of the root entity, by serial.
  var previous: DisplayName?
  var next: DisplayName?
}

/// An attribute, or an element of a composite one, with its value.
struct AttributeFacts: Sendable {
  /// The name, or `composite.element`.
  var path: String
  /// 0 for an attribute, 1 for an element of it.
  var depth: Int
  var description: AttributeDescription
  var content: Content

  enum Content: Sendable {
    case null
    /// Its elements follow.
    case composite
    /// The value exists only in memory.
    case transient
    case value(AttributeValue)
    case text(TextFacts)
    case bytes(BytesFacts)
    /// The message of the failure to read the value.
    case unreadable(String)
  }
}

/// The beginning of a text.
struct TextFacts: Sendable {
  var beginning: String
  /// The length of the whole text in UTF-8, in bytes.
  var byteCount: UInt64
  var isWhole: Bool
}

/// The beginning of binary data.
struct BytesFacts: Sendable {
  var source: ValueSource
  var type: MediaType
  /// Nil for anything except images, and for images without readable dimensions.
  var imageSize: ImageSize?
  /// The first bytes.
  var sample: [UInt8]

  var isWhole: Bool { UInt64(sample.count) == source.byteCount }
}

/// A relationship of an object, or one of other objects that leads to it.
struct LinkFacts: Sendable {
  /// The name; for incoming references, `Entity.relationship`.
  var title: String
  /// The entity that declares the relationship.
  var declaringEntity: String
  var description: RelationshipDescription
  var isIncoming: Bool
  var count: MemberCount
  /// The first members, in order.
  var members: [MemberFacts]
  /// The position of the first member after ``members``; nil at the end.
  var next: MemberCursor?
}

/// The number of members of a relationship.
struct MemberCount: Sendable, Equatable {
  var value: Int
  /// Whether there may be more: lists of incoming references have no stored count.
  var isLowerBound = false
}

/// A member of a relationship.
struct MemberFacts: Sendable {
  var name: DisplayName
  /// The failure to read the member; nil for a readable one.
  var problem: String?
}

/// The source of a clone.
struct ProvenanceFacts: Sendable {
  var provenance: CloneProvenance
  /// The source; nil in another store.
  var source: DisplayName?
  /// Whether the source exists in the shown state.
  var exists: Bool
}
