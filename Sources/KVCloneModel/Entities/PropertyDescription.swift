/// The common properties of attributes, relationships and fetched properties.
public protocol PropertyDescription: Sendable {
  /// The property's name, unique among all properties of its entity, inherited ones included.
  var name: String { get }
  /// Whether nil (or an empty to-many relationship) is a valid value.
  var isOptional: Bool { get }
  /// Whether the property lives in memory only.
  var isTransient: Bool { get }
  /// The annotations of the model's author; the rules of a deep clone stand here.
  var userInfo: [String: String] { get }
}
