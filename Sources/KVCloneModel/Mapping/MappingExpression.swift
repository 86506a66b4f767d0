/// The value of a destination object's property: an expression of the predicate language, or objects that the migration
/// has created from other objects.
///
/// Expressions can use the variables of Core Data's mapping models: `$source` (also `SELF`) is the source object,
/// `$destination` the destination object, `$manager` the migration, `$entityMapping` and `$propertyMapping` the current
/// mappings, and `$entityPolicy` the policy.
public indirect enum MappingExpression: Hashable, Sendable {
  /// The source object's property with the same name or renaming identifier: the value of an attribute, or the migrated
  /// objects of a relationship. If the source entity has no such property, the default remains.
  ///
  /// ``MappingModel/resolved(from:to:)`` replaces it with an explicit expression.
  case automatic
  /// A value: a constant, a key path such as `$source.author.name`, or a function of them.
  case value(QueryExpression)
  /// The objects that an entity mapping has created from the source objects of the inner expression. In Core Data:
  /// `FUNCTION($manager, "destinationInstancesForEntityMappingNamed:sourceInstances:", mapping, sources)`.
  case destinationInstances(mapping: String, of: MappingExpression)
  /// The objects that all entity mappings together have created from the source objects of the inner expression, which
  /// belong to a relationship of the source entity. In Core Data: `FUNCTION($manager,
  /// "destinationInstancesForSourceRelationshipNamed:sourceInstances:", relationship, sources)`.
  case destinationInstancesForRelationship(String, of: MappingExpression)
  /// The result of a method of the entity mapping's policy, with arguments. In Core Data: `FUNCTION($entityPolicy,
  /// "method:with:", a, b)`. The name has one colon per argument.
  case policy(String, [MappingExpression])
  /// A Core Data expression that is not supported, as text. A migration that needs it is refused.
  case unsupported(String)

  /// The source object.
  public static let sourceObject = MappingExpression.value(.variable("source"))

  /// Returns the value at a key path of the source object, such as `name` or `author.name`.
  public static func source(_ keyPath: String) -> MappingExpression {
    .value(
      .keyPath(
        .variable("source"), keyPath.split(separator: ".", omittingEmptySubsequences: false).map(String.init)))
  }

  /// Returns a constant value; nil means no value.
  public static func constant(_ value: AttributeValue?) -> MappingExpression {
    .value(.constant(value.map { .value($0) } ?? .null))
  }

  /// Creates a value in the predicate language, such as `"$source.price * 100"`.
  ///
  /// - Parameters:
  ///   - format: The expression. Placeholders such as `%@` and `%K` outside of quotation marks are replaced.
  ///   - arguments: One argument per placeholder, in order.
  public init(format: String, _ arguments: QueryArgument...) throws(QueryFormatError) {
    self = .value(try QueryExpression(format: format, arguments: arguments))
  }
}

extension MappingExpression: CustomStringConvertible {
  /// The expression as Xcode displays it.
  public var description: String {
    switch self {
    case .automatic: "automatic"
    case .value(let expression): expression.expressionFormat
    case .destinationInstances(let mapping, let sources):
      Self.call("$manager", Self.byMapping, [Self.quoted(mapping), sources.description])
    case .destinationInstancesForRelationship(let relationship, let sources):
      Self.call("$manager", Self.byRelationship, [Self.quoted(relationship), sources.description])
    case .policy(let method, let arguments): Self.call("$entityPolicy", method, arguments.map(\.description))
    case .unsupported(let text): text
    }
  }

  /// The method of a migration manager that returns objects by entity mapping.
  package static let byMapping = "destinationInstancesForEntityMappingNamed:sourceInstances:"
  /// The method of a migration manager that returns objects by relationship.
  package static let byRelationship = "destinationInstancesForSourceRelationshipNamed:sourceInstances:"

  /// Returns a call in Core Data's syntax.
  package static func call(_ operand: String, _ selector: String, _ arguments: [String]) -> String {
    "FUNCTION(\(([operand, quoted(selector)] + arguments).joined(separator: ", ")))"
  }

  private static func quoted(_ text: String) -> String {
    QueryExpression.constant(.value(.string(text))).expressionFormat
  }
}
