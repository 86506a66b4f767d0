/// Encodes bytes incrementally as one base64 text (RFC 4648, padded), because a blob is never completely in memory.
package struct Base64Encoder {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  private var carry: UInt32 = 0
  private var carriedCount = 0

  package init() {}

  /// Encodes complete groups, and buffers up to two bytes.
  package mutating func append(_ bytes: UnsafeRawBufferPointer, to text: inout [UInt8]) {
    text.reserveCapacity(text.count + bytes.count / 3 * 4 + 8)
    let alphabet = Base64Encoder.alphabet
    for byte in bytes {
      carry = carry << 8 | UInt32(byte)
      carriedCount += 1
      if carriedCount < 3 { continue }
      text.append(alphabet[Int(carry >> 18 & 63)])
      text.append(alphabet[Int(carry >> 12 & 63)])
      text.append(alphabet[Int(carry >> 6 & 63)])
      text.append(alphabet[Int(carry & 63)])
      carry = 0
      carriedCount = 0
    }
  }

  /// Encodes the buffered bytes.
  package mutating func finish(into text: inout [UInt8]) {
    guard carriedCount > 0 else { return }
    let bits = carry << UInt32(8 * (3 - carriedCount))
    for index in 0..<4 {
      let code = Base64Encoder.alphabet[Int(bits >> UInt32(18 - 6 * index) & 63)]
      text.append(index <= carriedCount ? code : UInt8(ascii: "="))
    }
    carry = 0
    carriedCount = 0
  }
}
