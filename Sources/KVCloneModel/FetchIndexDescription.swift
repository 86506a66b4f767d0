/// An index over objects of an entity and its sub-entities.
public struct FetchIndexDescription: Sendable, Hashable {
  /// Which of the three ways to ask for an index the model used.
  public enum Origin: String, Sendable, Hashable, Codable {
    /// A named fetch index.
    case fetchIndex
    /// A compound index of a model written before fetch indexes existed.
    case compoundIndex
    /// An attribute marked as indexed, in a model written before fetch indexes existed.
    case indexedAttribute
  }

  /// One part of an index's key.
  public struct Element: Sendable, Hashable {
    /// Core Data's kind of index.
    public enum Kind: String, Sendable, Hashable, Codable {
      /// Sorted by value.
      case binary = "Binary"
      /// By position in space; kept, and served as a sorted index.
      case rTree = "RTree"
    }

    /// The attribute's or to-one relationship's name; nil where the element is an expression.
    public var propertyName: String?
    /// The expression, where the element is one.
    public var expression: String?
    /// Core Data's kind of index.
    public var kind: Kind
    /// Whether values ascend.
    public var isAscending: Bool

    /// Describes an element over a property.
    public init(_ propertyName: String, ascending: Bool = true, kind: Kind = .binary) {
      self.propertyName = propertyName
      self.isAscending = ascending
      self.kind = kind
    }

    /// Describes an element over an expression.
    public init(expression: String, ascending: Bool = true, kind: Kind = .binary) {
      self.expression = expression
      self.isAscending = ascending
      self.kind = kind
    }
  }

  /// The index's name, unique in its entity.
  public var name: String
  /// The parts of the key, most significant first.
  public var elements: [Element]
  /// The predicate that limits the index to some objects, in NSPredicate's format language.
  public var partialPredicate: String?
  /// Which way to ask for an index the model used.
  public var origin: Origin

  /// Describes an index.
  public init(
    _ name: String, _ elements: [Element], partialPredicate: String? = nil, origin: Origin = .fetchIndex
  ) {
    self.name = name
    self.elements = elements
    self.partialPredicate = partialPredicate
    self.origin = origin
  }
}
