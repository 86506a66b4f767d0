/// XXH64 by its published definition (https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md), in one call.
///
/// For values that other programs compute too: digests of blobs (`xxh64sum`), and the checksum of the format record.
/// All other checksums are ``XXH3``. Not cryptographic: it detects corruption, not forgery.
@usableFromInline
package enum XXH64 {
  @inlinable static var prime1: UInt64 { 0x9E37_79B1_85EB_CA87 }
  @inlinable static var prime2: UInt64 { 0xC2B2_AE3D_27D4_EB4F }
  @inlinable static var prime3: UInt64 { 0x1656_67B1_9E37_79F9 }
  @inlinable static var prime4: UInt64 { 0x85EB_CA77_C2B2_AE63 }
  @inlinable static var prime5: UInt64 { 0x27D4_EB2F_1656_67C5 }

  /// The hash of `bytes`.
  package static func hash(_ bytes: RawSpan, seed: UInt64) -> UInt64 {
    bytes.withUnsafeBytes { hash($0, seed: seed) }
  }

  /// The hash of `bytes`.
  package static func hash(_ bytes: UnsafeRawBufferPointer, seed: UInt64) -> UInt64 {
    var stream = XXH64Stream(seed: seed)
    stream.update(bytes)
    return stream.finalize()
  }

  @inline(__always)
  static func load64(_ address: UnsafeRawPointer) -> UInt64 {
    UInt64(littleEndian: address.loadUnaligned(as: UInt64.self))
  }

  @inlinable @inline(__always)
  static func rotate(_ value: UInt64, _ bits: UInt64) -> UInt64 {
    (value &<< bits) | (value &>> (64 &- bits))
  }

  @inline(__always)
  static func round(_ lane: UInt64, _ input: UInt64) -> UInt64 {
    rotate(lane &+ input &* prime2, 31) &* prime1
  }

  @inline(__always)
  static func merge(_ hash: UInt64, _ lane: UInt64) -> UInt64 {
    (hash ^ round(0, lane)) &* prime1 &+ prime4
  }

  @inline(__always)
  static func converge(_ lane1: UInt64, _ lane2: UInt64, _ lane3: UInt64, _ lane4: UInt64) -> UInt64 {
    var hash = rotate(lane1, 1) &+ rotate(lane2, 7) &+ rotate(lane3, 12) &+ rotate(lane4, 18)
    hash = merge(hash, lane1)
    hash = merge(hash, lane2)
    hash = merge(hash, lane3)
    return merge(hash, lane4)
  }

  @inline(__always)
  static func mix8(_ hash: UInt64, _ word: UInt64) -> UInt64 {
    rotate(hash ^ round(0, word), 27) &* prime1 &+ prime4
  }

  /// Hashes the last (up to 31) bytes and applies the avalanche.
  @inline(__always)
  static func finish(_ start: UInt64, _ first: UnsafeRawPointer, _ end: UnsafeRawPointer) -> UInt64 {
    var hash = start
    var next = first
    while end - next >= 8 {
      hash = mix8(hash, load64(next))
      next += 8
    }
    if end - next >= 4 {
      let word = UInt64(UInt32(littleEndian: next.loadUnaligned(as: UInt32.self)))
      hash = rotate(hash ^ (word &* prime1), 23) &* prime2 &+ prime3
      next += 4
    }
    while next < end {
      hash = rotate(hash ^ (UInt64(next.load(as: UInt8.self)) &* prime5), 11) &* prime1
      next += 1
    }
    return avalanche(hash)
  }

  @inlinable @inline(__always)
  static func avalanche(_ value: UInt64) -> UInt64 {
    var hash = value
    hash = (hash ^ (hash &>> 33)) &* prime2
    hash = (hash ^ (hash &>> 29)) &* prime3
    return hash ^ (hash &>> 32)
  }
}
