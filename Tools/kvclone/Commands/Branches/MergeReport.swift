import KVClone
import KVCloneMerge

/// The facts about a merge, or the plan of one, for its output.
struct MergeReport {
  /// The number of conflicts and changes that a text has in full.
  static let limit = 100

  let isMerged: Bool
  let counts: [String: MergeCount]
  let objects: MergeCount
  /// The conflicts without an answer.
  let conflicts: ConflictList<ObjectConflict>
  /// The number of conflicts with an answer.
  let answeredCount: Int
  /// The first changes of a plan, in ascending order of ids.
  let changes: [MergeChange]
  /// The reasons why the merge would fail, except conflicts.
  let errors: [PlanIssue]
  let errorCount: Int
  let snapshots: [String]
  let duration: Duration
  let isRepeated: Bool
  /// The estimates of a plan.
  let estimates: (bytesWritten: UInt64, lock: Duration)?

  /// The printed conflicts without an answer.
  let shownConflicts: [ObjectConflict]
  /// The printed conflicts with an answer.
  let shownAnswers: [ResolvedConflict]

  /// - Parameters:
  ///   - duration: the time that planning took.
  ///   - isJSON: whether the document has all conflicts: answers are added to them.
  init(_ plan: MergePlan, _ duration: Duration, isJSON: Bool) {
    let limit = isJSON ? .max : Self.limit
    isMerged = false
    counts = plan.counts
    objects = plan.objects
    conflicts = plan.conflicts
    shownConflicts = Array(conflicts.prefix(limit))
    answeredCount = plan.allConflicts.count - conflicts.count
    shownAnswers = Array(plan.allConflicts.lazy.filter { $0.answer != nil }.prefix(limit))
    changes = plan.changes
    let stale = plan.staleAnswers.map { PlanIssue(MergeError(staleAnswersOf: [$0])) }
    errors = Array((stale + plan.issues).prefix(Self.limit))
    errorCount = stale.count + plan.issueCount
    snapshots = []
    self.duration = duration
    isRepeated = plan.isRepeated
    estimates = (plan.bytesWritten, plan.lockDuration)
  }

  init(_ result: MergeResult, isJSON: Bool) {
    isMerged = true
    counts = result.counts
    objects = result.objects
    (conflicts, shownConflicts) = ([], [])
    answeredCount = result.resolved.count
    shownAnswers = Array(result.resolved.prefix(isJSON ? .max : Self.limit))
    changes = []
    errors = []
    errorCount = 0
    snapshots = result.snapshots
    duration = result.duration
    isRepeated = result.isRepeated
    estimates = nil
  }

  /// The exit code of a plan.
  var code: Int32? {
    if !conflicts.isEmpty { return Failure.Code.conflicts }
    return errorCount > 0 ? Failure.Code.failure : nil
  }

  /// All values that are printed.
  var values: [ObjectConflict.Value] {
    let conflicts = shownConflicts + shownAnswers.map(\.conflict)
    let ofConflicts = conflicts.flatMap { [$0.base, $0.ours, $0.theirs] }
    let ofChanges = changes.flatMap(\.properties).flatMap { [$0.base, $0.ours, $0.theirs, $0.result] }
    let ofAnswers = shownAnswers.map(\.answer?.value)
    return (ofConflicts + ofChanges + ofAnswers).compactMap(\.self)
  }
}

extension ConflictAnswer {
  /// The value of an answer that is not a side.
  var value: ObjectConflict.Value? {
    switch self {
    case .side, .refuse: nil
    case .attribute(let value): .attribute(value)
    case .object(let id): .object(id)
    case .order(let ids): .members(ids)
    }
  }
}
