/// The common properties of attributes, relationships and fetched properties.
public protocol PropertyDescription: Sendable {
  /// The property's name, unique among all properties of its entity, inherited ones included.
  var name: String { get }
  /// Whether nil (or an empty to-many relationship) is a valid value.
  var isOptional: Bool { get }
  /// Whether the property exists only in memory.
  var isTransient: Bool { get }
  /// The model author's annotations, which contain the rules of a deep clone.
  var userInfo: [String: String] { get }
}
