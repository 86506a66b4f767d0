/// A named group of elements that attributes of several entities can use as their type.
public struct CompositeAttributeDescription: Sendable, Hashable {
  /// The composite's name, unique in the model.
  public var name: String
  /// The elements in declaration order; an element may itself be a composite.
  public var elements: [AttributeDescription]
  /// The model author's annotations.
  public var userInfo: [String: String]

  /// Creates a composite description.
  public init(_ name: String, elements: [AttributeDescription], userInfo: [String: String] = [:]) {
    self.name = name
    self.elements = elements
    self.userInfo = userInfo
  }
}
