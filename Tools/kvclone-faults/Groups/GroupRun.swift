import KVClone
import Synchronization

/// Performs commits of a group of the workload concurrently, with writes that fail between them.
struct GroupRun: Sendable {
  /// The causes of failure of a write.
  enum Failure: CaseIterable {
    case error, missingValue, conflict

    /// Whether a write with this cause throws such an error.
    func isReason(for error: any Error) -> Bool {
      switch self {
      case .error: error is Failed
      case .missingValue: (error as? ValidationError)?.issues.map(\.kind) == [.requiredValueMissing]
      case .conflict: (error as? ValidationError)?.issues.contains { $0.kind == .uniquenessConflict } == true
      }
    }
  }

  /// The error of a write that throws.
  struct Failed: Error {}

  /// Bugs that the campaign must detect; see `SelfTestFaults`.
  enum PlantedBug: String, CaseIterable {
    /// A write is acknowledged within its transaction.
    case earlyGroup
    /// A write that did not happen is acknowledged.
    case lostWrite
    /// A write in the middle of the group stores only its counter.
    case skippedWrite
    /// The changes of a failed write are kept.
    case keptFailure
    /// Two writes have swapped commit numbers.
    case unorderedCommits
  }

  private let workload: Workload
  /// The commits to make.
  private let numbers: ClosedRange<Int>
  var plantedBug: PlantedBug?
  /// Called for each write that returns, in the order of commits.
  var didCommit: @Sendable (Acknowledgement) -> Void = { _ in }
  /// Called for each write that throws an unexpected error.
  var didFail: @Sendable (any Error) -> Void = { _ in }

  init(_ workload: Workload, _ numbers: ClosedRange<Int>) {
    self.workload = workload
    self.numbers = numbers
  }

  /// The results of the writes.
  private struct Outcome {
    /// The last write that returned.
    var last: Write?
    var failures: [any Error] = []
  }

  /// A write that has returned.
  private struct Write: Sendable {
    /// The index in the queue.
    let task: Int
    let number: Int
    /// The commit number of the store.
    let commit: UInt64
  }

  private typealias Body = @Sendable (inout WriteTransaction) throws -> Write

  /// - Throws: the first unexpected error of a write, after all writes have ended; ``Finding`` if a write has a wrong
  ///   result.
  func perform(on store: ObjectStore) throws {
    var staged: [Int: StagedBlob] = [:]
    for number in numbers { staged[number] = try workload.stagedData(number, store) }
    let failures = failures()
    let outcome = Mutex(Outcome())
    let writes = ConcurrentWrites<Write>(store) { task, result in
      do {
        let write = try result.get()
        if failures[task] != nil, plantedBug == .keptFailure { return }
        let last = outcome.withLock { outcome in
          defer { outcome.last = write }
          return outcome.last
        }
        if let finding = finding(write, task, failures[task], after: last) { throw finding }
        if plantedBug != .earlyGroup { didCommit(acknowledgement(of: write)) }
      } catch {
        if failures[task]?.isReason(for: error) == true { return }
        outcome.withLock { $0.failures.append(error) }
        didFail(error)
      }
    }
    writes.run(failures.enumerated().map { task, failure in body(task, failure, staged) })
    if plantedBug == .lostWrite { didCommit(Acknowledgement(numbers.upperBound)) }
    let (last, errors) = outcome.withLock { ($0.last, $0.failures) }
    if let error = errors.first(where: { $0 is Finding }) ?? errors.first { throw error }
    guard plantedBug == nil else { return }
    let counter = try store.info().commit
    if last?.number != numbers.upperBound || last?.commit != counter {
      throw Finding("the group \(numbers) ends with commit \(last?.number ?? 0), and the store's counter is \(counter)")
    }
  }

  private func acknowledgement(of write: Write) -> Acknowledgement {
    var commit = write.commit
    if plantedBug == .unorderedCommits {
      if write.number == numbers.lowerBound + 1 { commit += 1 }
      if write.number == numbers.lowerBound + 2 { commit -= 1 }
    }
    return Acknowledgement(write.number, as: commit)
  }

  /// Returns a finding if the result of a write is wrong.
  private func finding(_ write: Write, _ task: Int, _ failure: Failure?, after last: Write?) -> Finding? {
    if failure != nil { return Finding("a write that fails was committed in the group of commit \(write.number)") }
    if write.task != task { return Finding("a write returned the result of another one of its group") }
    if !numbers.contains(write.number) { return Finding("a write of the group \(numbers) is commit \(write.number)") }
    guard let last, write.number != last.number + 1 || task <= last.task else { return nil }
    return Finding(
      "commit \(write.number) of write \(task) of a group comes after commit \(last.number) of write \(last.task)")
  }

  /// The cause of failure of each task; nil for tasks that commit, one for each commit to make.
  private func failures() -> [Failure?] {
    var random = SeededGenerator(seed: workload.seed, stream: 14_000_000 + UInt64(numbers.lowerBound))
    var failures: [Failure?] = Array(repeating: nil, count: numbers.count)
    if plantedBug == .lostWrite { failures.removeLast() }
    for _ in 0..<(numbers.count + random.below(4)) / 4 {
      failures.insert(Failure.allCases[random.below(Failure.allCases.count)], at: random.below(failures.count + 1))
    }
    return failures
  }

  private func body(_ task: Int, _ failure: Failure?, _ staged: [Int: StagedBlob]) -> Body {
    let first = workload.step(of: numbers.lowerBound).lowerBound
    return { transaction in
      let number = try Workload.nextNumber(from: first, transaction)
      let write = Write(task: task, number: number, commit: transaction.session.commit)
      if let failure {
        try fail(failure, task, number, &transaction)
      } else if plantedBug == .skippedWrite, number == first + numbers.count / 2 {
        try workload.count(number, &transaction)
      } else {
        try workload.change(number, staged[number], &transaction)
        if plantedBug == .earlyGroup { didCommit(acknowledgement(of: write)) }
      }
      return write
    }
  }

  private func fail(
    _ failure: Failure, _ task: Int, _ number: Int, _ transaction: inout WriteTransaction
  ) throws {
    let random = SeededGenerator(seed: workload.seed, stream: 15_000_000 + UInt64(number * 1_000 + task))
    var step = WorkloadStep(random, number: number, workload.version(after: numbers.lowerBound), workload.savepointUse)
    try step.read(transaction)
    // The counter is incremented first, so that the failure must roll it back.
    try workload.count(number, &transaction)
    do {
      try step.fail(plantedBug == .keptFailure ? .error : failure, &transaction)
    } catch is Failed where plantedBug == .keptFailure {
      try workload.count(number - 1, &transaction)
    }
  }
}
