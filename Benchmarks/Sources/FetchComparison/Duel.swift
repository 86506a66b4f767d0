import BenchmarkSupport
import ItemPeers

/// Runs the same tasks with both peers in interleaved rounds.
struct Duel<Ours: Contestant, Theirs: Contestant> {
  private let ours: Ours
  private let theirs: Theirs
  private let graph: ItemGraph
  private(set) var round: FetchTask.Round
  /// Descriptions of differing results.
  private(set) var differences: [String] = []

  init(_ ours: Ours, _ theirs: Theirs, _ graph: ItemGraph, _ round: FetchTask.Round) {
    (self.ours, self.theirs, self.graph, self.round) = (ours, theirs, graph, round)
  }

  /// Runs a task: a few operations to determine the size of a round, a warm-up round, and the measured rounds.
  mutating func run(_ task: FetchTask, seconds: Double, rounds: Int) throws -> FetchMeasurement {
    report("\(task.name): \(task.title)")
    var measurement = FetchMeasurement(
      title: task.title, operation: task.operation, target: task.target, operations: task.operations.lowerBound, rows: 0
    )
    let first = try once(task, measurement.operations, oursFirst: true)
    let slowest = max(first.ours, first.theirs) / Double(measurement.operations)
    measurement.operations = task.operations.clamped(seconds / slowest)
    for number in 0...rounds {
      let count = measurement.operations
      let times = try once(task, count, oursFirst: number % 2 == 0)
      guard number > 0 else { continue }
      measurement.kvclone.append(times.ours / Double(count))
      measurement.sqlite.append(times.theirs / Double(count))
      measurement.rows = Double(times.rows) / Double(count)
    }
    let columns = [Measuring.median(measurement.kvclone), Measuring.median(measurement.sqlite)].map(measurement.text)
    report("  \(columns[0]) an operation, SQLite \(columns[1]): \(fixed(measurement.speedup, 2)) ×")
    return measurement
  }

  /// Runs one round of both peers, and compares their results.
  private mutating func once(_ task: FetchTask, _ count: Int, oursFirst: Bool) throws -> (
    ours: Double, theirs: Double, rows: Int
  ) {
    let before = round.nextID
    let work = task.work(graph, &round, count)
    let one: (seconds: Double, sum: RowSum)
    let other: (seconds: Double, sum: RowSum)
    if oursFirst {
      one = try timed { try ours.run(work) }
      other = try timed { try theirs.run(work) }
    } else {
      other = try timed { try theirs.run(work) }
      one = try timed { try ours.run(work) }
    }
    compare(task.title, one.sum, other.sum)
    try compareWritten(task.title, before..<round.nextID)
    return (one.seconds, other.seconds, one.sum.rows)
  }

  private func timed(_ body: () throws -> RowSum) throws -> (seconds: Double, sum: RowSum) {
    let clock = ContinuousClock()
    let start = clock.now
    let sum = try body()
    return ((clock.now - start).seconds, sum)
  }

  private mutating func compareWritten(_ title: String, _ ids: Range<Int>) throws {
    guard !ids.isEmpty else { return }
    let (one, other) = (try ours.readBack(ids), try theirs.readBack(ids))
    compare(title + ", read back", one, other)
    var expected = RowSum()
    for id in ids { expected.append(graph.item(id).digest) }
    expected.add(counted: ids.upperBound - 1)
    compare(title + ", read back, against what was to be written", one, expected)
  }

  private mutating func compare(_ title: String, _ one: RowSum, _ other: RowSum) {
    guard one != other else { return }
    let words =
      "\(title): \(grouped(one.rows)) rows with the sum \(one.sum), and \(grouped(other.rows)) with \(other.sum)"
    report("  DIFFERENT: \(words)")
    differences.append(words)
  }

  /// Runs readers beside a writer, and counts reads and writes per round.
  mutating func run(_ crowd: ItemCrowd, seconds: Double, rounds: Int) throws -> [FetchMeasurement] {
    let title = "\(ReaderCrowd.readerCount) readers by id beside a writer of single objects"
    report(title)
    var reads = FetchMeasurement(
      title: title + ": reads", operation: "read transaction", target: 1, operations: 0, rows: 1, isRate: true)
    var writes = FetchMeasurement(
      title: title + ": writes", operation: "durable transaction", target: 1, operations: 20, rows: 0, isRate: true)
    let first = try once(crowd, writes.operations, oursFirst: true)
    let slowest = max(first.ours.seconds, first.theirs.seconds) / Double(writes.operations)
    writes.operations = FetchTask.single.operations.clamped(seconds / slowest)
    for number in 0...rounds {
      let (one, other) = try once(crowd, writes.operations, oursFirst: number % 2 == 0)
      guard number > 0 else { continue }
      reads.kvclone.append(one.seconds / Double(max(1, one.reads)))
      reads.sqlite.append(other.seconds / Double(max(1, other.reads)))
      writes.kvclone.append(one.seconds / Double(one.writes))
      writes.sqlite.append(other.seconds / Double(other.writes))
    }
    for one in [reads, writes] {
      let columns = [Measuring.median(one.kvclone), Measuring.median(one.sqlite)].map(one.text)
      report("  \(one.operation)s: \(columns[0]), SQLite \(columns[1]): \(fixed(one.speedup, 2)) ×")
    }
    return [reads, writes]
  }

  private mutating func once(_ crowd: ItemCrowd, _ count: Int, oursFirst: Bool) throws -> (
    ours: ReaderCrowd.Outcome, theirs: ReaderCrowd.Outcome
  ) {
    let before = round.nextID
    let (items, seed) = (round.newItems(count, graph), round.random.next())
    let one: ReaderCrowd.Outcome
    let other: ReaderCrowd.Outcome
    if oursFirst {
      one = try crowd.run(ours, inserting: items, seed: seed)
      other = try crowd.run(theirs, inserting: items, seed: seed)
    } else {
      other = try crowd.run(theirs, inserting: items, seed: seed)
      one = try crowd.run(ours, inserting: items, seed: seed)
    }
    try compareWritten("readers beside a writer", before..<round.nextID)
    return (one, other)
  }
}

extension ClosedRange<Int> {
  /// The nearest integer in the range.
  func clamped(_ value: Double) -> Int { Int(Swift.min(Swift.max(value, Double(lowerBound)), Double(upperBound))) }
}
