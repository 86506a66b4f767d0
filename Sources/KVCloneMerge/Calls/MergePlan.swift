public import KVCloneCore
import KVCloneModel

/// The result of planning a merge: what the merge would do. Nothing is written.
public final class MergePlan: Sendable {
  /// The changed objects by concrete entity. Entities without changes are absent. The clones of a draft, which the
  /// merge deletes, do not count.
  public let counts: [String: MergeCount]
  /// All conflicts with their answers, in ascending order of ids, also those without an answer (``conflicts``).
  public let allConflicts: ConflictList<ResolvedConflict>
  /// The conflicts without an answer.
  public let conflicts: ConflictList<ObjectConflict>
  /// The first changes in ascending order of ids; see ``MergeOptions/listedChanges``.
  public let changes: [MergeChange]
  /// The first 100 rules of the model that the result would violate, and limits that it would exceed.
  public let issues: [PlanIssue]
  /// The number of violated rules and exceeded limits.
  public let issueCount: Int
  /// Answers of the call that no longer fit: their conflicts are gone, or have other values now (M12).
  public let staleAnswers: [ObjectConflict]
  /// The estimated size of what the merge writes, in bytes. Blobs are shared and do not count.
  public let bytesWritten: UInt64
  /// The estimated time under the write lock.
  public let lockDuration: Duration
  /// Whether the idempotency key is known: the merge would return the result of the first call, and change nothing
  /// (M11). The plan is then empty.
  public let isRepeated: Bool
  /// Whether the merge may not fit into the file or on the disk, and the plan has not run it.
  package let isNearLimit: Bool

  private let reader: @Sendable ((borrowing ReadTransaction) throws -> Void) throws -> Void

  package init(
    _ planned: PlannedMerge, changes: [MergeChange] = [], bytesWritten: UInt64 = 0, lockDuration: Duration = .zero,
    isNearLimit: Bool = false, isRepeated: Bool = false,
    reader: @escaping @Sendable ((borrowing ReadTransaction) throws -> Void) throws -> Void
  ) {
    counts = planned.counts
    allConflicts = planned.conflicts
    conflicts = planned.openConflicts
    self.changes = changes
    issues = planned.issues
    issueCount = planned.issueCount
    staleAnswers = planned.staleAnswers
    self.bytesWritten = bytesWritten
    self.lockDuration = lockDuration
    self.isNearLimit = isNearLimit
    self.isRepeated = isRepeated
    self.reader = reader
  }

  /// The changed objects of all entities.
  public var objects: MergeCount { MergeCount.total(of: counts) }

  /// Whether the merge succeeds, unless a hook rejects it, or another commit changes one of the sides before. The plan
  /// of a read-only store does not check whether the merge fits into the file and on the disk. No plan knows how much
  /// of the last free space the file system needs for itself.
  public var canMerge: Bool { conflicts.isEmpty && issueCount == 0 && staleAnswers.isEmpty }

  /// Reads the merged state like a store: fetches, objects and dumps show what the merge would leave. Where a conflict
  /// has no answer, ours remains.
  ///
  /// The state is computed for the call, in memory and without the write lock. Hooks are called as in a merge, except
  /// for `didSave`.
  ///
  /// - Throws: the error of `body`, and that of a hook that rejects the merge; `busy` if another transaction has
  ///   committed since the plan was made; `branchNotFound` if the branch was deleted.
  public func read<R>(_ body: (borrowing ReadTransaction) throws -> R) throws -> R {
    var result: R?
    try reader { transaction in result = try body(transaction) }
    guard let result else { throw StoreError(.closed, "the plan cannot be read; plan the merge again") }
    return result
  }
}

/// The result of a merge.
public struct MergeResult: Sendable {
  /// The changed objects by concrete entity. Entities without changes are absent. The clones of a draft, which the
  /// merge deletes, do not count.
  public internal(set) var counts: [String: MergeCount]
  /// The conflicts with the answers that were applied; empty if the idempotency key was known.
  public let resolved: ConflictList<ResolvedConflict>
  /// The names of the automatic snapshots of the states before the merge: of ours; for a publish, of the store if it
  /// was changed, and then of the branch.
  public internal(set) var snapshots: [String]
  /// The time from planning to the durable commit.
  public internal(set) var duration: Duration
  /// Whether the idempotency key was known: this is the result of the first call, and this call merged nothing (M11).
  public internal(set) var isRepeated = false

  /// The changed objects of all entities.
  public var objects: MergeCount { MergeCount.total(of: counts) }
}
