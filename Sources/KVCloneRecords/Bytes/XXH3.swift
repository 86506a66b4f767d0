/// XXH3 of 64 bits by its published definition (https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md), with
/// the default secret and a seed, in one call.
///
/// Not cryptographic: it detects corruption, not forgery. The definition treats each class of lengths differently. Up
/// to 240 bytes, the length of keys and most records, the code has no loop, and the secret's words are constants in it.
@usableFromInline
package enum XXH3 {
  /// The hash of `count` bytes at `start`.
  @usableFromInline
  package static func hash(_ start: UnsafeRawPointer, count: Int, seed: UInt64) -> UInt64 {
    if count > 240 { return long(start, count, seed) }
    if count > 128 { return upTo240(start, count, seed) }
    if count > 16 { return upTo128(start, count, seed) }
    if count > 8 { return upTo16(start, count, seed) }
    if count >= 4 {
      let ends = (start.number(at: 0, UInt32.self), start.number(at: count &- 4, UInt32.self))
      return upTo8(UInt64(ends.0) &<< 32 | UInt64(ends.1), UInt64(count), seed)
    }
    return count > 0 ? upTo3(start, count, seed) : empty(seed: seed)
  }

  /// The hash of `bytes`.
  @inlinable
  package static func hash(_ bytes: RawSpan, seed: UInt64) -> UInt64 {
    bytes.withUnsafeBytes { hash($0, seed: seed) }
  }

  /// The hash of `bytes`.
  @inlinable
  package static func hash(_ bytes: UnsafeRawBufferPointer, seed: UInt64) -> UInt64 {
    guard let start = bytes.baseAddress else { return empty(seed: seed) }
    return hash(start, count: bytes.count, seed: seed)
  }

  /// The hash of the eight bytes of `littleEndianWord`, without loading them from memory.
  @inlinable @inline(__always)
  package static func hash(littleEndianWord word: UInt64, seed: UInt64) -> UInt64 {
    upTo8(XXH64.rotate(word, 32), 8, seed)
  }

  /// The hash of no bytes.
  @inlinable
  package static func empty(seed: UInt64) -> UInt64 {
    XXH64.avalanche(seed ^ (secret(56) ^ secret(64)))
  }
}

// MARK: Up to 240 bytes

extension XXH3 {
  @inline(__always)
  private static func upTo3(_ start: UnsafeRawPointer, _ count: Int, _ seed: UInt64) -> UInt64 {
    func byte(_ offset: Int) -> UInt64 { UInt64(start.load(fromByteOffset: offset, as: UInt8.self)) }
    let bytes = byte(0) &<< 16 | byte(count &>> 1) &<< 24 | byte(count &- 1) | UInt64(count) &<< 8
    return XXH64.avalanche(bytes ^ ((secret(0) & 0xFFFF_FFFF ^ secret(0) &>> 32) &+ seed))
  }

  /// Hashes 4 to 8 bytes: `ends` has the first four of them in its upper half, and the last four in its lower one.
  @inlinable @inline(__always)
  static func upTo8(_ ends: UInt64, _ count: UInt64, _ seed: UInt64) -> UInt64 {
    let swapped = UInt64(UInt32(truncatingIfNeeded: seed).byteSwapped)
    var hash = ends ^ ((secret(8) ^ secret(16)) &- (seed ^ swapped &<< 32))
    hash ^= XXH64.rotate(hash, 49) ^ XXH64.rotate(hash, 24)
    hash &*= 0x9FB2_1C65_1E98_DF25
    hash = (hash ^ (hash &>> 35 &+ count)) &* 0x9FB2_1C65_1E98_DF25
    return hash ^ hash &>> 28
  }

  @inline(__always)
  private static func upTo16(_ start: UnsafeRawPointer, _ count: Int, _ seed: UInt64) -> UInt64 {
    let low = word(start) ^ ((secret(24) ^ secret(32)) &+ seed)
    let high = word(start + (count &- 8)) ^ ((secret(40) ^ secret(48)) &- seed)
    return avalanche(UInt64(count) &+ low.byteSwapped &+ high &+ folded(low, high))
  }

  /// Hashes from both ends to the middle, where the last two blocks may overlap.
  @inline(__always)
  private static func upTo128(_ start: UnsafeRawPointer, _ count: Int, _ seed: UInt64) -> UInt64 {
    let end = start + count
    var hash = UInt64(count) &* XXH64.prime1
    hash &+= mix(start, 0, seed) &+ mix(end - 16, 16, seed)
    if count > 32 {
      hash &+= mix(start + 16, 32, seed) &+ mix(end - 32, 48, seed)
      if count > 64 {
        hash &+= mix(start + 32, 64, seed) &+ mix(end - 48, 80, seed)
        if count > 96 { hash &+= mix(start + 48, 96, seed) &+ mix(end - 64, 112, seed) }
      }
    }
    return avalanche(hash)
  }

