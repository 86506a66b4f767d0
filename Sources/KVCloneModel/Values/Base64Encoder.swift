/// Encodes bytes incrementally as one base64 text (RFC 4648, padded), because a blob is never completely in memory.
package struct Base64Encoder {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  private var carry: UInt32 = 0
  private var carriedCount = 0

  package init() {}

  /// Encodes complete groups, and buffers up to two bytes.
  package mutating func append(_ bytes: UnsafeRawBufferPointer, to text: inout [UInt8]) {
    var group = carry
    var count = carriedCount
    text.append(addingCapacity: (bytes.count + count) / 3 * 4) { (span: inout OutputSpan<UInt8>) in
      span.withUnsafeMutableBufferPointer { buffer, place in
        Base64Encoder.alphabet.withUnsafeBufferPointer { alphabet in
          for byte in bytes {
            group = group << 8 | UInt32(byte)
            count += 1
            if count < 3 { continue }
            for index in 0..<4 { buffer[place + index] = alphabet[Int(group >> UInt32(18 - 6 * index) & 63)] }
            place += 4
            (group, count) = (0, 0)
          }
        }
      }
    }
    (carry, carriedCount) = (group, count)
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
