import BenchmarkSupport

/// A writer with concurrent readers by id.
struct ReadersRow {
  let row: ServiceRow
  let title: String
  let crowd: ReaderCrowd
  let seconds: Double
  let rotation: Rotation

  func run(_ peers: [NumberedPeer<any CrowdedPeer>]) async throws -> RowResult {
    report("\(row.rawValue): \(title)")
    let samples = try await rotation.run(peers) { peer in try round(peer) }
    let contestants = zip(peers, samples).map { ContestantResult(title: $0.peer.title, samples: $1) }
    for one in contestants {
      report("  \(one.title): \(grouped(Int(one.rate))) writes/s, \(grouped(Int(one.readRate))) reads/s")
    }
    return RowResult(row: row, title: title, contestants: contestants)
  }

  private func round(_ peer: NumberedPeer<any CrowdedPeer>) throws -> Sample {
    let filledCount = peer.peer.filledCount
    var latencies: [Double] = []
    let outcome = try crowd.run(seed: UInt64(peer.count)) {
      let read = try peer.peer.makeReader()
      return { random in try read(1 + random.below(filledCount)) }
    } write: {
      var now = ContinuousClock.now
      let end = now + .seconds(seconds)
      while now < end {
        try peer.peer.insertBlocking(peer.next())
        let after = ContinuousClock.now
        latencies.append((after - now).seconds)
        now = after
      }
      return latencies.count
    }
    return Sample(
      operations: outcome.writes, seconds: outcome.seconds, latencies: Rounds(latencies), reads: outcome.reads)
  }
}
