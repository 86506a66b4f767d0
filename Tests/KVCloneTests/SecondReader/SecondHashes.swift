import KVCloneTestSupport

/// XXH64, implemented from its published definition.
func secondXXH64(_ bytes: some Collection<UInt8>, seed: UInt64) -> UInt64 {
  let hash = bytes.withContiguousStorageIfAvailable { xxh64(UnsafeRawBufferPointer($0), seed) }
  return hash ?? Array(bytes).withUnsafeBytes { xxh64($0, seed) }
}

/// The five primes of 64 bits.
private let primes: (UInt64, UInt64, UInt64, UInt64, UInt64) = (
  0x9E37_79B1_85EB_CA87, 0xC2B2_AE3D_27D4_EB4F, 0x1656_67B1_9E37_79F9, 0x85EB_CA77_C2B2_AE63, 0x27D4_EB2F_1656_67C5
)

private func rotate(_ x: UInt64, _ by: UInt64) -> UInt64 { x &<< by | x &>> (64 &- by) }

private func round(_ lane: UInt64, _ input: UInt64) -> UInt64 { rotate(lane &+ input &* primes.1, 31) &* primes.0 }

private func xxh64(_ bytes: UnsafeRawBufferPointer, _ seed: UInt64) -> UInt64 {
  let count = bytes.count
  var at = 0
  var hash: UInt64
  if count >= 32 {
    var a = seed &+ primes.0 &+ primes.1
    var b = seed &+ primes.1
    var c = seed
    var d = seed &- primes.0
    while at &+ 32 <= count {
      a = round(a, bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self))
      b = round(b, bytes.loadUnaligned(fromByteOffset: at &+ 8, as: UInt64.self))
      c = round(c, bytes.loadUnaligned(fromByteOffset: at &+ 16, as: UInt64.self))
      d = round(d, bytes.loadUnaligned(fromByteOffset: at &+ 24, as: UInt64.self))
      at = at &+ 32
    }
    hash = rotate(a, 1) &+ rotate(b, 7) &+ rotate(c, 12) &+ rotate(d, 18)
    for lane in [a, b, c, d] { hash = (hash ^ round(0, lane)) &* primes.0 &+ primes.3 }
  } else {
    hash = seed &+ primes.4
  }
  hash = hash &+ UInt64(count)
  while at + 8 <= count {
    let lane = bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self)
    hash = rotate(hash ^ round(0, lane), 27) &* primes.0 &+ primes.3
    at += 8
  }
  if at + 4 <= count {
    let lane = UInt64(bytes.loadUnaligned(fromByteOffset: at, as: UInt32.self))
    hash = rotate(hash ^ lane &* primes.0, 23) &* primes.1 &+ primes.2
    at += 4
  }
  while at < count {
    hash = rotate(hash ^ UInt64(bytes[at]) &* primes.4, 11) &* primes.0
    at += 1
  }
  hash = (hash ^ hash &>> 33) &* primes.1
  hash = (hash ^ hash &>> 29) &* primes.2
  return hash ^ hash &>> 32
}

/// XXH3 of 64 bits with a seed, implemented from its published definition.
func secondXXH3(_ bytes: some Collection<UInt8>, seed: UInt64) -> UInt64 {
  let hash = bytes.withContiguousStorageIfAvailable { xxh3(UnsafeRawBufferPointer($0), seed) }
  return hash ?? Array(bytes).withUnsafeBytes { xxh3($0, seed) }
}

/// The secret: 192 bytes.
private let secret: [UInt8] = [
  0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c,
  0xde, 0xd4, 0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f,
  0xcb, 0x79, 0xe6, 0x4e, 0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21,
  0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43, 0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6, 0x81, 0x3a, 0x26, 0x4c,
  0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb, 0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3,
  0x71, 0x64, 0x48, 0x97, 0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19, 0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8,
  0xa8, 0xfa, 0x76, 0x3f, 0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7, 0xc7, 0x0b, 0x4f, 0x1d,
  0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31, 0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78, 0x73, 0x64,
  0xea, 0xc5, 0xac, 0x83, 0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff, 0xfa, 0x13, 0x63, 0xeb,
  0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26, 0x29, 0xd4, 0x68, 0x9e,
  0x2b, 0x16, 0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc, 0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce,
  0x45, 0xcb, 0x3a, 0x8f, 0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e,
]

private func u32(_ bytes: UnsafeRawBufferPointer, _ at: Int) -> UInt64 {
  UInt64(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: at, as: UInt32.self)))
}

private func u64(_ bytes: UnsafeRawBufferPointer, _ at: Int) -> UInt64 {
  UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self))
}

private func secretWord(_ at: Int) -> UInt64 { secret.withUnsafeBytes { u64($0, at) } }

private func fold(_ a: UInt64, _ b: UInt64) -> UInt64 {
  let product = UInt128(a) * UInt128(b)
  return UInt64(truncatingIfNeeded: product) ^ UInt64(product >> 64)
}

