#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The source of a clone's rebuilt UUIDs: SipHash-2-4 with a 128-bit result, keyed by 128 random bits of the operation,
/// over (new id, attribute). Equal inputs give equal UUIDs, so a value that a child follows need not be stored, and
/// without the key they are indistinguishable from random.
struct KeyedUUID: Sendable {
  private let key0: UInt64
  private let key1: UInt64

  init(key0: UInt64, key1: UInt64) {
    self.key0 = key0
    self.key1 = key1
  }

  /// Creates a random key.
  init() {
    var generator = SystemRandomNumberGenerator()
    self.init(key0: generator.next(), key1: generator.next())
  }

  /// The UUID for an attribute of a clone, in the form of version 4.
  func uuid(object: UInt64, attribute: UInt16) -> UUID {
    var words = words(object: object, attribute: attribute)
    return withUnsafeMutableBytes(of: &words) { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
  }

  /// The UUID's sixteen bytes, as two words in memory order.
  @inline(__always)
  func words(object: UInt64, attribute: UInt16) -> (UInt64, UInt64) {
    let (low, high) = hash(object, UInt64(attribute))
    // Byte 6 has the version, byte 8 the variant.
    return (
      (low & 0xFF0F_FFFF_FFFF_FFFF | 0x0040_0000_0000_0000).littleEndian,
      (high & 0xFFFF_FFFF_FFFF_FF3F | 0x80).littleEndian
    )
  }

  /// SipHash-2-4-128 of two words.
  func hash(_ word0: UInt64, _ word1: UInt64) -> (UInt64, UInt64) {
    var state = SipState(key0, key1)
    state.absorb(word0)
    state.absorb(word1)
    state.absorb(16 << 56)
    return state.finish()
  }
}

/// The four words of SipHash, by its published definition (Aumasson and Bernstein, 2012).
private struct SipState {
  var v0, v1, v2, v3: UInt64

  init(_ key0: UInt64, _ key1: UInt64) {
    v0 = key0 ^ 0x736F_6D65_7073_6575
    v1 = key1 ^ 0x646F_7261_6E64_6F6D ^ 0xEE
    v2 = key0 ^ 0x6C79_6765_6E65_7261
    v3 = key1 ^ 0x7465_6462_7974_6573
  }

  @inline(__always)
  private mutating func round() {
    v0 &+= v1
    v1 = v1 &<< 13 | v1 &>> 51
    v1 ^= v0
    v0 = v0 &<< 32 | v0 &>> 32
    v2 &+= v3
    v3 = v3 &<< 16 | v3 &>> 48
    v3 ^= v2
    v0 &+= v3
    v3 = v3 &<< 21 | v3 &>> 43
    v3 ^= v0
    v2 &+= v1
    v1 = v1 &<< 17 | v1 &>> 47
    v1 ^= v2
    v2 = v2 &<< 32 | v2 &>> 32
  }

  @inline(__always)
  mutating func absorb(_ word: UInt64) {
    v3 ^= word
    round()
    round()
    v0 ^= word
  }

  @inline(__always)
  mutating func finish() -> (UInt64, UInt64) {
    v2 ^= 0xEE
    for _ in 0..<4 { round() }
    let first = v0 ^ v1 ^ v2 ^ v3
    v1 ^= 0xDD
    for _ in 0..<4 { round() }
    return (first, v0 ^ v1 ^ v2 ^ v3)
  }
}