  @inline(__always)
  private static func upTo240(_ start: UnsafeRawPointer, _ count: Int, _ seed: UInt64) -> UInt64 {
    var hash = UInt64(count) &* XXH64.prime1
    hash &+= mix(start, 0, seed) &+ mix(start + 16, 16, seed)
    hash &+= mix(start + 32, 32, seed) &+ mix(start + 48, 48, seed)
    hash &+= mix(start + 64, 64, seed) &+ mix(start + 80, 80, seed)
    hash &+= mix(start + 96, 96, seed) &+ mix(start + 112, 112, seed)
    let last = mix(start + (count &- 16), 119, seed)
    return avalanche(avalanche(hash) &+ last &+ beyond128(start, count, seed))
  }

  /// The contribution of whole blocks of 16 bytes after the first 128.
  @inline(__always)
  private static func beyond128(_ start: UnsafeRawPointer, _ count: Int, _ seed: UInt64) -> UInt64 {
    if count < 144 { return 0 }
    var sum = mix(start + 128, 3, seed)
    if count < 160 { return sum }
    sum &+= mix(start + 144, 19, seed)
    if count < 176 { return sum }
    sum &+= mix(start + 160, 35, seed)
    if count < 192 { return sum }
    sum &+= mix(start + 176, 51, seed)
    if count < 208 { return sum }
    sum &+= mix(start + 192, 67, seed)
    if count < 224 { return sum }
    sum &+= mix(start + 208, 83, seed)
    if count < 240 { return sum }
    return sum &+ mix(start + 224, 99, seed)
  }

  /// The contribution of 16 bytes, with the secret's 16 bytes from `offset` on.
  @inline(__always)
  private static func mix(_ start: UnsafeRawPointer, _ offset: Int, _ seed: UInt64) -> UInt64 {
    folded(word(start) ^ (secret(offset) &+ seed), word(start + 8) ^ (secret(offset &+ 8) &- seed))
  }
}

// MARK: Longer

extension XXH3 {
  /// Eight lanes of 64 bits: two or four vector registers.
  private typealias Stripe = SIMD8<UInt64>

  @inline(never)
  private static func long(_ start: UnsafeRawPointer, _ count: Int, _ seed: UInt64) -> UInt64 {
    let seeded: InlineArray<24, UInt64> = [
      (secret(0) &+ seed).littleEndian, (secret(8) &- seed).littleEndian,
      (secret(16) &+ seed).littleEndian, (secret(24) &- seed).littleEndian,
      (secret(32) &+ seed).littleEndian, (secret(40) &- seed).littleEndian,
      (secret(48) &+ seed).littleEndian, (secret(56) &- seed).littleEndian,
      (secret(64) &+ seed).littleEndian, (secret(72) &- seed).littleEndian,
      (secret(80) &+ seed).littleEndian, (secret(88) &- seed).littleEndian,
      (secret(96) &+ seed).littleEndian, (secret(104) &- seed).littleEndian,
      (secret(112) &+ seed).littleEndian, (secret(120) &- seed).littleEndian,
      (secret(128) &+ seed).littleEndian, (secret(136) &- seed).littleEndian,
      (secret(144) &+ seed).littleEndian, (secret(152) &- seed).littleEndian,
      (secret(160) &+ seed).littleEndian, (secret(168) &- seed).littleEndian,
      (secret(176) &+ seed).littleEndian, (secret(184) &- seed).littleEndian,
    ]
    return seeded.span.bytes.withUnsafeBytes { words in
      guard let secret = words.baseAddress else { return 0 }
      return long(start, count, secret)
    }
  }

