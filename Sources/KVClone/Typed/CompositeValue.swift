public import KVCloneModel

/// A Swift value for a composite attribute: what `kvclone model generate` writes for each composite of a model.
public protocol CompositeValue: AttributeConvertible, Hashable {
  /// What predicates and sort descriptors name.
  associatedtype Fields: QueryFields

  /// Reads the elements.
  ///
  /// - Throws: `wrongType` for what an element's type cannot hold.
  init(_ elements: CompositeElements) throws(StoreError)

  /// Gives every element by its name in the model.
  func encode(to elements: inout CompositeElements)
}

extension CompositeValue {
  /// The elements, where each is of its type.
  public init?(attributeValue: AttributeValue) {
    guard case .composite(let values) = attributeValue, let value = try? Self(CompositeElements(values)) else {
      return nil
    }
    self = value
  }

  /// The elements by name.
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

  /// Makes a list of elements.
  public init(_ values: [String: AttributeValue]) {
    self.values = values
  }

  /// An element's value.
  ///
  /// - Throws: `wrongType` for what the type cannot hold.
  public func decodeIfPresent<Value: AttributeConvertible>(_ name: String) throws(StoreError) -> Value? {
    guard let stored = values[name] else { return nil }
    guard let value = Value(attributeValue: stored) else {
      throw StoreError(
        .wrongType, "the element \(name) holds a value that \(Value.self) cannot have; generate the source again",
        property: name)
    }
    return value
  }

  /// An element's value, which must not be nil; a composite whose elements are all nil is one too.
  ///
  /// - Throws: `wrongType` for nil, and for what the type cannot hold.
  public func decode<Value: AttributeConvertible>(_ name: String) throws(StoreError) -> Value {
    if let value: Value = try decodeIfPresent(name) { return value }
    if let value = Value.ofNothing { return value }
    throw StoreError(.wrongType, "the element \(name) is nil, which its type does not allow", property: name)
  }

  /// Sets an element.
  public mutating func set(_ name: String, _ value: (some AttributeConvertible)?) {
    values[name] = value?.attributeValue
  }

  /// Sets a transformable element.
  public mutating func set(_ name: String, transformable value: BinaryValue?) {
    values[name] = value?.transformableValue
  }
}

extension AttributeConvertible {
  /// What a composite is whose elements are all nil, as the store does not tell it from nil.
  static var ofNothing: Self? { self is any CompositeValue.Type ? Self(attributeValue: .composite([:])) : nil }
}
