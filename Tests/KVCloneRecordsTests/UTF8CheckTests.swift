import Testing

@testable import KVCloneRecords

/// Texts become strings without a check by the standard library, so this check must reject exactly the same bytes.
@Suite("Whether bytes are UTF-8")
struct UTF8CheckTests {
  private static func isValid(_ bytes: [UInt8]) -> Bool {
    bytes.withUnsafeBytes { buffer in
      guard let base = buffer.baseAddress else { return true }
      return UTF8Check.isValid(base, count: buffer.count)
    }
  }

  private static func isText(_ bytes: [UInt8]) -> Bool { String(validating: bytes, as: UTF8.self) != nil }

  @Test("sequences of one to four bytes are judged as the library does")
  func shortSequences() {
    #expect(Self.isValid([]))
    var different: [[UInt8]] = []
    // These determine how bytes after the first are treated; all classes of table 3-7 are among them.
    let edges: [UInt8] = [0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC2, 0xDF, 0xE0, 0xF4, 0xFF]
    let few: [UInt8] = [0x41, 0x7F, 0x80, 0xBF, 0xC0]
    for first in UInt8.min...UInt8.max {
      var candidates = [[first]]
      for second in UInt8.min...UInt8.max { candidates.append([first, second]) }
      for second in edges {
        for third in edges {
          candidates.append([first, second, third])
          for fourth in few { candidates.append([first, second, third, fourth]) }
        }
      }
      for bytes in candidates where Self.isValid(bytes) != Self.isText(bytes) { different.append(bytes) }
    }
    #expect(different.isEmpty, "\(different.prefix(5))")
  }

  @Test("every scalar of Unicode is a text at every place next to eight bytes of ASCII")
  func scalars() {
    var refused: [UInt32] = []
    for number in UInt32(0x80)...0x10_FFFF {
      guard let scalar = Unicode.Scalar(number) else { continue }
      let place = Int(number % 9)
      let bytes = [UInt8](repeating: 0x61, count: place) + Array(String(scalar).utf8) + Array("abcdefgh".utf8)
      if !Self.isValid(bytes) { refused.append(number) }
    }
    #expect(refused.isEmpty, "\(refused.prefix(5))")
  }

  @Test("texts with some bytes changed or cut off are judged as the library does", arguments: [UInt64(1), 2, 3])
  func damagedTexts(seed: UInt64) {
    var generator = SeededGenerator(seed)
    let pieces = ["plain", " ", "ü", "ß", "€", "漢字", "😀", "a", "\u{7F}", "\u{80}", "\u{7FF}", "\u{FFFF}", "\u{10FFFF}"]
    for _ in 0..<20_000 {
      var bytes: [UInt8] = []
      for _ in 0..<Int.random(in: 0...12, using: &generator) {
        bytes += Array((pieces.randomElement(using: &generator) ?? "").utf8)
      }
      for _ in 0..<Int.random(in: 0...2, using: &generator) where !bytes.isEmpty {
        bytes[Int.random(in: 0..<bytes.count, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
      }
      if Bool.random(using: &generator) { bytes.removeLast(min(bytes.count, Int.random(in: 0...3, using: &generator))) }
      #expect(Self.isValid(bytes) == Self.isText(bytes), "seed \(seed): \(bytes)")
    }
  }
}
