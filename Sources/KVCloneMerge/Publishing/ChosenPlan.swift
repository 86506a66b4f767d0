import KVCloneCore

/// The plan of a publish of chosen objects: an update of the branch, then the merge of these objects.
struct ChosenPlan: MergeSteps {
  /// The plan of the update, with conflicts as in a publish.
  let update: PlannedMerge
  /// The plan of the merge into the store.
  var merge: PlannedMerge

  var total: PlannedMerge {
    PlannedMerge(
      conflicts: (update.conflicts + merge.conflicts).sorted { $0.conflict.place < $1.conflict.place },
      // Answers that do not fit the update may fit the merge.
      staleAnswers: merge.staleAnswers, issues: Array((update.issues + merge.issues).prefix(PlanReasons.limit)),
      issueCount: update.issueCount + merge.issueCount, operations: merge.operations, counts: merge.counts,
      united: merge.united)
  }

  mutating func note(_ reasons: PlanReasons) { merge.note(reasons) }
}
