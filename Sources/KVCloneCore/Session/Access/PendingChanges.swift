#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  import Foundation
#endif
package import KVCloneModel
package import KVCloneRecords

/// The changes of a write transaction so far: the objects that the commit must process, as bitmaps.
package struct PendingChanges {
  /// Inserted objects.
  package var inserted = ObjectSet()
  /// Changed objects that existed before.
  package var updated = ObjectSet()
  /// Objects with derived attributes that the commit must compute.
  package var derived = PendingDerivations()
  /// The value of `now()` in this transaction, once it was used; otherwise the time of the commit is used.
  package var now: Date?
  /// Objects changed since the last query; nil if nothing queries them.
  package var recent: ObjectSet?
  /// Whether objects that violate rules of the model are accepted: an import has reported them before.
  package var keepsBrokenObjects = false
  /// Rejections by hooks, for the commit to report.
  var refusals: [ValidationIssue] = []
  /// The values of transient attributes (R20): they live as long as the transaction.
  package var transients: [TransientKey: AttributeValue] = [:]
  /// The next free serial per root entity, if this transaction allocated any.
  package var nextSerials: [UInt16: UInt64] = [:]
  /// The next blob's serial, once one was allocated.
  package var nextBlobSerial: UInt64?
  /// The first failure that left a change incomplete; the transaction is then abort-only.
  package var failure: StoreError?
  /// The first error of the engine that left a change incomplete. The engine refuses everything since.
  private(set) var engineFailure: StoreError?
  /// Whether any object has provenance (R33), once it was looked up.
  package var hasProvenance: Bool?
  /// The transaction's entry in the history; nil if history is disabled.
  package var history: HistoryRecorder?
  /// The policy for conflicts over uniqueness constraints.
  var mergePolicy = MergePolicy.error
  /// Records which objects were replaced in such conflicts, for use after the commit.
  package var replaced: ReplacedObjects?
  /// The author and the operation, for the history.
  package var author = ""
  package var operation = ""
  /// The use of the store's limits, if it has any.
  var limitUse = StoreLimits.Use()
  /// Whether anything was written.
  package var isEmpty = true
  private var hasDeletes = false
  /// Undoes changes of the sets, once there was a savepoint. Sets of objects are references, which copies share.
  private(set) var journal: SerialJournal?

  /// Begins a savepoint of the sets.
  mutating func beginSavepoint() -> (SerialJournal, SerialJournal.Savepoint) {
    let journal = journal ?? SerialJournal()
    self.journal = journal
    derived.journal = journal
    history?.journal = journal
    return (journal, journal.begin())
  }

  package init() {}

  /// Whether the transaction only deleted.
  var isDeleteOnly: Bool { hasDeletes && inserted.isEmpty && nextSerials.isEmpty && nextBlobSerial == nil }

  package struct TransientKey: Hashable {
    let object: ObjectID
    let attribute: String

    package init(object: ObjectID, attribute: String) {
      self.object = object
      self.attribute = attribute
    }
  }

  /// Records an incomplete change: the transaction is abort-only from now on.
  package mutating func fail(_ error: any Error) {
    if engineFailure == nil, let error = error as? StoreError, [.mapFull, .diskFull, .io].contains(error.kind) {
      engineFailure = error
    }
    if failure != nil { return }
    let reason = (error as? any KVCloneError)?.message ?? "an operation failed after its first change"
    failure = StoreError(.transactionAborted, "the transaction was aborted: \(reason)")
  }

  /// Records an inserted object.
  package mutating func noteInsert(_ id: ObjectID) {
    inserted.insert(id, journal)
    recent?.insert(id, journal)
  }

  /// Records a change of an object that existed before.
  mutating func noteUpdate(_ id: ObjectID) {
    isEmpty = false
    if !inserted.contains(id) { updated.insert(id, journal) }
    recent?.insert(id, journal)
  }

  /// Records a change of a property of an object that existed before.
  mutating func noteUpdate(_ id: ObjectID, property: UInt16) {
    noteUpdate(id)
    history?.noteUpdate(id, property: property)
  }

  /// Like `noteUpdate`, for a change that needs no validation.
  mutating func noteUnvalidatedUpdate(_ id: ObjectID, property: UInt16) {
    isEmpty = false
    history?.noteUpdate(id, property: property)
  }

  /// Records that an object was deleted, which needs no validation.
  mutating func noteDelete(_ id: ObjectID) {
    isEmpty = false
    hasDeletes = true
    inserted.remove(id, journal)
    updated.remove(id, journal)
  }
}
