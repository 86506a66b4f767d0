/// The mapping of an attribute or relationship of a destination object.
public struct PropertyMapping: Hashable, Sendable {
  /// The name of the destination entity's property.
  public var name: String
  /// The property's value; nil keeps the default.
  public var valueExpression: MappingExpression?
  /// The mapping author's annotations, which policies can read.
  public var userInfo: [String: String]

  /// Creates a property mapping. Without an expression, the value comes from the source property of the same name.
  public init(
    _ name: String, _ valueExpression: MappingExpression? = .automatic, userInfo: [String: String] = [:]
  ) {
    self.name = name
    self.valueExpression = valueExpression
    self.userInfo = userInfo
  }

  /// Creates a property mapping from an expression in the predicate language, such as `"$source.price * 100"`.
  public init(
    _ name: String, format: String, _ arguments: [QueryArgument] = [], userInfo: [String: String] = [:]
  ) throws(QueryFormatError) {
    self.init(name, .value(try QueryExpression(format: format, arguments: arguments)), userInfo: userInfo)
  }
}
