/// A named group of elements that attributes of several entities can be made of.
public struct CompositeAttributeDescription: Sendable, Hashable {
  /// The composite's name, unique in the model.
  public var name: String
  /// The elements in declaration order; an element may be a composite in turn.
  public var elements: [AttributeDescription]
  /// The annotations of the model's author.
  public var userInfo: [String: String]

  /// Describes a composite.
  public init(_ name: String, elements: [AttributeDescription], userInfo: [String: String] = [:]) {
    self.name = name
    self.elements = elements
    self.userInfo = userInfo
  }
}
