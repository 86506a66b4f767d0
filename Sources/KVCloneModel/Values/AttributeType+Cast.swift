#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Why a value cannot be cast to another type, as text that follows "cannot be cast: " and does not show the value.
package struct CastProblem: Error, Hashable {
  package let reason: String

  package init(_ reason: String) { self.reason = reason }
}

/// CAST of values: unlike ``AttributeType/coerce(_:)`` it parses and formats texts, drops fractions and rounds doubles,
/// as in SQL. A value without a meaning in the other type is an error, never nil.
extension AttributeType {
  /// Returns the value as one of this type.
  ///
  /// `Double`, also known as `NSNumber`, can represent any number: an integer or decimal without an equal double stays
  /// unchanged, as a decimal.
  package func cast(_ value: AttributeValue) throws(CastProblem) -> AttributeValue {
    switch self {
    case .undefined: return value
    case .boolean: return .boolean(try truth(value))
    case .integer16: return try integer(value, Int64(Int16.min)...Int64(Int16.max))
    case .integer32: return try integer(value, Int64(Int32.min)...Int64(Int32.max))
    case .integer64: return try integer(value, Int64.min...Int64.max)
    case .double: return try number(value)
    case .float: return try float(value)
    case .decimal: return .decimal(try decimal(value))
    case .date: return .date(Date(timeIntervalSinceReferenceDate: try seconds(value)))
    case .string: return .string(try text(value))
    case .uri: return .uri(try text(value))
    case .uuid:
      if case .uuid = value { return value }
      guard case .string(let text) = plain(value) else { throw mismatch }
      guard let uuid = UUID(uuidString: text) else { throw CastProblem("the text is not a UUID") }
      return .uuid(uuid)
    case .binary, .transformable: return try bytes(value)
    case .composite:
      guard case .composite = value else { throw mismatch }
      return value
    }
  }

  private var mismatch: CastProblem { CastProblem("a value of this type cannot be converted to \(rawValue)") }

  private var outOfRange: CastProblem { CastProblem("the number is out of range for \(rawValue)") }

  private var tooLong: CastProblem {
    CastProblem("the number has \(DecimalText.range)")
  }

  /// Reduces texts and floats to the one case that each is read by.
  private func plain(_ value: AttributeValue) -> AttributeValue {
    switch value {
    case .uri(let text): .string(text)
    case .float(let number): .double(Double(number))
    default: value
    }
  }

  // MARK: Numbers

  private static func decimalText(_ text: String) throws(CastProblem) -> DecimalText {
    guard let parts = DecimalText(text, isLoose: true) else {
      throw CastProblem("the text does not have a number's format")
    }
    return parts
  }

  /// Names of numbers without digits.
  private static func special(_ text: String) -> Double? {
    switch text {
    case "NaN": .nan
    case "Infinity": .infinity
    case "-Infinity": -.infinity
    default: nil
    }
  }

  private func truth(_ value: AttributeValue) throws(CastProblem) -> Bool {
    switch plain(value) {
    case .boolean(let flag): return flag
    case .integer(let number): return number != 0
    case .double(let number): return number != 0
    case .decimal(let number): return number != 0
    case .string(let text):
      switch text.lowercased() {
      case "yes", "true": return true
      case "no", "false": return false
      default:
        guard let parts = DecimalText(text, isLoose: true) else {
          throw CastProblem("the text is not YES, NO, TRUE, FALSE or a number")
        }
        return parts != DecimalText("0")
      }
    default: throw mismatch
    }
  }

  private func integer(_ value: AttributeValue, _ range: ClosedRange<Int64>) throws(CastProblem) -> AttributeValue {
    let whole: Int64?
    switch plain(value) {
    case .boolean(let flag): whole = flag ? 1 : 0
    case .integer(let number): whole = number
    case .double(let number): whole = Int64(exactly: number.rounded(.towardZero))
    case .date(let date): whole = Int64(exactly: date.timeIntervalSinceReferenceDate.rounded(.towardZero))
    case .decimal(let number): whole = number.isNaN ? nil : DecimalText(number.description)?.whole
    case .string(let text): whole = try Self.decimalText(text).whole
    default: throw mismatch
    }
    guard let whole, range.contains(whole) else { throw outOfRange }
    return .integer(whole)
  }

