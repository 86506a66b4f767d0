import BenchmarkSupport

/// What one contestant did in one round of a row.
struct Sample: Sendable {
  var operations: Int
  var seconds: Double
  /// How long single operations took, where each was timed.
  var latencies = Rounds([])
  /// Seconds that the process kept processors busy; nil where other work ran in it.
  var processorSeconds: Double?
  /// Reads by other threads in the same time.
  var reads = 0
  /// The peak of a process's anonymous memory; 0 where it was not looked at.
  var anonymousBytes = 0
  /// Bytes that were read from the disk.
  var diskBytesRead = 0
}

/// All rounds of a contestant.
struct ContestantResult {
  var title: String
  var samples: [Sample] = []

  /// Operations a second.
  var rate: Double { Measuring.median(samples.map { Double($0.operations) / $0.seconds }) }
  var seconds: Rounds { Rounds(samples.map(\.seconds)) }
  var readRate: Double { Measuring.median(samples.map { Double($0.reads) / $0.seconds }) }
  var anonymousBytes: Int { samples.map(\.anonymousBytes).max() ?? 0 }
  var diskBytesRead: Double { Measuring.median(samples.map { Double($0.diskBytesRead) }) }

  /// Processor time of an operation, which a wait for the disk is not in; nil where it is not known.
  var processorSeconds: Double? {
    let seconds = samples.compactMap { sample in sample.processorSeconds.map { $0 / Double(sample.operations) } }
    return seconds.isEmpty ? nil : Measuring.median(seconds)
  }

  /// The median of what a share of a round's operations did not exceed.
  func latency(_ share: Double) -> Double { Measuring.median(samples.map { $0.latencies.percentile(share) }) }
}

/// What was measured of a row.
struct RowResult {
  var row: ServiceRow
  var title: String
  var contestants: [ContestantResult]

  subscript(_ contestant: String) -> ContestantResult? {
    contestants.first { $0.title == contestant && !$0.samples.isEmpty }
  }
}

/// What a whole run found.
struct ServiceResults {
  var isQuick: Bool
  var sizes: ServiceSizes { isQuick ? .quick : .full }
  var rows: [RowResult] = []
  var syncs: [SyncFigures] = []
  /// What could not be looked at.
  var failures: [String] = []
  var seconds = 0.0

  subscript(_ row: ServiceRow) -> RowResult? { rows.first { $0.row == row } }
}
