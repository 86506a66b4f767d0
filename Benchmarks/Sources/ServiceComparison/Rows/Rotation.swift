/// Interleaves contestants: each round begins with another one, so that none always comes after the same one.
struct Rotation {
  let rounds: Int

  /// Runs all contestants in one round that is not kept, and then in those that are.
  ///
  /// - Returns: the samples of each contestant.
  func run<Contestant: Sendable>(_ contestants: [Contestant], _ body: (Contestant) async throws -> Sample) async throws
    -> [[Sample]]
  {
    var samples = [[Sample]](repeating: [], count: contestants.count)
    for round in 0...rounds {
      for place in contestants.indices {
        let index = (place + round) % contestants.count
        let sample = try await body(contestants[index])
        if round > 0 { samples[index].append(sample) }
      }
    }
    return samples
  }
}
