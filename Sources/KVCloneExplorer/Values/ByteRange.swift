/// A `Range` header field with a single range of bytes (RFC 9110).
enum ByteRange: Equatable {
  /// No range, or one that a server ignores: the whole value.
  case whole
  case part(Range<UInt64>)
  /// A range beyond the end.
  case unsatisfiable

  init(_ header: String?, size: UInt64) {
    guard let header, header.utf8.count <= 100, header.lowercased().hasPrefix("bytes=") else {
      self = .whole
      return
    }
    let sides = header.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
    guard sides.count == 2, let first = Self.number(sides[0]), let last = Self.number(sides[1]) else {
      self = .whole
      return
    }
    switch (first, last) {
    case (nil, nil): self = .whole
    case (nil, let length?):
      self = length == 0 || size == 0 ? .unsatisfiable : .part(size - min(size, length)..<size)
    case (let first?, let last):
      if let last, last < first {
        self = .whole
      } else if first >= size {
        self = .unsatisfiable
      } else {
        self = .part(first..<(last.map { $0 < size - 1 ? $0 + 1 : size } ?? size))
      }
    }
  }

  /// Returns nil for anything except digits, and an absent number for an empty text.
  private static func number(_ text: Substring) -> UInt64?? {
    let digits = text.drop { $0 == " " }
    if digits.isEmpty { return .some(nil) }
    guard digits.utf8.allSatisfy({ (48...57).contains($0) }) else { return .none }
    // A number beyond 64 bits is beyond every value.
    return .some(UInt64(digits) ?? .max)
  }
}
