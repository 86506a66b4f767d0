import KVClone

/// Steps of the workload with several commits: groups of concurrent asynchronous writes.
///
/// The changes of a write in a group depend on its position in commit order and not on its task. A write determines its
/// position with a counter in the store, which it increments: the number of the first project. The content after each
/// commit is therefore deterministic, although writes between them fail.
extension Workload {
  /// Groups end at the workload's limits and not at a timeout, which would depend on the speed of the machine.
  static let groupCommit: GroupCommitOptions = {
    var options = GroupCommitOptions()
    options.maximumCount = 64
    options.maximumDuration = .seconds(3_600)
    return options
  }()

  /// The commits that run concurrently with this one: its group, or the commit alone.
  func step(of number: Int) -> ClosedRange<Int> {
    guard kind(number) == .grouped, !makesCopies else { return number...number }
    var (first, last) = (number, number)
    while first > 1, kind(first - 1) == .grouped { first -= 1 }
    while last < commitCount, kind(last + 1) == .grouped { last += 1 }
    return first...last
  }

  /// The commits of each group.
  var groups: [ClosedRange<Int>] {
    (1...commitCount).filter { kind($0) == .grouped }.map(step(of:)).reduce(into: []) { groups, group in
      if groups.last != group { groups.append(group) }
    }
  }

  /// The last commit that can be durable after this acknowledged one; −1 is none.
  func lastUnderWay(after acknowledged: Int) -> Int {
    acknowledged < commitCount ? step(of: acknowledged + 1).upperBound : acknowledged
  }

  /// The last commit of the step that is `count` steps after that of a commit, or of the workload.
  func end(_ count: Int, stepsAfter number: Int) -> Int {
    var last = min(step(of: number).upperBound, commitCount)
    for _ in 0..<count { last = lastUnderWay(after: last) }
    return last
  }

  /// The number of the next write of a group.
  static func nextNumber<T: ObjectReading & ~Copyable>(
    from first: Int, _ transaction: borrowing T
  ) throws -> Int {
    guard let project = try ids(of: "Project", in: transaction).first,
      case .integer(let number) = try transaction.value(project, "number")
    else { return first }
    return max(first, Int(number) + 1)
  }

  /// Increments the counter of the group to this number.
  func count(_ number: Int, _ transaction: inout WriteTransaction) throws {
    guard let project = try Workload.ids(of: "Project", in: transaction).first else {
      throw Finding("the store has no project to count commits with")
    }
    try transaction.set(project, "number", .integer(Int64(number)))
  }

  /// Uploads the blob that the write of this number uses; nil for writes without a blob.
  func stagedData(_ number: Int, _ store: ObjectStore) throws -> StagedBlob? {
    guard number == step(of: number).lowerBound + 2 else { return nil }
    var random = SeededGenerator(seed: seed, stream: 7_000_000 + UInt64(number))
    let bytes = Workload.bytes(6_000 + random.below(6_000), &random)
    return try store.stageBlob { try $0.append(bytes) }
  }

  /// Performs one write of a group in its own commit.
  func writeOne(_ number: Int, _ store: ObjectStore) throws {
    let staged = try stagedData(number, store)
    try store.write { transaction in
      let next = try Workload.nextNumber(from: step(of: number).lowerBound, transaction)
      guard next == number else { throw Finding("commit \(number) of a group is commit \(next)") }
      try change(number, staged, &transaction)
    }
  }

  /// Performs the changes of the write of this number.
  func change(_ number: Int, _ staged: StagedBlob?, _ transaction: inout WriteTransaction) throws {
    var step = WorkloadStep(
      SeededGenerator(seed: seed, stream: UInt64(number)), number: number, version(after: number),
      savepointUse)
    try count(number, &transaction)
    try step.read(transaction)
    try step.changeInGroup(staged, &transaction)
  }
}

extension WorkloadStep {
  /// The changes of a write in a group, besides the counter.
  mutating func changeInGroup(_ staged: StagedBlob?, _ transaction: inout WriteTransaction) throws {
    if let staged, let project = projects.last {
      // A staged blob that was used in a rolled-back savepoint can be used again.
      try savepoint(isKept: false, &transaction) { try $1.setData(project, "notes", staged) }
      try transaction.setData(project, "notes", staged)
    }
    if random.chance(25) { try insertPhoto(&transaction, byteCount: 500 + random.below(4_000)) }
    if random.chance(20) {
      try savepoint(isKept: random.chance(50), &transaction) { try $0.change(1, &$1) }
    }
    try change(1, &transaction)
  }

  /// Makes some changes, then fails in the given way.
  mutating func fail(_ failure: GroupRun.Failure, _ transaction: inout WriteTransaction) throws {
    try changeInGroup(nil, &transaction)
    try insertPhoto(&transaction)
    switch failure {
    case .error: throw GroupRun.Failed()
    case .missingValue: _ = try transaction.insert("Tag")
    case .conflict:
      let name = try tags.first.flatMap { try transaction.value($0, "name") } ?? .string("")
      for _ in 0..<2 { _ = try transaction.insert("Tag", ["name": name]) }
    }
  }
}
