/// A hash of 128 bits, different in each process: values with equal hashes are taken for equal.
struct WideHash: Hashable, BitwiseCopyable {
  private let first: Int
  private let second: Int

  /// - Parameter combine: adds the value to a hasher.
  init(_ combine: (inout Hasher) -> Void) {
    func hash(_ seed: Int) -> Int {
      var hasher = Hasher()
      hasher.combine(seed)
      combine(&hasher)
      return hasher.finalize()
    }
    (first, second) = (hash(1), hash(2))
  }
}
