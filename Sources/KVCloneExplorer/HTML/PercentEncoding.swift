/// The encoding of paths and queries (RFC 3986), and of forms, where a plus sign is a space.
enum PercentEncoding {
  /// Encodes everything except unreserved characters.
  static func encode(_ text: String) -> String {
    var result = ""
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "~"):
        result.unicodeScalars.append(Unicode.Scalar(byte))
      default:
        let digits = String(byte, radix: 16, uppercase: true)
        result += digits.count == 1 ? "%0\(digits)" : "%\(digits)"
      }
    }
    return result
  }

  /// Returns nil for an escape that is incomplete, and for bytes that are not UTF-8.
  static func decode(_ text: some StringProtocol, plusIsSpace: Bool = false) -> String? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count)
    var rest = text.utf8.makeIterator()
    while let byte = rest.next() {
      switch byte {
      case UInt8(ascii: "%"):
        guard let high = rest.next().flatMap(digit), let low = rest.next().flatMap(digit) else { return nil }
        bytes.append(high << 4 | low)
      case UInt8(ascii: "+") where plusIsSpace: bytes.append(UInt8(ascii: " "))
      default: bytes.append(byte)
      }
    }
    return String(validating: bytes, as: UTF8.self)
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    default: nil
    }
  }
}

/// The items of a query or a form, in their order.
struct QueryItems: Sendable, Equatable {
  private(set) var items: [(name: String, value: String)] = []

  init() {}

  /// Returns nil if a name or a value is not percent-encoded UTF-8.
  init?(_ encoded: some StringProtocol) {
    for part in encoded.split(separator: "&") {
      let sides = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard let name = PercentEncoding.decode(sides[0], plusIsSpace: true),
        let value = PercentEncoding.decode(sides.count > 1 ? sides[1] : "", plusIsSpace: true)
      else { return nil }
      items.append((name, value))
    }
  }

  static func == (left: QueryItems, right: QueryItems) -> Bool { left.text == right.text }

  /// The first value with a name.
  subscript(name: String) -> String? {
    get { items.first { $0.name == name }?.value }
    set {
      items.removeAll { $0.name == name }
      if let newValue { items.append((name, newValue)) }
    }
  }

  func all(_ name: String) -> [String] { items.filter { $0.name == name }.map(\.value) }

  mutating func append(_ name: String, _ value: String) { items.append((name, value)) }

  /// The encoded query, without a question mark.
  var text: String {
    items.map { "\(PercentEncoding.encode($0.name))=\(PercentEncoding.encode($0.value))" }.joined(separator: "&")
  }
}