  /// Blocks of 1,024 bytes, stripes of 64; the last stripe may overlap the one before.
  @inline(__always)
  private static func long(_ start: UnsafeRawPointer, _ count: Int, _ secret: UnsafeRawPointer) -> UInt64 {
    var lanes = Stripe(
      0xC2B2_AE3D, XXH64.prime1, XXH64.prime2, XXH64.prime3, XXH64.prime4, 0x85EB_CA77, XXH64.prime5, 0x9E37_79B1)
    var sums = Stripe.zero
    var next = start
    for _ in 0..<(count &- 1) &>> 10 {
      for index in 0..<16 { accumulate(next + 64 &* index, secret + 8 &* index, &lanes, &sums) }
      lanes = joined(lanes, sums)
      lanes = (lanes ^ lanes &>> 47 ^ stripe(secret + 128)) &* 0x9E37_79B1
      sums = .zero
      next += 1024
    }
    for index in 0..<((count &- 1) & 1023) &>> 6 {
      accumulate(next + 64 &* index, secret + 8 &* index, &lanes, &sums)
    }
    accumulate(start + (count &- 64), secret + 121, &lanes, &sums)
    lanes = joined(lanes, sums)
    var hash = UInt64(count) &* XXH64.prime1
    hash &+= folded(lanes[0] ^ word(secret + 11), lanes[1] ^ word(secret + 19))
    hash &+= folded(lanes[2] ^ word(secret + 27), lanes[3] ^ word(secret + 35))
    hash &+= folded(lanes[4] ^ word(secret + 43), lanes[5] ^ word(secret + 51))
    hash &+= folded(lanes[6] ^ word(secret + 59), lanes[7] ^ word(secret + 67))
    return avalanche(hash)
  }

  /// Accumulates 64 bytes. By the definition, each lane also adds the input of its neighbour: `sums` collects these, so
  /// that lanes are swapped once a block instead of once a stripe.
  @inline(__always)
  private static func accumulate(
    _ next: UnsafeRawPointer, _ secret: UnsafeRawPointer, _ lanes: inout Stripe, _ sums: inout Stripe
  ) {
    let input = stripe(next)
    let keyed = input ^ stripe(secret)
    sums &+= input
    lanes &+= (keyed & 0xFFFF_FFFF) &* (keyed &>> 32)
  }

  @inline(__always)
  private static func joined(_ lanes: Stripe, _ sums: Stripe) -> Stripe {
    lanes &+ Stripe(sums[1], sums[0], sums[3], sums[2], sums[5], sums[4], sums[7], sums[6])
  }

  @inline(__always)
  private static func stripe(_ address: UnsafeRawPointer) -> Stripe {
    Stripe(
      word(address), word(address + 8), word(address + 16), word(address + 24), word(address + 32), word(address + 40),
      word(address + 48), word(address + 56))
  }
}

// MARK: Steps

extension XXH3 {
  @inline(__always)
  private static func word(_ address: UnsafeRawPointer) -> UInt64 { address.number(at: 0, UInt64.self) }

  /// XORs both halves of the product.
  @inline(__always)
  private static func folded(_ first: UInt64, _ second: UInt64) -> UInt64 {
    let product = first.multipliedFullWidth(by: second)
    return product.low ^ product.high
  }

  @inline(__always)
  private static func avalanche(_ value: UInt64) -> UInt64 {
    let hash = (value ^ value &>> 37) &* 0x1656_6791_9E37_79F9
    return hash ^ hash &>> 32
  }

  /// Eight bytes of the default secret from `offset` on: a constant for a constant `offset`, as in all calls.
  @inlinable @inline(__always)
  static func secret(_ offset: Int) -> UInt64 {
    let bits = UInt64(offset & 7) &* 8
    let low = secretWord(offset &>> 3) &>> bits
    return bits == 0 ? low : low | secretWord(offset &>> 3 &+ 1) &<< (64 &- bits)
  }

  /// The words of the default secret.
  @inlinable @inline(__always)
  static func secretWord(_ index: Int) -> UInt64 {
    switch index {
    case 0: 0xBE4B_A423_396C_FEB8
    case 1: 0x1CAD_21F7_2C81_017C
    case 2: 0xDB97_9083_E96D_D4DE
    case 3: 0x1F67_B3B7_A4A4_4072
    case 4: 0x78E5_C0CC_4EE6_79CB
    case 5: 0x2172_FFCC_7DD0_5A82
    case 6: 0x8E24_43F7_7446_08B8
    case 7: 0x4C26_3A81_E690_35E0
    case 8: 0xCB00_C391_BB52_283C
    case 9: 0xA32E_531B_8B65_D088
    case 10: 0x4EF9_0DA2_9748_6471
    case 11: 0xD8AC_DEA9_46EF_1938
    case 12: 0x3F34_9CE3_3F76_FAA8
    case 13: 0x1D4F_0BC7_C7BB_DCF9
    case 14: 0x3159_B4CD_4BE0_518A
    case 15: 0x6473_78D9_C97E_9FC8
    case 16: 0xC3EB_D334_83AC_C5EA
    case 17: 0xEB63_13FA_FFA0_81C5
    case 18: 0x49DA_F0B7_51DD_0D17
    case 19: 0x9E68_D429_2655_16D3
    case 20: 0xFCA1_477D_58BE_162B
    case 21: 0xCE31_D07A_D1B8_F88F
    case 22: 0x2804_1695_8F3A_CB45
    default: 0x7E40_4BBB_CAFB_D7AF
    }
  }
}
