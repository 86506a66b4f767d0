#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  import Foundation
#endif
package import KVCloneModel
package import KVCloneRecords

/// What a write transaction has changed so far: the objects that a commit has to look at, in bits.
package struct PendingChanges {
  /// Objects that came into being.
  package var inserted = ObjectSet()
  /// Objects of before that changed.
  package var updated = ObjectSet()
  /// Objects whose derived attributes the commit has to compute.
  package var derived = PendingDerivations()
  /// What `now()` gives in this transaction, once something has been told so; else the time of the commit.
  package var now: Date?
  /// Objects that changed since somebody asked; nil where nobody does.
  package var recent: ObjectSet?
  /// Whether the objects are kept as they are, whatever rules of the model they break: an import has listed those
  /// before.
  package var keepsBrokenObjects = false
  /// What hooks refused, for the commit to tell.
  var refusals: [ValidationIssue] = []
  /// Values of transient attributes (R20): they live as long as the transaction.
  package var transients: [TransientKey: AttributeValue] = [:]
  /// Serials given out in this transaction, per root entity: the next free one.
  package var nextSerials: [UInt16: UInt64] = [:]
  /// The next blob's serial, once one was asked for.
  package var nextBlobSerial: UInt64?
  /// The first failure that left things half done; the transaction can then only be given up.
  package var failure: StoreError?
  /// Whether any object remembers what it was cloned from, once somebody looked (R33).
  package var hasProvenance: Bool?
  /// What the history will tell of the transaction; nil where the store keeps none.
  package var history: HistoryRecorder?
  /// What becomes of conflicts over uniqueness constraints.
  var mergePolicy = MergePolicy.error
  /// Where it is noted who gave way to whom in them, for those who want to know after the commit.
  package var replaced: ReplacedObjects?
  /// Who writes, and what is done, for the history.
  package var author = ""
  package var operation = ""
  /// Objects that may still be made before somebody has to count them, where there is a limit.
  var objectRoom = 0
  /// When the transaction began, where there is a limit.
  var firstObjectCount = 0
  var firstUsedPages = 0
  /// Whether anything was written.
  package var isEmpty = true
  private var hasDeletes = false

  package init() {}

  /// Returns a copy that does not change with this one: sets of objects are references.
  func copy() -> PendingChanges {
    var copy = self
    copy.inserted = inserted.copy()
    copy.updated = updated.copy()
    copy.derived = derived.copy()
    copy.recent = recent?.copy()
    copy.history = history?.copy()
    return copy
  }

  /// Whether nothing was made, and something deleted.
  var takesAway: Bool { hasDeletes && inserted.isEmpty && nextSerials.isEmpty && nextBlobSerial == nil }

  package struct TransientKey: Hashable {
    let object: ObjectID
    let attribute: String

    package init(object: ObjectID, attribute: String) {
      self.object = object
      self.attribute = attribute
    }
  }

  /// Notes that something failed half way: from now on the transaction can only be given up.
  package mutating func fail(_ error: any Error) {
    if failure != nil { return }
    let reason = (error as? any KVCloneError)?.message ?? "an operation failed after its first change"
    failure = StoreError(.transactionAborted, "the transaction was aborted: \(reason)")
  }

  /// Notes a new object.
  package mutating func noteInsert(_ id: ObjectID) {
    _ = inserted.insert(id)
    _ = recent?.insert(id)
  }

  /// Notes a change of an object of before.
  mutating func noteUpdate(_ id: ObjectID) {
    isEmpty = false
    if !inserted.contains(id) { _ = updated.insert(id) }
    _ = recent?.insert(id)
  }

  /// Notes a change of a property of an object of before.
  mutating func noteUpdate(_ id: ObjectID, property: UInt16) {
    noteUpdate(id)
    history?.noteUpdate(id, property: property)
  }

  /// As `noteUpdate`, for a change that the commit need not validate.
  mutating func noteUnvalidatedUpdate(_ id: ObjectID, property: UInt16) {
    isEmpty = false
    history?.noteUpdate(id, property: property)
  }

  /// Notes that an object is gone: nothing of it is left to check.
  mutating func noteDelete(_ id: ObjectID) {
    isEmpty = false
    hasDeletes = true
    _ = inserted.remove(id)
    _ = updated.remove(id)
  }
}
