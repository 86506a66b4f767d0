/// A 32-byte hash of the stored data that a model or an entity describes. Equal hashes mean equal stored data.
public struct ModelHash: Hashable, Sendable {
  /// The 32 bytes.
  public let bytes: [UInt8]

  init(bytes: [UInt8]) {
    self.bytes = bytes
  }

  /// Parses 64 hexadecimal digits; nil for any other text.
  public init?(hex: String) {
    let digits = hex.utf8.compactMap { Character(UnicodeScalar($0)).hexDigitValue }
    guard hex.utf8.count == 64, digits.count == 64 else { return nil }
    bytes = (0..<32).map { UInt8(digits[2 * $0] << 4 | digits[2 * $0 + 1]) }
  }

  /// The hash as 64 lowercase hexadecimal digits.
  public var hex: String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }
}

extension ModelHash: CustomStringConvertible {
  /// The hash as hexadecimal digits.
  public var description: String { hex }
}

extension ModelHash: Codable {
  /// Decodes the hexadecimal form.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let hash = ModelHash(hex: try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "a model hash has 64 hexadecimal digits")
    }
    self = hash
  }

  /// Encodes the hexadecimal form.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(hex)
  }
}
