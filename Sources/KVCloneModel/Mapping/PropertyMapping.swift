/// How one attribute or relationship of a destination object gets its value.
public struct PropertyMapping: Hashable, Sendable {
  /// The name of the destination entity's property.
  public var name: String
  /// What the property becomes; nil leaves the default.
  public var valueExpression: MappingExpression?
  /// The annotations of the mapping's author, which policies can read.
  public var userInfo: [String: String]

  /// Describes how a property gets its value; without an expression, from the source's property of the same name.
  public init(
    _ name: String, _ valueExpression: MappingExpression? = .automatic, userInfo: [String: String] = [:]
  ) {
    self.name = name
    self.valueExpression = valueExpression
    self.userInfo = userInfo
  }

  /// Describes how a property gets its value by an expression in the language of predicates, such as
  /// `"$source.price * 100"`.
  public init(
    _ name: String, format: String, _ arguments: [QueryArgument] = [], userInfo: [String: String] = [:]
  ) throws(QueryFormatError) {
    self.init(name, .value(try QueryExpression(format: format, arguments: arguments)), userInfo: userInfo)
  }
}
