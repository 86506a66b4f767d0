package import KVClone

/// The documents of clones and their plans, which the tool and the explorer share.
extension JSONWriter {
  /// Writes the members of the document of a completed clone.
  package mutating func cloneResult(
    _ result: CloneResult, roots: [String], touched: [String], deleted: [String] = []
  ) {
    member("root", roots.first)
    member("roots", roots)
    cloneFacts(
      objects: result.objectCount, counts: result.counts, affectedObjectCount: result.affectedObjectCount,
      touched: touched,
      blobsShared: result.blobsShared, bytes: (result.bytesShared, result.bytesCopied, result.bytesWritten),
      duration: result.duration)
    member("committed", true)
    if result.isRepeated {
      member("repeated", true)
      member("deleted", deleted)
    }
  }

  /// Writes the members of the document of a plan.
  package mutating func clonePlan(_ plan: ClonePlan, touched: [String]) {
    cloneFacts(
      objects: plan.objectCount, counts: plan.counts, affectedObjectCount: plan.affectedObjectCount,
      touched: touched,
      blobsShared: plan.blobsShared, bytes: (plan.bytesShared, plan.bytesCopied, plan.bytesWritten),
      duration: plan.duration)
    member("committed", false)
    if plan.isRepeated { member("repeated", true) }
    member("lockSeconds", plan.estimatedLockDuration.inSeconds)
    rulesAndErrors(of: plan)
  }

  private mutating func cloneFacts(
    objects: Int, counts: [String: Int], affectedObjectCount: Int, touched: [String], blobsShared: Int,
    bytes: (shared: UInt64, copied: UInt64, written: UInt64), duration: Duration
  ) {
    member("objects", objects)
    member("counts", counts)
    member("touchedCount", affectedObjectCount)
    member("touched", touched)
    member("blobsShared", blobsShared)
    member("bytesShared", bytes.shared)
    member("bytesCopied", bytes.copied)
    member("bytesWritten", bytes.written)
    member("seconds", duration.inSeconds)
  }

  /// Writes the rules, the tree of entities, and the errors.
  private mutating func rulesAndErrors(of plan: ClonePlan) {
    list("rules", plan.rules) { json, rule in
      json.member("entity", rule.entity)
      json.member("property", rule.property)
      json.member("rule", rule.rule)
    }
    list("branches", plan.branches) { json, branch in
      json.member("entity", branch.entity)
      json.member("relationship", branch.relationship)
      json.member("toMany", branch.isToMany)
      json.member("action", branch.action.rawValue)
      json.member("rule", branch.rule)
      json.member("rootAction", branch.rootAction.rawValue)
      json.member("rootRule", branch.rootRule)
      json.member("destinations", branch.destinations)
    }
    reasons(plan.errors, count: plan.errorCount)
  }
}
