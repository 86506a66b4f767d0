package import KVCloneCore
import KVCloneLMDB
import KVCloneModel
import KVCloneRecords

/// The result of planning a merge: conflicts, errors, and the operations on ours.
package struct PlannedMerge: Sendable {
  /// All conflicts with their answers, in ascending order of ids.
  package let conflicts: ConflictList<ResolvedConflict>
  /// The conflicts without an answer.
  package let openConflicts: ConflictList<ObjectConflict>
  /// Answers of the call for conflicts that are gone, or have other values now (M12).
  package let staleAnswers: [ObjectConflict]
  /// Violated rules of the model: the first 100.
  package internal(set) var issues: [PlanIssue]
  package internal(set) var issueCount: Int
  /// The changed objects by concrete entity.
  package let counts: [String: MergeCount]
  var changes: PlannedChanges

  /// A plan that changes nothing.
  static func unchanged(_ schema: Schema, scratchDirectory: String) -> PlannedMerge {
    let space = ScratchSpace(directory: scratchDirectory)
    return PlannedMerge(
      conflicts: [], openConflicts: [], staleAnswers: [], issues: [], issueCount: 0, counts: [:],
      changes: PlannedChanges(
        OperationLog(schema, in: space), united: ObjectMap(in: space), inserted: ObjectSet(),
        attributes: MergedAttributes(in: space)))
  }

  /// The operations in their order. Where a conflict has no answer, ours remains.
  package var operations: OperationLog { changes.operations }

  /// Calls `body` with each operation in order. The order allows a merge of many changes to write while it reads.
  package func forEachOperation<E: Error>(_ body: (MergeOperation) throws(E) -> Void) throws(E) {
    try operations.forEach { (operation, _) throws(E) in try body(operation) }
  }

  /// Whether nothing prevents the merge.
  var canMerge: Bool { staleAnswers.isEmpty && openConflicts.isEmpty && issueCount == 0 }

  /// Throws the reason why the plan cannot be carried out.
  package func requireMergeable() throws(MergeError) {
    if !staleAnswers.isEmpty {
      throw MergeError(staleAnswersOf: ConflictList(staleAnswers))
    }
    if !openConflicts.isEmpty {
      throw MergeError(
        .conflicts, about: openConflicts, "answer the conflicts, or choose a policy; nothing was merged")
    }
    guard let first = issues.first else { return }
    let rest = issueCount > 1 ? " (and \(issueCount - 1) more)" : ""
    throw MergeError(
      .brokenRules, "\(first.message)\(rest); nothing was merged", entity: first.entity, property: first.property,
      object: first.object, issues: issues)
  }
}

/// The changes of a plan.
///
/// Sendable because they are not changed once the plan is made, reading takes no lock, and one object owns all that
/// shares a scratch space.
final class PlannedChanges: @unchecked Sendable {
  let operations: OperationLog
  /// The objects of theirs that were united with one of ours, and the reverse: the id that is gone, and the one that
  /// remains.
  let united: ObjectMap
  /// The inserted objects.
  let inserted: ObjectSet
  /// The changed attributes, also of inserted objects where they differ from theirs.
  let attributes: MergedAttributes

  init(_ operations: OperationLog, united: ObjectMap, inserted: ObjectSet, attributes: MergedAttributes) {
    self.operations = operations
    self.united = united
    self.inserted = inserted
    self.attributes = attributes
  }
}
