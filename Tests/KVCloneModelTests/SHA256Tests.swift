import Testing

@testable import KVCloneModel

/// The test vectors that NIST publishes for SHA-256.
struct SHA256Tests {
  @Test(arguments: [
    ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    (
      "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
    ),
    (
      "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
        + "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
      "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"
    ),
  ])
  func publishedVectors(text: String, hex: String) {
    #expect(SHA256.hash(text.utf8).hex == hex)
  }

  @Test func aMillionTimesA() {
    let hash = SHA256.hash(repeatElement(UInt8(ascii: "a"), count: 1_000_000))
    #expect(hash.hex == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
  }

  @Test func piecesMakeTheSameHashAsTheWhole() {
    let bytes = (0..<300).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    for cut in [0, 1, 55, 56, 63, 64, 65, 128, 299, 300] {
      var hash = SHA256()
      hash.update(bytes[..<cut])
      hash.update(bytes[cut...])
      #expect(hash.finish() == SHA256.hash(bytes))
    }
  }

  @Test func hexadecimalReadsBack() {
    let hash = SHA256.hash("abc".utf8)
    #expect(ModelHash(hex: hash.hex) == hash)
    #expect(ModelHash(hex: hash.hex.uppercased()) == hash)
    #expect(ModelHash(hex: "abc") == nil)
    #expect(ModelHash(hex: String(repeating: "g", count: 64)) == nil)
  }
}
