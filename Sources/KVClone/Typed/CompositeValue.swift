public import KVCloneCore
public import KVCloneModel

/// A Swift value for a composite attribute, as `kvclone model generate` writes it for each composite of a model.
public protocol CompositeValue: AttributeConvertible, Hashable {
  /// The elements that predicates and sort descriptors can name.
  associatedtype Fields: QueryFields

  /// Creates a value from elements.
  ///
  /// - Throws: `wrongType` if the type of an element cannot represent its value.
  init(_ elements: CompositeElements) throws(StoreError)

  /// Writes every element under its name in the model.
  func encode(to elements: inout CompositeElements)
}

extension CompositeValue {
  /// Creates a value from a stored composite; nil if an element has another type.
  public init?(attributeValue: AttributeValue) {
    guard case .composite(let values) = attributeValue, let value = try? Self(CompositeElements(values)) else {
      return nil
    }
    self = value
  }

  /// The composite of all elements by name.
  public var attributeValue: AttributeValue {
    var elements = CompositeElements([:])
    encode(to: &elements)
    return .composite(elements.values)
  }
}

/// The elements of a composite attribute by name.
public struct CompositeElements: Sendable {
  /// The elements that are not nil.
  public private(set) var values: [String: AttributeValue]

  /// Creates a list of elements.
  public init(_ values: [String: AttributeValue]) {
    self.values = values
  }

  /// Returns the value of an element, or nil.
  ///
  /// - Throws: `wrongType` if the type cannot represent the value.
  public func decodeIfPresent<Value: AttributeConvertible>(_ name: String) throws(StoreError) -> Value? {
    guard let stored = values[name] else { return nil }
    guard let value = Value(attributeValue: stored) else {
      throw StoreError(
        .wrongType, "the element \(name) has a value that \(Value.self) cannot represent; generate the source again",
        property: name)
    }
    return value
  }

  /// Returns the value of an element that must not be nil. A composite with only nil elements also counts as a value.
  ///
  /// - Throws: `wrongType` for nil, and if the type cannot represent the value.
  public func decode<Value: AttributeConvertible>(_ name: String) throws(StoreError) -> Value {
    if let value: Value = try decodeIfPresent(name) { return value }
    if let value = Value.ofNothing { return value }
    throw StoreError(
      .wrongType, "the element \(name) is nil, and its Swift type is not optional; set a value", property: name)
  }

  /// Sets an element; nil clears it.
  public mutating func set(_ name: String, _ value: (some AttributeConvertible)?) {
    values[name] = value?.attributeValue
  }

  /// Sets a transformable element; nil clears it.
  public mutating func set(_ name: String, transformable value: BinaryValue?) {
    values[name] = value?.transformableValue
  }
}

extension AttributeConvertible {
  /// The value of a composite with nil in all elements, which the store does not distinguish from nil.
  static var ofNothing: Self? { self is any CompositeValue.Type ? Self(attributeValue: .composite([:])) : nil }
}
