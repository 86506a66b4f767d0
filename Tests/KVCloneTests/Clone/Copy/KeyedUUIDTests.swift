import Foundation
import KVCloneTestSupport
import Testing

@testable import KVClone

/// Rebuilt UUIDs (R16): SipHash-2-4-128 by its published definition, and the form of a version 4 UUID.
@Suite struct KeyedUUIDTests {
  @Test("the published test key and the input 00…0f give OpenSSL's SipHash-2-4-128")
  func vector() {
    let keyed = KeyedUUID(key0: 0x0706_0504_0302_0100, key1: 0x0F0E_0D0C_0B0A_0908)
    let (low, high) = keyed.hash(0x0706_0504_0302_0100, 0x0F0E_0D0C_0B0A_0908)
    let bytes = withUnsafeBytes(of: (low.littleEndian, high.littleEndian)) { Array($0) }
    #expect(bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() == "6ee2a4ca67b054bbfd3315bf85230577")
  }

  @Test("the same question has the same answer, another object or attribute another one")
  func answers() {
    let keyed = KeyedUUID(key0: 1, key1: 2)
    #expect(keyed.uuid(object: 7, attribute: 3) == keyed.uuid(object: 7, attribute: 3))
    #expect(keyed.uuid(object: 7, attribute: 3) != keyed.uuid(object: 8, attribute: 3))
    #expect(keyed.uuid(object: 7, attribute: 3) != keyed.uuid(object: 7, attribute: 4))
    #expect(keyed.uuid(object: 7, attribute: 3) != KeyedUUID().uuid(object: 7, attribute: 3))
  }

  @Test("version and variant bits are set")
  func form() {
    for object in 0..<1000 as Range<UInt64> {
      let uuid = KeyedUUID().uuid(object: object, attribute: 1).uuid
      #expect(uuid.6 >> 4 == 4)
      #expect(uuid.8 >> 6 == 2)
    }
  }
}
