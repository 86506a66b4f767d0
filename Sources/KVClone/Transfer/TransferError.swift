/// Why NDJSON cannot be loaded or dumped.
public struct TransferError: KVCloneError, Hashable {
  /// The kinds of failure. An error of the store or of the model's rules keeps its own name in ``kindName``.
  public struct Kind: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The stable text of the kind, as in JSON.
    public let rawValue: String

    /// Creates a kind from its text. Later versions may add kinds, so a `switch` needs a `default`.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The stable text of the kind.
    public var description: String { rawValue }

    /// A line is not JSON, or not an object line.
    public static let malformedLine = Kind(rawValue: "unreadableLine")
    /// The header belongs to another model (`strict`), or to a newer version of the text format.
    public static let incompatibleHeader = Kind(rawValue: "incompatibleHeader")
    /// The model has no such entity.
    public static let unknownEntity = Kind(rawValue: "unknownEntity")
    /// An abstract entity has no objects of its own.
    public static let abstractEntity = Kind(rawValue: "abstractEntity")
    /// The entity has no such attribute or relationship.
    public static let unknownProperty = Kind(rawValue: "unknownProperty")
    /// A value is not of the attribute's type.
    public static let wrongType = Kind(rawValue: "wrongType")
    /// A value does not fit into the attribute's type.
    public static let outOfRange = Kind(rawValue: "outOfRange")
    /// Two lines have the same id.
    public static let duplicateID = Kind(rawValue: "duplicateID")
    /// A relationship names an id that no line has.
    public static let danglingID = Kind(rawValue: "danglingID")
    /// An id is not `Entity/serial`, or belongs to another entity than the relationship's destination.
    public static let wrongDestination = Kind(rawValue: "wrongDestination")
    /// Both sides of a relationship are given, and do not agree.
    public static let inverseMismatch = Kind(rawValue: "disagreement")
    /// A file with an attribute's bytes is missing, has another size, or lies outside the directory.
    public static let invalidFile = Kind(rawValue: "invalidFile")
    /// Something that the store or the model refused; ``TransferError/kindName`` tells what.
    public static let rejected = Kind(rawValue: "refused")
  }

  /// What failed.
  public let kind: Kind
  /// The error's case name; for ``Kind/refused`` that of the error underneath, such as `requiredValueMissing`.
  public let kindName: String
  /// The line concerned, from 1; nil when dumping.
  public let line: Int?
  /// The entity concerned.
  public let entity: String?
  /// The property concerned.
  public let property: String?
  /// The object concerned: a line's own id when loading.
  public let object: String?
  /// What failed and what to do, beginning with the line.
  public let message: String
  /// How many objects earlier batches have committed.
  public let committedCount: Int

  init(
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
  let reason: String

  /// The same error at the place and with the outcome that only the caller knows.
  func completed(line: Int?, object: String?, committedCount: Int) -> TransferError {
    let outcome =
      committedCount == 0
      ? "nothing was loaded" : "the \(committedCount) objects of earlier batches stay, nothing else was loaded"
    return TransferError(
      kind, reason, line: self.line ?? line, entity: entity, property: property, object: self.object ?? object,
      kindName: kindName, committedCount: committedCount, outcome: outcome)
  }
}
