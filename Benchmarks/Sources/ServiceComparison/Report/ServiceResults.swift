import BenchmarkSupport

/// The measurements of one contestant in one round of a row.
struct Sample: Sendable {
  var operations: Int
  var seconds: Double
  /// The durations of single operations, if each was timed.
  var latencies = Rounds([])
  /// The processor time of the process in seconds; nil if other work ran in it.
  var processorSeconds: Double?
  /// Reads by other threads during the same time.
  var reads = 0
  /// The peak of a process's anonymous memory; 0 if it was not sampled.
  var anonymousBytes = 0
  /// Bytes read from the disk.
  var diskBytesRead = 0
}

/// All rounds of a contestant.
struct ContestantResult {
  var title: String
  var samples: [Sample] = []

  /// Operations per second.
  var rate: Double { Measuring.median(samples.map { Double($0.operations) / $0.seconds }) }
  var seconds: Rounds { Rounds(samples.map(\.seconds)) }
  var readRate: Double { Measuring.median(samples.map { Double($0.reads) / $0.seconds }) }
  var anonymousBytes: Int { samples.map(\.anonymousBytes).max() ?? 0 }
  var diskBytesRead: Double { Measuring.median(samples.map { Double($0.diskBytesRead) }) }

  /// The processor time of an operation, which excludes waits for the disk; nil if unknown.
  var processorSeconds: Double? {
    let seconds = samples.compactMap { sample in sample.processorSeconds.map { $0 / Double(sample.operations) } }
    return seconds.isEmpty ? nil : Measuring.median(seconds)
  }

  /// The median over rounds of the given percentile of latencies.
  func latency(_ share: Double) -> Double { Measuring.median(samples.map { $0.latencies.percentile(share) }) }
}

/// The results of a row.
struct RowResult {
  var row: ServiceRow
  var title: String
  var contestants: [ContestantResult]

  subscript(_ contestant: String) -> ContestantResult? {
    contestants.first { $0.title == contestant && !$0.samples.isEmpty }
  }
}

/// The results of a run.
struct ServiceResults {
  var isQuick: Bool
  var sizes: ServiceSizes { isQuick ? .quick : .full }
  var rows: [RowResult] = []
  var syncs: [SyncFigures] = []
  /// Measurements that failed.
  var failures: [String] = []
  var seconds = 0.0

  subscript(_ row: ServiceRow) -> RowResult? { rows.first { $0.row == row } }
}
