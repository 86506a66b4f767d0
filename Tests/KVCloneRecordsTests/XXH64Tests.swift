import KVCloneRecords
import Testing

/// The sanity buffer of xxHash's own tests.
private let sanityBuffer: [UInt8] = {
  var generator: UInt64 = 2_654_435_761
  return (0..<300).map { _ in
    defer { generator &*= 11_400_714_785_074_694_797 }
    return UInt8(generator >> 56)
  }
}()

/// Length, seed and hash, from the reference implementation (0, 1, 4, 14 and 222 are the published ones).
private let vectors: [(Int, UInt64, UInt64)] = [
  (0, 0, 0xEF46_DB37_51D8_E999), (0, 2_654_435_761, 0xAC75_FDA2_929B_17EF),
  (1, 0, 0xE934_A84A_DB05_2768), (1, 2_654_435_761, 0x5014_6076_43A9_B4C3),
  (4, 0, 0x9136_A0DC_A574_57EE), (4, 2_654_435_761, 0xCAAB_286B_D8E9_FDB5),
  (7, 0, 0x6C83_909A_9F01_ED25), (8, 0, 0xCDBC_F538_E71D_1348),
  (14, 0, 0x8282_DCC4_994E_35C8), (14, 2_654_435_761, 0xC3BD_6BF6_3DEB_6DF0),
  (31, 0, 0x299B_39A2_90E6_D783), (32, 0, 0x18B2_1649_2BB4_4B70), (33, 0, 0x55C8_DC3E_578F_5B59),
  (63, 0, 0xA9EF_BE0F_A0F3_F4E7), (64, 2_654_435_761, 0xB5EE_BA99_264C_C44F),
  (222, 0, 0xB641_AE8C_B691_C174), (222, 2_654_435_761, 0x20CB_8AB7_AE10_C14A),
  (300, 0, 0x27D0_E073_EC12_824F),
]

@Suite struct XXH64Tests {
  @Test func vectorsOfTheDefinition() {
    for (length, seed, expected) in vectors {
      let bytes = Array(sanityBuffer.prefix(length))
      #expect(XXH64.hash(bytes.span.bytes, seed: seed) == expected, "length \(length)")
      #expect(bytes.withUnsafeBytes { XXH64.hash($0, seed: seed) } == expected, "length \(length)")
    }
    let text = Array("Nobody inspects the spammish repetition".utf8)
    #expect(XXH64.hash(text.span.bytes, seed: 0) == 0xFBCE_A83C_8A37_8BF1)
  }

  @Test func streamInAnyPiecesEqualsOneCall() {
    var generator = SeededGenerator(1)
    for length in 0...300 {
      let bytes = Array(sanityBuffer.prefix(length))
      var stream = XXH64Stream(seed: 7)
      var rest = bytes[...]
      while !rest.isEmpty {
        let piece = Array(rest.prefix(Int.random(in: 1...70, using: &generator)))
        stream.update(piece.span.bytes)
        rest = rest.dropFirst(piece.count)
      }
      #expect(stream.finalize() == XXH64.hash(bytes.span.bytes, seed: 7), "length \(length), seed 1")
    }
  }

  @Test func streamMayGoOnAfterItWasAsked() {
    var stream = XXH64Stream(seed: 0)
    stream.update(Array(sanityBuffer.prefix(14)).span.bytes)
    #expect(stream.finalize() == 0x8282_DCC4_994E_35C8)
    stream.update(Array(sanityBuffer[14..<222]).span.bytes)
    #expect(stream.finalize() == 0xB641_AE8C_B691_C174)
  }
}
