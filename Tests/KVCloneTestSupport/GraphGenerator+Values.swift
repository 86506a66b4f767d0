import Foundation
import KVCloneModel

extension GraphGenerator {
  /// Returns a valid value, an edge case more often than not; sometimes nil where that is allowed.
  mutating func value(for attribute: AttributeDescription) -> AttributeValue? {
    if attribute.isOptional && random.chance(in: 6) { return nil }
    for _ in 0..<4 {
      if let value = candidate(attribute), ValueRules.problem(value, for: attribute) == nil { return value }
    }
    let bounds = [attribute.defaultValue] + boundaryValues(attribute)
    let valid = bounds.compactMap { $0 }.filter { ValueRules.problem($0, for: attribute) == nil }
    return valid.randomElement(using: &random)
  }

  /// Returns a value that is unique within the root entity, as far as the type has enough values.
  mutating func uniqueValue(for attribute: AttributeDescription, serial: Int) -> AttributeValue? {
    if attribute.isOptional && random.chance(in: 10) { return nil }
    let value: AttributeValue? =
      switch attribute.type {
      case .integer16, .integer32, .integer64: .integer(Int64(serial))
      case .decimal: .decimal(Decimal(serial))
      case .double: .double(Double(serial))
      case .float: .float(Float(serial))
      case .string: .string("u\(serial)")
      case .uri: .uri("x:\(serial)")
      case .date: .date(Date(timeIntervalSinceReferenceDate: Double(serial)))
      case .binary: .binary(Data("\(serial)".utf8))
      case .transformable: .transformable(Data("\(serial)".utf8))
      default: candidate(attribute)
      }
    return ValueRules.problem(value, for: attribute) == nil ? value : self.value(for: attribute)
  }

  private func boundaryValues(_ attribute: AttributeDescription) -> [AttributeValue?] {
    guard attribute.type != .string && attribute.type != .uri else {
      var lengths = [1, 5]
      if case .integer(let least)? = attribute.minValue { lengths.append(Int(clamping: least)) }
      if case .integer(let most)? = attribute.maxValue { lengths.append(Int(clamping: min(most, 4096))) }
      return lengths.filter { $0 >= 0 }.flatMap { length -> [AttributeValue?] in
        let texts = ["a", "A", "1", "é"].map { String(repeating: $0, count: length) }
        return attribute.type == .string ? texts.map { .string($0) } : texts.map { .uri($0) }
      }
    }
    return [attribute.minValue, attribute.maxValue]
  }

  private mutating func candidate(_ attribute: AttributeDescription) -> AttributeValue? {
    switch attribute.type {
    case .integer16: return .integer(integer(Int64(Int16.min), Int64(Int16.max)))
    case .integer32: return .integer(integer(Int64(Int32.min), Int64(Int32.max)))
    case .integer64: return .integer(integer(.min, .max))
    case .boolean: return .boolean(random.chance(in: 2))
    case .double: return Self.doubles.randomElement(using: &random).map { .double($0) }
    case .float: return Self.doubles.randomElement(using: &random).map { .float(Float($0)) }
    case .decimal:
      return Self.decimals.randomElement(using: &random).flatMap { $0 == "NaN" ? .nan : Decimal(string: $0) }
        .map { .decimal($0) }
    case .string: return .string(text())
    case .uri:
      return .uri(["x:", "https://example.org/ü?q=1#\(random.below(1000))", "file:///a%20b"][random.below(3)])
    case .uuid: return .uuid(uuid())
    case .date:
      let number = random.chance(in: 2) ? Double(random.below(1 << 40)) / 1024 : nil
      let seconds = number ?? Self.seconds.randomElement(using: &random)
      return seconds.map { .date(Date(timeIntervalSinceReferenceDate: $0)) }
    case .binary: return .binary(data())
    case .transformable: return .transformable(data())
    case .composite:
      var elements: [String: AttributeValue] = [:]
      for element in attribute.elements { elements[element.name] = value(for: element) }
      return elements.isEmpty ? nil : .composite(elements)
    case .undefined: return nil
    }
  }

  private mutating func integer(_ least: Int64, _ most: Int64) -> Int64 {
    switch random.below(6) {
    case 0: least
    case 1: most
    case 2: [0, 1, -1][random.below(3)]
    case 3: Int64(random.below(256))
    default: Int64.random(in: least...most, using: &random)
    }
  }

  private mutating func text() -> String {
    switch random.below(12) {
    case 0: return ""
    case 1: return "👩‍👩‍👧‍👦🇪🇺 e\u{301} é \u{FEFF}"
    case 2: return "quote \" backslash \\ tab \t newline \n control \u{1} nul \u{0} end"
    case 3: return String(repeating: "long text ", count: 60) + "\(random.below(1000))"
    case 4 where random.chance(in: 5): return String(repeating: "ß", count: 20_000)
    case 5: return ["x", "abc", "u1", "A-z_0"][random.below(4)]
    default: return "text \(random.next())"
    }
  }

  private mutating func data() -> Data {
    let sizes = [0, 10, 10, 10, 64, 200, 5_000]
    let count = random.chance(in: 25) ? 70_000 : sizes[random.below(sizes.count)]
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count + 8)
    while bytes.count < count { withUnsafeBytes(of: random.next()) { bytes.append(contentsOf: $0) } }
    return Data(bytes.prefix(count))
  }

  private mutating func uuid() -> UUID {
    let bytes = (0..<16).map { _ in UInt8.random(in: 0...255, using: &random) }
    return NSUUID(uuidBytes: bytes) as UUID
  }

  private static let doubles: [Double] = [
    0, -0.0, 1, -1, 0.1, 0.1 + 0.2, Double.pi, 1e21, -1e-7, .leastNonzeroMagnitude, 1.5, -2.25,
    .greatestFiniteMagnitude,
    .leastNormalMagnitude, 16_777_217, 9_007_199_254_740_992, .infinity, -.infinity, .nan,
  ]

  private static let decimals = [
    "0", "1", "-1", "0.1", "-3.75", "3.5", "12345678901234567890123456789012345678",
    "-0.12345678901234567890123456789012345678", "1e100", "1e-100", "NaN", "99999999999999999999.99",
  ]

  /// Before 2001, before 1970, fractions without an exact binary form, the limits of the calendar, and far beyond them.
  private static let seconds: [Double] = [
    0, 0.25, -0.25, 658_736_123.123456, -978_307_200, -978_307_200.1, 410_227_200.000001, -63_114_076_800, 252e9,
    1e13, -1e13, 4.5e15, 1e300, 0.1, 1e-9, 345_000_000.5,
  ]
}
