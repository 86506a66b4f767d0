/// A deterministic random number generator (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  /// Streams with different `stream` numbers are independent.
  init(seed: UInt64, stream: UInt64 = 0) {
    state = seed &* 0xD6E8_FEB8_6659_FD93 &+ stream &* 0xA076_1D64_78BD_642F
  }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  /// Returns a number below `bound`, which must be positive.
  mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

  /// Returns true with a probability of `percent`.
  mutating func chance(_ percent: Int) -> Bool { below(100) < percent }

  mutating func element<T>(_ values: [T]) -> T? { values.isEmpty ? nil : values[below(values.count)] }
}
