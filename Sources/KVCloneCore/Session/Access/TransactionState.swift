#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif
package import KVCloneRecords

/// The state of a write transaction that is not in its storage: the changed objects, what the caller sets for the whole
/// transaction, and what single features record until the commit.
///
/// A value, so that a savepoint restores all of it by assigning a copy. Empty and unused in a read transaction.
package struct TransactionState {
  /// The changed objects.
  package var changes = PendingChanges()

  // MARK: Set by the caller

  /// The author and the operation, for the history.
  package var author = ""
  package var operation = ""
  /// The policy for conflicts over uniqueness constraints.
  var mergePolicy = MergePolicy.error
  /// Whether objects that violate rules of the model are accepted: an import has reported them before.
  package var keepsBrokenObjects = false
  /// Returns the error that the commit throws for violations of rules; nil for ``ValidationError``.
  package var rejection: ((borrowing Session, [ValidationIssue]) -> any Error)?

  // MARK: Recorded by features

  /// The transaction's entry in the history; nil if history is disabled.
  package var history: HistoryRecorder?
  /// Records which objects were replaced in conflicts over uniqueness constraints, for use after the commit.
  package var replaced: ReplacedObjects?
  /// Work at the commit, after hooks and validation: what it reads is what the commit leaves.
  package var completions: [(inout Session) throws -> Void] = []
  /// Rejections by hooks, for the commit to report.
  package var refusals: [ValidationIssue] = []
  /// The use of the store's limits, if it has any.
  var limitUse = StoreLimits.Use()
  /// The value of `now()` in this transaction, once it was used; otherwise the time of the commit is used.
  package var now: Date?
  /// Whether any object has provenance (R33), once it was looked up.
  package var hasProvenance: Bool?

  package init() {}
}
