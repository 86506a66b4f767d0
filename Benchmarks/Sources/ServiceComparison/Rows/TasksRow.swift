import BenchmarkSupport

/// Concurrent tasks that each write objects one after another, each in its own durable transaction.
struct TasksRow {
  let row: ServiceRow
  let title: String
  let taskCount: Int
  /// The duration of a round.
  let seconds: Double
  let rotation: Rotation

  func run(_ peers: [NumberedPeer<any DurablePeer>]) async throws -> RowResult {
    report("\(row.rawValue): \(title)")
    let samples = try await rotation.run(peers) { peer in try await round(peer) }
    let contestants = zip(peers, samples).map { ContestantResult(title: $0.peer.title, samples: $1) }
    for one in contestants {
      report(
        "  \(one.title): \(grouped(Int(one.rate)))/s, p50 \(duration(one.latency(0.5))), "
          + "p99 \(duration(one.latency(0.99)))")
    }
    return RowResult(row: row, title: title, contestants: contestants)
  }

  private func round(_ peer: NumberedPeer<any DurablePeer>) async throws -> Sample {
    let processorBefore = Measuring.processorSeconds()
    let start = ContinuousClock.now
    let end = start + .seconds(seconds)
    let latencies = try await withThrowingTaskGroup(of: [Double].self) { group in
      for _ in 0..<taskCount { group.addTask { try await Self.write(peer, until: end) } }
      return try await group.reduce(into: []) { $0 += $1 }
    }
    let took = (ContinuousClock.now - start).seconds
    return Sample(
      operations: latencies.count, seconds: took, latencies: Rounds(latencies),
      processorSeconds: Measuring.processorSeconds() - processorBefore)
  }

  /// Returns the duration of each transaction.
  private static func write(_ peer: NumberedPeer<any DurablePeer>, until end: ContinuousClock.Instant) async throws
    -> [Double]
  {
    var latencies: [Double] = []
    var now = ContinuousClock.now
    while now < end {
      try await peer.peer.insert(peer.next())
      let after = ContinuousClock.now
      latencies.append((after - now).seconds)
      now = after
    }
    return latencies
  }
}
