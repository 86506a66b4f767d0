#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension AttributeType {
  /// Returns the given value as a value of this type, or nil if the conversion would lose information.
  ///
  /// Integers are checked against the type's range. Numbers change their type only if converting them back gives an
  /// equal number. A Double is also converted to a Float or Decimal if both print the same text, so the literal 0.1 is
  /// valid for all three types. Strings are converted to URIs and UUIDs; 0 and 1 are converted to booleans. Elements of
  /// a composite are not converted, because they belong to the attribute: see ``AttributeDescription/coerce(_:)``.
  public func coerce(_ value: AttributeValue) -> AttributeValue? {
    switch self {
    case .integer16: integer(value, Int64(Int16.min)...Int64(Int16.max))
    case .integer32: integer(value, Int64(Int32.min)...Int64(Int32.max))
    case .integer64: integer(value, Int64.min...Int64.max)
    case .decimal: decimal(value)
    case .double: double(value)
    case .float: float(value)
    case .string: if case .string = value { value } else { nil }
    case .boolean: boolean(value)
    case .date: if case .date = value { value } else { nil }
    case .binary: binary(value)
    case .uuid: uuid(value)
    case .uri: uri(value)
    case .transformable: transformable(value)
    case .composite: if case .composite = value { value } else { nil }
    case .undefined: value
    }
  }

  private func integer(_ value: AttributeValue, _ range: ClosedRange<Int64>) -> AttributeValue? {
    let integer: Int64? =
      switch value {
      case .integer(let number): number
      case .double(let number): Int64(exactly: number)
      case .float(let number): Int64(exactly: number)
      case .decimal(let number): number.isNaN ? nil : Int64(number.description)
      default: nil
      }
    guard let integer, range.contains(integer) else { return nil }
    return .integer(integer)
  }

  private func decimal(_ value: AttributeValue) -> AttributeValue? {
    switch value {
    case .decimal: return value
    case .integer(let number): return .decimal(Decimal(number))
    case .double(let number): return decimal(text: number.description, number: number)
    case .float(let number): return decimal(text: number.description, number: Double(number))
    default: return nil
    }
  }

  private func decimal(text: String, number: Double) -> AttributeValue? {
    if number.isNaN { return .decimal(.nan) }
    guard number.isFinite, let decimal = Decimal(string: text), Double(decimal.description) == Double(text) else {
      return nil
    }
    return .decimal(decimal)
  }

  private func double(_ value: AttributeValue) -> AttributeValue? {
    switch value {
    case .double: return value
    case .integer(let number): return Double(exactly: number).map { .double($0) }
    case .float(let number): return .double(Double(number))
    case .decimal(let number):
      if number.isNaN { return .double(.nan) }
      guard let double = Double(number.description), Decimal(string: double.description) == number else { return nil }
      return .double(double)
    default: return nil
    }
  }

  private func float(_ value: AttributeValue) -> AttributeValue? {
    switch value {
    case .float: return value
    case .integer(let number): return Float(exactly: number).map { .float($0) }
    case .double(let number):
      let float = Float(number)
      let fits = number.isNaN || Double(float) == number || float.isFinite && float.description == number.description
      return fits ? .float(float) : nil
    case .decimal(let number):
      if number.isNaN { return .float(.nan) }
      guard let float = Float(number.description), Decimal(string: float.description) == number else { return nil }
      return .float(float)
    default: return nil
    }
  }

  private func boolean(_ value: AttributeValue) -> AttributeValue? {
    switch value {
    case .boolean: value
    case .integer(0): .boolean(false)
    case .integer(1): .boolean(true)
    default: nil
    }
  }

  private func binary(_ value: AttributeValue) -> AttributeValue? {
    switch value {
    case .binary: value
    case .blob(let reference) where !reference.isTransformable: value
    default: nil
    }
  }

  private func transformable(_ value: AttributeValue) -> AttributeValue? {
    switch value {
    case .transformable: value
    case .blob(let reference) where reference.isTransformable: value
    default: nil
    }
  }

  private func uuid(_ value: AttributeValue) -> AttributeValue? {
    switch value {
    case .uuid: value
    case .string(let text): UUID(uuidString: text).map { .uuid($0) }
    default: nil
    }
  }

  private func uri(_ value: AttributeValue) -> AttributeValue? {
    switch value {
    case .uri: value
    case .string(let text): .uri(text)
    default: nil
    }
  }
}
