/// SplitMix64: a random number generator with a seed as its only state, so that a failing test can be repeated.
public struct SeededGenerator: RandomNumberGenerator, Sendable {
  private var state: UInt64

  /// Starts at `seed`; equal seeds give equal sequences.
  public init(seed: UInt64) { state = seed }

  /// Returns the next 64 bits.
  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// Returns true with a probability of 1 in `count`.
  public mutating func chance(in count: Int) -> Bool { Int.random(in: 0..<count, using: &self) == 0 }

  /// Returns a number below `count`.
  ///
  /// - Precondition: `count` is positive.
  public mutating func below(_ count: Int) -> Int { Int.random(in: 0..<count, using: &self) }
}
