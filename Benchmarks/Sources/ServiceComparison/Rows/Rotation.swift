/// Interleaves contestants: each round starts with another one, so that the order varies.
struct Rotation {
  let rounds: Int
  /// Whether a warm-up round precedes the measured ones.
  var warmsUp = true

  /// Runs all contestants in every round.
  ///
  /// - Returns: the samples of each contestant.
  func run<Contestant: Sendable>(_ contestants: [Contestant], _ body: (Contestant) async throws -> Sample) async throws
    -> [[Sample]]
  {
    var samples = [[Sample]](repeating: [], count: contestants.count)
    for round in (warmsUp ? 0 : 1)...rounds {
      for place in contestants.indices {
        let index = (place + round) % contestants.count
        let sample = try await body(contestants[index])
        if round > 0 { samples[index].append(sample) }
      }
    }
    return samples
  }
}
