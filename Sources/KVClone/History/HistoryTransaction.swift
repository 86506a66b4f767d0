#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif
public import KVCloneModel
import KVCloneRecords

/// A committed transaction, as the history tells of it. What it changed is read when it is asked for, so that this is a
/// small value however large the transaction was.
public struct HistoryTransaction: Sendable {
  /// The place right after this transaction: what to go on from.
  public let token: HistoryToken
  /// When it committed, by the clock of the process that wrote.
  public let date: Date
  /// Who wrote, as ``WriteTransaction/author`` and ``StoreOptions/author`` say; empty where they do not.
  public let author: String
  /// What was done: `clone` or `load` for the store's own, ``WriteTransaction/operation`` for others.
  public let operation: String
  /// How many objects were inserted, and are still there at its end.
  public let insertedCount: Int
  /// How many objects of before were changed.
  public let updatedCount: Int
  /// How many objects of before were deleted.
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

  /// The transaction's number: the store's commit counter after it.
  public var commit: UInt64 { token.commit }

  /// Calls `body` with each change until it answers false, in memory that does not grow with their number: deletions,
  /// insertions, updates, each in the order of ids.
  ///
  /// - Throws: `historyExpired` where the transaction was purged since; `closed`, `damaged`; what `body` throws.
  public func forEachChange(_ body: (HistoryChange) throws -> Bool) throws {
    let session = try source.session()
    var failure: (any Error)?
    try session.forEachChange(of: commit) { (change) throws(StoreError) in
      do { return try body(change) } catch { failure = error }
      return false
    }
    if let failure { throw failure }
  }

  /// All changes. For transactions of any size prefer ``forEachChange(_:)``.
  ///
  /// - Throws: see ``forEachChange(_:)``.
  public func changes() throws(StoreError) -> [HistoryChange] {
    var changes: [HistoryChange] = []
    try source.session().forEachChange(of: commit) { (change) throws(StoreError) in
      changes.append(change)
      return true
    }
    return changes
  }

  /// The ids of the objects that were inserted.
  ///
  /// - Throws: see ``forEachChange(_:)``.
  public func insertedIDs() throws(StoreError) -> [ObjectID] {
    try changes().compactMap { if case .inserted(let id) = $0 { id } else { nil } }
  }

  /// The ids of the objects that were updated, with the names of the properties that changed.
  ///
  /// - Throws: see ``forEachChange(_:)``.
  public func updatedProperties() throws(StoreError) -> [ObjectID: [String]] {
    var updated: [ObjectID: [String]] = [:]
    for case .updated(let id, let properties) in try changes() { updated[id] = properties }
    return updated
  }

  /// The ids of the objects that were deleted.
  ///
  /// - Throws: see ``forEachChange(_:)``.
  public func deletedIDs() throws(StoreError) -> [ObjectID] {
    try changes().compactMap { if case .deleted(let id, _, _) = $0 { id } else { nil } }
  }
}

/// What a transaction did to one object.
public enum HistoryChange: Sendable, Hashable {
  /// The object was inserted, and is still there at the transaction's end.
  case inserted(ObjectID)
  /// An object of before changed: the names of its properties that were written, relationships on both sides included,
  /// elements of composite attributes as `composite.element`.
  case updated(ObjectID, properties: [String])
  /// An object of before was deleted: its concrete entity, and the values of the attributes that the model preserves
  /// (`preservesValueInHistoryOnDeletion`), without binary values above 1,024 bytes.
  case deleted(ObjectID, entity: String, tombstone: [String: AttributeValue])

  /// The object.
  public var id: ObjectID {
    switch self {
    case .inserted(let id), .updated(let id, _), .deleted(let id, _, _): id
    }
  }
}

/// What reads a transaction's changes later, from any thread.
struct HistorySource: Sendable {
  let engine: any StorageEngine
  let schema: Schema
  let storeUUID: UUID

  /// A read transaction on the last committed state.
  func session() throws(StoreError) -> Session {
    Session(
      storage: StorageTransaction(try engine.beginRead()), schema: schema, commit: 0, storeUUID: storeUUID,
      serialFloor: SerialHighWaterMark(), engine: engine)
  }
}
