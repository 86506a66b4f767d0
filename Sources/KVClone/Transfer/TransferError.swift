/// Why NDJSON cannot be loaded or dumped.
public struct TransferError: KVCloneError, Hashable {
  /// The kinds of failure. An error of the store or of the model's rules keeps its own name in ``kindName``.
  public enum Kind: String, Sendable, Hashable {
    /// A line is not JSON, or not an object line.
    case unreadableLine
    /// The header belongs to another model (`strict`), or to a newer version of the text format.
    case incompatibleHeader
    /// The model has no such entity.
    case unknownEntity
    /// An abstract entity has no objects of its own.
    case abstractEntity
    /// The entity has no such attribute or relationship.
    case unknownProperty
    /// A value is not of the attribute's type.
    case wrongType
    /// A value does not fit into the attribute's type.
    case outOfRange
    /// Two lines have the same id.
    case duplicateID
    /// A relationship names an id that no line has.
    case danglingID
    /// An id is not `Entity/serial`, or belongs to another entity than the relationship's destination.
    case wrongDestination
    /// Both sides of a relationship are given, and do not agree.
    case disagreement
    /// A file with an attribute's bytes is missing, has another size, or lies outside the directory.
    case invalidFile
    /// Something that the store or the model refused; ``TransferError/kindName`` tells what.
    case refused
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
