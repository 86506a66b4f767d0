package import KVCloneModel
package import KVCloneRecords

/// The objects that a write transaction has changed so far, as bitmaps, with their transient values, the allocated
/// serials and the first failure. What callers set and what single features record is in ``TransactionState``.
package struct PendingChanges {
  /// Inserted objects.
  package var inserted = ObjectSet()
  /// Changed objects that existed before.
  package var updated = ObjectSet()
  /// Objects with derived attributes that the commit must compute.
  package var derived = PendingDerivations()
  /// Objects changed since the last query; nil if nothing queries them.
  package var recent: ObjectSet?
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

  /// Records that an object was deleted, which needs no validation.
  mutating func noteDelete(_ id: ObjectID) {
    isEmpty = false
    hasDeletes = true
    inserted.remove(id, journal)
    updated.remove(id, journal)
  }
}
