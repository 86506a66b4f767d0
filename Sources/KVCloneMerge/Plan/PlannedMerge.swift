package import KVCloneCore
package import KVCloneModel

/// The result of planning a merge: conflicts, errors, and the operations on ours.
package struct PlannedMerge: Sendable {
  /// All conflicts with their answers, in ascending order of ids.
  package let conflicts: [ResolvedConflict]
  /// Answers of the call for conflicts that are gone, or have other values now (M12).
  package let staleAnswers: [ObjectConflict]
  /// Violated rules of the model: the first 100.
  package internal(set) var issues: [PlanIssue]
  package internal(set) var issueCount: Int
  /// The operations in their order. Where a conflict has no answer, ours remains.
  package let operations: [MergeOperation]
  /// The changed objects by concrete entity.
  package let counts: [String: MergeCount]
  /// The objects of theirs that were united with one of ours, and the reverse: the id that is gone, and the one that
  /// remains.
  package let united: [ObjectID: ObjectID]

  /// A plan that changes nothing.
  static var unchanged: PlannedMerge {
    PlannedMerge(
      conflicts: [], staleAnswers: [], issues: [], issueCount: 0, operations: [], counts: [:], united: [:])
  }

  /// The conflicts without an answer.
  package var openConflicts: [ObjectConflict] { conflicts.filter { $0.answer == nil }.map(\.conflict) }

  /// Calls `body` with each operation in order. The order allows a merge of many changes to write while it reads.
  package func forEachOperation(_ body: (MergeOperation) throws -> Void) rethrows {
    for operation in operations { try body(operation) }
  }

  /// Throws the reason why the plan cannot be carried out.
  package func requireMergeable() throws(MergeError) {
    if !staleAnswers.isEmpty {
      throw MergeError(.staleAnswers, about: staleAnswers, "an answer no longer fits; plan the merge again")
    }
    let open = openConflicts
    if !open.isEmpty {
      throw MergeError(.conflicts, about: open, "answer the conflicts, or choose a policy; nothing was merged")
    }
    guard let first = issues.first else { return }
    let rest = issueCount > 1 ? " (and \(issueCount - 1) more)" : ""
    throw MergeError(
      .brokenRules, "\(first.message)\(rest); nothing was merged", entity: first.entity, property: first.property,
      object: first.object, issues: issues)
  }
}
