#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif
public import KVCloneModel
import KVCloneRecords

/// A committed transaction in the history.
///
/// Its changes are read on demand. The value is therefore small, regardless of the size of the transaction.
public struct HistoryTransaction: Sendable {
  /// The position after this transaction, from which reading can continue.
  public let token: HistoryToken
  /// The time of the commit, by the clock of the writing process.
  public let date: Date
  /// The author from ``WriteTransaction/author`` or ``StoreOptions/author``; empty if neither is set.
  public let author: String
  /// The name of the operation: `clone`, `load` or `import` for those of the store, ``WriteTransaction/operation`` for
  /// others.
  public let operation: String
  /// The number of inserted objects that exist at the end of the transaction.
  public let insertedCount: Int
  /// The number of changed objects that existed before the transaction.
  public let updatedCount: Int
  /// The number of deleted objects that existed before the transaction.
  public let deletedCount: Int
  private let source: HistorySource

  init(_ commit: UInt64, _ header: ChangeHeader, _ source: HistorySource) {
    token = HistoryToken(store: source.storeUUID, commit: commit)
    date = Date(timeIntervalSinceReferenceDate: header.time)
    author = header.author
    operation = header.operation
    insertedCount = Int(clamping: header.insertedCount)
    updatedCount = Int(clamping: header.updatedCount)
    deletedCount = Int(clamping: header.deletedCount)
    self.source = source
  }

  /// The number of the transaction: the store's commit counter after it.
  public var commit: UInt64 { token.commit }

  /// Calls `body` with each change until it returns false, with constant memory use.
  ///
  /// Deletions come first, then insertions, then updates, each in ascending order of ids.
  ///
  /// - Throws: `historyExpired` if the transaction was purged; `closed`, `corrupted`; the error of `body`.
  public func forEachChange(_ body: (HistoryChange) throws -> Bool) throws {
    let session = try source.session()
    var failure: (any Error)?
    try HistoryReader.forEachChange(of: commit, in: session) { (change) throws(StoreError) in
      do { return try body(change) } catch { failure = error }
      return false
    }
    if let failure { throw failure }
  }

  /// Returns all changes in memory. For large transactions, use ``forEachChange(_:)``.
  ///
  /// - Throws: `historyExpired`, `closed`, `corrupted`.
  public func changes() throws(StoreError) -> [HistoryChange] {
    var changes: [HistoryChange] = []
    try HistoryReader.forEachChange(of: commit, in: source.session()) { (change) throws(StoreError) in
      changes.append(change)
      return true
    }
    return changes
  }

  /// Returns the ids of the inserted objects.
  ///
  /// - Throws: `historyExpired`, `closed`, `corrupted`.
  public func insertedIDs() throws(StoreError) -> [ObjectID] {
    try changes().compactMap { if case .inserted(let id) = $0 { id } else { nil } }
  }

  /// Returns the names of the changed properties by the id of the updated object.
  ///
  /// - Throws: `historyExpired`, `closed`, `corrupted`.
  public func updatedProperties() throws(StoreError) -> [ObjectID: [String]] {
    var updated: [ObjectID: [String]] = [:]
    for case .updated(let id, let properties) in try changes() { updated[id] = properties }
    return updated
  }

  /// Returns the ids of the deleted objects.
  ///
  /// - Throws: `historyExpired`, `closed`, `corrupted`.
  public func deletedIDs() throws(StoreError) -> [ObjectID] {
    try changes().compactMap { if case .deleted(let id, _, _) = $0 { id } else { nil } }
  }
}

/// The change of one object in a transaction.
public enum HistoryChange: Sendable, Hashable {
  /// The object was inserted and exists at the end of the transaction.
  case inserted(ObjectID)
  /// An existing object was changed.
  ///
  /// The value contains the names of the written properties: relationships on both sides, and elements of composite
  /// attributes as `composite.element`.
  case updated(ObjectID, properties: [String])
  /// An existing object was deleted.
  ///
  /// The value contains its concrete entity and its tombstone: the values of the attributes that the model preserves
  /// (`preservesValueInHistoryOnDeletion`), except binary values above 1,024 bytes.
  case deleted(ObjectID, entity: String, tombstone: [String: AttributeValue])

  /// The id of the object.
  public var id: ObjectID {
    switch self {
    case .inserted(let id), .updated(let id, _), .deleted(let id, _, _): id
    }
  }
}

/// Reads a transaction's changes later, from any thread.
struct HistorySource: Sendable {
  let engine: any StorageEngine
  let schema: Schema
  let storeUUID: UUID

  /// A read transaction on the last committed state.
  func session() throws(StoreError) -> Session {
    StoreContext(uuid: storeUUID, engine: engine).session(try engine.beginRead(), schema)
  }
}
