/// An error of loading or dumping NDJSON.
public struct TransferError: KVCloneError, Hashable {
  /// The kind of the error. For an error of the store or of the model's rules, ``kindName`` names the underlying kind.
  public struct Kind: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The stable text of the kind, as in JSON.
    public let rawValue: String

    /// Creates a kind from its text. Later versions may add kinds, so a `switch` needs a `default`.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The stable text of the kind.
    public var description: String { rawValue }

    /// A line is not JSON, or not an object line.
    public static let malformedLine = Kind(rawValue: "unreadableLine")
    /// The header belongs to another model (``LoadOptions/isStrict``), or to a newer version of the text format.
    public static let incompatibleHeader = Kind(rawValue: "incompatibleHeader")
    /// The model does not have the entity.
    public static let unknownEntity = Kind(rawValue: "unknownEntity")
    /// The entity is abstract and cannot have objects.
    public static let abstractEntity = Kind(rawValue: "abstractEntity")
    /// The entity does not have the attribute or relationship.
    public static let unknownProperty = Kind(rawValue: "unknownProperty")
    /// A value does not have the type of the attribute.
    public static let wrongType = Kind(rawValue: "wrongType")
    /// A value is outside the range of the attribute's type.
    public static let outOfRange = Kind(rawValue: "outOfRange")
    /// Two lines have the same id.
    public static let duplicateID = Kind(rawValue: "duplicateID")
    /// A relationship refers to an id that no line has.
    public static let danglingID = Kind(rawValue: "danglingID")
    /// An id is not `Entity/serial`, or belongs to another entity than the destination of the relationship.
    public static let wrongDestination = Kind(rawValue: "wrongDestination")
    /// Both sides of a relationship are given, and do not match.
    public static let inverseMismatch = Kind(rawValue: "disagreement")
    /// A file with the bytes of an attribute is missing, has another size, or is outside the directory.
    public static let invalidFile = Kind(rawValue: "invalidFile")
    /// The store or the model rejected the data; ``TransferError/kindName`` names the reason.
    public static let rejected = Kind(rawValue: "refused")
  }

  /// The kind of the error.
  public let kind: Kind
  /// The stable text of the kind; for ``Kind/rejected``, that of the underlying error, such as `requiredValueMissing`.
  public let kindName: String
  /// The number of the affected line, from 1; nil for a dump.
  public let line: Int?
  /// The affected entity.
  public let entity: String?
  /// The affected property.
  public let property: String?
  /// The affected object; in a load, the id in the text.
  public let object: String?
  /// The failure and its remedy. A message about a line begins with its number.
  public let message: String
  /// The number of objects that earlier batches committed.
  public let committedCount: Int

  package init(
    _ kind: Kind, _ reason: String, line: Int? = nil, entity: String? = nil, property: String? = nil,
    object: String? = nil, kindName: String? = nil, committedCount: Int = 0, outcome: String? = nil
  ) {
    self.kind = kind
    self.kindName = kindName ?? kind.rawValue
    self.line = line
    self.entity = entity
    self.property = property
    self.object = object
    self.committedCount = committedCount
    let place = line.map { "line \($0): " } ?? ""
    message = place + reason + (outcome.map { "; \($0)" } ?? "")
    self.reason = reason
  }

  /// The message without line and outcome.
  package let reason: String

  /// Adds the line and the outcome, which only the caller knows.
  package func completed(line: Int?, object: String?, committedCount: Int) -> TransferError {
    let outcome =
      committedCount == 0
      ? "nothing was loaded" : "the \(committedCount) objects of earlier batches stay, nothing else was loaded"
    return TransferError(
      kind, reason, line: self.line ?? line, entity: entity, property: property, object: self.object ?? object,
      kindName: kindName, committedCount: committedCount, outcome: outcome)
  }
}
