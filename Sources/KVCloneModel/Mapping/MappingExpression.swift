/// What a property of a destination object becomes: a value of the language of predicates, or what the migration has
/// made of other objects.
///
/// Values are computed with these variables, which Core Data's mapping models have too: `$source` (also `SELF`) is the
/// source object, `$destination` the destination object, `$manager` the migration, `$entityMapping` and
/// `$propertyMapping` are the mappings at work, and `$entityPolicy` is the policy.
public indirect enum MappingExpression: Hashable, Sendable {
  /// The source object's property of the same name, or of the renaming identifier: an attribute's value, or what has
  /// become of the objects of a relationship. Where the source entity has no such property, the default stays.
  ///
  /// ``MappingModel/resolved(from:to:)`` writes it out.
  case automatic
  /// A value: a constant, a key path such as `$source.author.name`, or functions of them.
  case value(QueryExpression)
  /// The objects that one entity mapping has made of the source objects that the expression leads to: Core Data's
  /// `FUNCTION($manager, "destinationInstancesForEntityMappingNamed:sourceInstances:", mapping, sources)`.
  case destinationInstances(mapping: String, of: MappingExpression)
  /// The objects that all entity mappings together have made of the source objects that the expression leads to, which are
  /// those of a relationship of the source entity: Core Data's
  /// `FUNCTION($manager, "destinationInstancesForSourceRelationshipNamed:sourceInstances:", relationship, sources)`.
  case destinationInstancesForRelationship(String, of: MappingExpression)
  /// What a method of the entity mapping's policy answers, with arguments: Core Data's
  /// `FUNCTION($entityPolicy, "method:with:", a, b)`. The name has one colon for each argument.
  case policy(String, [MappingExpression])
  /// Something that exists in Core Data and cannot be computed here, as text. A migration that needs it is refused.
  case unsupported(String)

  /// The source object.
  public static let sourceObject = MappingExpression.value(.variable("source"))

  /// The value at a key path of the source object, such as `name` or `author.name`.
  public static func source(_ keyPath: String) -> MappingExpression {
    .value(
      .keyPath(
        .variable("source"), keyPath.split(separator: ".", omittingEmptySubsequences: false).map(String.init)))
  }

  /// A value that is known; nil is no value.
  public static func constant(_ value: AttributeValue?) -> MappingExpression {
    .value(.constant(value.map { .value($0) } ?? .null))
  }

  /// A value in the language of predicates, such as `"$source.price * 100"`.
  ///
  /// - Parameters:
  ///   - format: The expression. Places such as `%@` and `%K` outside of quotation marks are filled in.
  ///   - arguments: One for each place, in their order.
  public init(format: String, _ arguments: QueryArgument...) throws(QueryFormatError) {
    self = .value(try QueryExpression(format: format, arguments: arguments))
  }
}

extension MappingExpression: CustomStringConvertible {
  /// The expression as Xcode shows it.
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

  /// The method of a migration manager that finds objects by an entity mapping.
  package static let byMapping = "destinationInstancesForEntityMappingNamed:sourceInstances:"
  /// The method of a migration manager that finds objects by a relationship.
  package static let byRelationship = "destinationInstancesForSourceRelationshipNamed:sourceInstances:"

  /// A call as Core Data writes it.
  package static func call(_ operand: String, _ selector: String, _ arguments: [String]) -> String {
    "FUNCTION(\(([operand, quoted(selector)] + arguments).joined(separator: ", ")))"
  }

  private static func quoted(_ text: String) -> String {
    QueryExpression.constant(.value(.string(text))).expressionFormat
  }
}