  private func number(_ value: AttributeValue) throws(CastProblem) -> AttributeValue {
    switch plain(value) {
    case .boolean(let flag): return .double(flag ? 1 : 0)
    case .integer(let number): return Double(exactly: number).map { .double($0) } ?? .decimal(Decimal(number))
    case .double(let number): return .double(number)
    case .decimal(let number): return AttributeType.double.coerce(.decimal(number)) ?? .decimal(number)
    case .date(let date): return .double(date.timeIntervalSinceReferenceDate)
    case .string(let text):
      if let special = Self.special(text) { return .double(special) }
      let parts = try Self.decimalText(text)
      let double = NumberText.double(text)
      // A fraction is rounded to a double, like a Double attribute's; an integer is not.
      if let double, !parts.isWhole || parts == DecimalText(double.description) { return .double(double) }
      guard let decimal = parts.value else { throw double == nil ? outOfRange : tooLong }
      return .decimal(decimal)
    default: throw mismatch
    }
  }

  private func float(_ value: AttributeValue) throws(CastProblem) -> AttributeValue {
    let float: Float
    switch try number(value) {
    case .double(let number):
      float = Float(number)
      if number.isFinite, !float.isFinite { throw outOfRange }
    case .decimal(let number): float = Float(number.description) ?? .nan
    default: throw mismatch
    }
    return .float(float)
  }

  private func decimal(_ value: AttributeValue) throws(CastProblem) -> Decimal {
    switch plain(value) {
    case .boolean(let flag): return flag ? 1 : 0
    case .integer(let number): return Decimal(number)
    case .decimal(let number): return number
    case .double(let number): return try decimal(number)
    case .date(let date): return try decimal(date.timeIntervalSinceReferenceDate)
    case .string("NaN"): return .nan
    case .string(let text):
      guard let decimal = try Self.decimalText(text).value else {
        throw tooLong
      }
      return decimal
    default: throw mismatch
    }
  }

  /// Converts a double by its printed form.
  private func decimal(_ number: Double) throws(CastProblem) -> Decimal {
    if number.isNaN { return .nan }
    guard let decimal = DecimalText(number.description)?.value else { throw outOfRange }
    return decimal
  }

  // MARK: Others

  private func seconds(_ value: AttributeValue) throws(CastProblem) -> Double {
    switch plain(value) {
    case .date(let date): return date.timeIntervalSinceReferenceDate
    case .boolean(let flag): return flag ? 1 : 0
    case .integer(let number): return Double(number)
    case .double(let number): return number
    case .decimal(let number): return Double(number.description) ?? .nan
    case .string(let text):
      switch CalendarText.read(text) {
      case .success(let seconds): return seconds
      case .failure(let problem): throw CastProblem("the text is not a date such as 2021-11-15T08:10:00Z: \(problem)")
      }
    default: throw mismatch
    }
  }

  private func text(_ value: AttributeValue) throws(CastProblem) -> String {
    switch value {
    case .string(let text), .uri(let text): return text
    case .boolean(let flag): return flag ? "1" : "0"
    case .integer(let number): return number.description
    case .double(let number): return number.description
    case .float(let number): return Double(number).description
    case .decimal(let number): return number.description
    case .uuid(let uuid): return uuid.uuidString
    case .date(let date):
      guard let text = CalendarText.text(secondsSince2001: date.timeIntervalSinceReferenceDate) else {
        throw CastProblem("the date is outside the years 0000 to 9999")
      }
      return text
    default: throw mismatch
    }
  }

  private func bytes(_ value: AttributeValue) throws(CastProblem) -> AttributeValue {
    if let same = coerce(value) { return same }
    guard case .string(let text) = plain(value) else { throw mismatch }
    guard let data = Data(base64Encoded: text) else { throw CastProblem("the text is not base64") }
    return self == .binary ? .binary(data) : .transformable(data)
  }
}