private func avalanche(_ x: UInt64) -> UInt64 {
  let mixed = (x ^ x >> 37) &* 0x1656_6791_9E37_79F9
  return mixed ^ mixed >> 32
}

private func avalancheOfXXH64(_ x: UInt64) -> UInt64 {
  var mixed = (x ^ x >> 33) &* primes.1
  mixed = (mixed ^ mixed >> 29) &* primes.2
  return mixed ^ mixed >> 32
}

private func mix(_ bytes: UnsafeRawBufferPointer, _ at: Int, secret offset: Int, _ seed: UInt64) -> UInt64 {
  fold(
    u64(bytes, at) ^ (secretWord(offset) &+ seed), u64(bytes, at + 8) ^ (secretWord(offset + 8) &- seed))
}

private func xxh3(_ bytes: UnsafeRawBufferPointer, _ seed: UInt64) -> UInt64 {
  let count = bytes.count
  switch count {
  case 0: return avalancheOfXXH64(seed ^ secretWord(56) ^ secretWord(64))
  case 1...3:
    let word = UInt64(bytes[0]) << 16 | UInt64(bytes[count / 2]) << 24 | UInt64(bytes[count - 1]) | UInt64(count) << 8
    let key = secretWord(0) & 0xFFFF_FFFF ^ secretWord(0) >> 32
    return avalancheOfXXH64(word ^ (key &+ seed))
  case 4...8:
    let modified = seed ^ UInt64(UInt32(truncatingIfNeeded: seed).byteSwapped) << 32
    var x = (u32(bytes, count - 4) + u32(bytes, 0) << 32) ^ ((secretWord(8) ^ secretWord(16)) &- modified)
    x ^= rotate(x, 49) ^ rotate(x, 24)
    x = x &* 0x9FB2_1C65_1E98_DF25
    x ^= (x >> 35) + UInt64(count)
    x = x &* 0x9FB2_1C65_1E98_DF25
    return x ^ x >> 28
  case 9...16:
    let low = u64(bytes, 0) ^ ((secretWord(24) ^ secretWord(32)) &+ seed)
    let high = u64(bytes, count - 8) ^ ((secretWord(40) ^ secretWord(48)) &- seed)
    return avalanche(UInt64(count) &+ low.byteSwapped &+ high &+ fold(low, high))
  case 17...128:
    var sum = UInt64(count) &* primes.0
    for round in 0...(count - 1) / 32 {
      sum &+= mix(bytes, 16 * round, secret: 32 * round, seed)
      sum &+= mix(bytes, count - 16 * round - 16, secret: 32 * round + 16, seed)
    }
    return avalanche(sum)
  case 129...240:
    var sum = UInt64(count) &* primes.0
    for round in 0..<8 { sum &+= mix(bytes, 16 * round, secret: 16 * round, seed) }
    sum = avalanche(sum)
    for round in 8..<count / 16 { sum &+= mix(bytes, 16 * round, secret: 16 * (round - 8) + 3, seed) }
    return avalanche(sum &+ mix(bytes, count - 16, secret: 136 - 17, seed))
  default: return xxh3Long(bytes, seed)
  }
}

private func xxh3Long(_ bytes: UnsafeRawBufferPointer, _ seed: UInt64) -> UInt64 {
  let count = bytes.count
  let words = (0..<24).map { $0 % 2 == 0 ? secretWord(8 * $0) &+ seed : secretWord(8 * $0) &- seed }
  return words.map(\.littleEndian).withUnsafeBytes { derived in
    var lanes: [UInt64] = [
      0xC2B2_AE3D, primes.0, primes.1, primes.2, primes.3, 0x85EB_CA77, primes.4, 0x9E37_79B1,
    ]
    func accumulate(_ stripe: Int, _ offset: Int) {
      for lane in 0..<8 {
        let value = u64(bytes, stripe + 8 * lane)
        let key = value ^ u64(derived, offset + 8 * lane)
        lanes[lane ^ 1] &+= value
        lanes[lane] &+= (key & 0xFFFF_FFFF) * (key >> 32)
      }
    }
    let blocks = (count - 1) / 1024
    for block in 0..<blocks {
      for stripe in 0..<16 { accumulate(1024 * block + 64 * stripe, 8 * stripe) }
      for lane in 0..<8 {
        lanes[lane] ^= lanes[lane] >> 47 ^ u64(derived, 128 + 8 * lane)
        lanes[lane] &*= 0x9E37_79B1
      }
    }
    for stripe in 0..<(count - 1 - 1024 * blocks) / 64 { accumulate(1024 * blocks + 64 * stripe, 8 * stripe) }
    accumulate(count - 64, 192 - 64 - 7)
    var sum = UInt64(count) &* primes.0
    for pair in 0..<4 {
      sum &+= fold(lanes[2 * pair] ^ u64(derived, 11 + 16 * pair), lanes[2 * pair + 1] ^ u64(derived, 19 + 16 * pair))
    }
    return avalanche(sum)
  }
}
