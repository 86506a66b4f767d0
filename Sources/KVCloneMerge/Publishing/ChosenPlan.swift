import KVCloneCore

/// The plan of a publish of chosen objects: an update of the branch, then the merge of these objects.
struct ChosenPlan: MergeSteps {
  /// The plan of the update, with conflicts as in a publish.
  let update: PlannedMerge
  /// The plan of the merge into the store.
  private(set) var merge: PlannedMerge
  private let conflicts: ConflictList<ResolvedConflict>
  private let openConflicts: ConflictList<ObjectConflict>

  init(update: PlannedMerge, merge: PlannedMerge) {
    self.update = update
    self.merge = merge
    conflicts = ConflictList(merging: update.conflicts, merge.conflicts, by: \.conflict.place)
    openConflicts = ConflictList(merging: update.openConflicts, merge.openConflicts, by: \.place)
  }

  var total: PlannedMerge {
    PlannedMerge(
      conflicts: conflicts, openConflicts: openConflicts,
      // Answers that do not fit the update may fit the merge.
      staleAnswers: merge.staleAnswers, issues: Array((update.issues + merge.issues).prefix(PlanReasons.limit)),
      issueCount: update.issueCount + merge.issueCount, counts: merge.counts, changes: merge.changes)
  }

  mutating func note(_ reasons: PlanReasons) { merge.note(reasons) }

  var estimatedByteCount: UInt64 { update.operations.estimatedByteCount + merge.operations.estimatedByteCount }
}
