/// An index over objects of an entity and its subentities.
public struct FetchIndexDescription: Sendable, Hashable {
  /// The form in which the model declares an index.
  public enum Origin: String, Sendable, Hashable, Codable {
    /// A named fetch index.
    case fetchIndex
    /// A compound index of a model that predates fetch indexes.
    case compoundIndex
    /// An attribute marked as indexed, in a model that predates fetch indexes.
    case indexedAttribute
  }

  /// A part of an index's key.
  public struct Element: Sendable, Hashable {
    /// Core Data's kind of index.
    public enum Kind: String, Sendable, Hashable, Codable {
      /// Sorted by value.
      case binary = "Binary"
      /// Sorted by spatial position; kept, and treated as a sorted index.
      case rTree = "RTree"
    }

    /// The name of the attribute or to-one relationship; nil if the element is an expression.
    public var propertyName: String?
    /// The expression; nil if the element is a property.
    public var expression: String?
    /// Core Data's kind of index.
    public var kind: Kind
    /// Whether values are in ascending order.
    public var isAscending: Bool

    /// Creates an element over a property.
    public init(_ propertyName: String, ascending: Bool = true, kind: Kind = .binary) {
      self.propertyName = propertyName
      self.isAscending = ascending
      self.kind = kind
    }

    /// Creates an element over an expression.
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
  /// The predicate that limits the index to some objects, in the NSPredicate format language.
  public var partialPredicate: String?
  /// The form in which the model declares the index.
  public var origin: Origin

  /// Creates an index description.
  public init(
    _ name: String, _ elements: [Element], partialPredicate: String? = nil, origin: Origin = .fetchIndex
  ) {
    self.name = name
    self.elements = elements
    self.partialPredicate = partialPredicate
    self.origin = origin
  }
}
