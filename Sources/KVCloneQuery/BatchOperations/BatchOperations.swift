public import KVCloneCore
public import KVCloneModel
import KVCloneRecords

/// The result that a batch operation returns, like Core Data's `NSBatchInsertRequestResultType`.
public enum BatchResultType: Sendable, Hashable {
  /// The number of objects.
  case count
  /// The number of objects and their ids, with 8 bytes of memory each.
  case objectIDs
}

/// The result of a batch operation.
public struct BatchResult: Sendable, Hashable {
  /// The number of inserted, updated or deleted objects, including those that cascade rules deleted.
  public internal(set) var count = 0
  /// The ids of the objects; empty unless requested with ``BatchResultType/objectIDs``.
  ///
  /// After an insert, these are the inserted objects and those that they were merged into, in the order of the input.
  /// After an update or delete, these are the objects that matched the request, in ascending order. After an insert or
  /// update, all of them exist when the batch ends. Later changes in the transaction, and its commit, may still delete
  /// them.
  public internal(set) var objectIDs: [ObjectID] = []
}

/// Operations on many objects, with one in memory at a time.
///
/// Unlike in Core Data, batches apply every rule that single changes do: delete rules, validation, derived attributes,
/// hooks. They are part of the transaction, so all of the batch is committed, or nothing.
extension WriteTransaction {
  /// Inserts an object for each element of a sequence, with one object in memory at a time.
  ///
  /// Attributes that an element does not set get their defaults. Unlike in Core Data, batches apply delete rules,
  /// validation, derived attributes and hooks, and are part of the transaction.
  ///
  /// With a ``mergePolicy`` other than `error`, conflicts over uniqueness constraints are resolved object by object.
  /// With `mergeByPropertyObjectTrump`, objects that already exist are updated. If ids are requested, `willSave` hooks
  /// run at the end of the batch, and all conflicts of the transaction are resolved then. The commit does both again.
  ///
  /// - Parameters:
  ///   - entity: the name of a concrete entity.
  ///   - objects: the attribute values of each object.
  ///   - resultType: whether the result contains ids. The default is ``BatchResultType/count``.
  /// - Throws: the errors of ``insert(_:_:relationships:)-(_,[String:AttributeValue?],_)``, and `hookFailed`.
  @discardableResult
  public mutating func batchInsert(
    _ entity: String, _ objects: some Sequence<[String: AttributeValue?]>, resultType: BatchResultType = .count
  ) throws(StoreError) -> BatchResult {
    let compiled = try _withSession { (session) throws(StoreError) in try session.schema.entity(entity) }
    let hasHooks = session.lifecycle != nil
    var result = BatchResult()
    var replaced: [ObjectID: ObjectID] = [:]
    for attributes in objects {
      let id = try changeObjects(settles: false) { (session) throws(StoreError) in
        try session.insert(compiled, attributes, [:])
      }
      if hasHooks { try awake(id, attributes) }
      let settled = try resolveConflicts(ofInserted: id)
      result.count += 1
      guard resultType == .objectIDs else { continue }
      replaced.merge(settled) { $1 }
      result.objectIDs.append(id)
    }
    if hasHooks, !result.objectIDs.isEmpty { replaced.merge(try settleHooks()) { $1 } }
    if !replaced.isEmpty { result.objectIDs = result.objectIDs.map { replaced.last(from: $0) } }
    if hasHooks || mergePolicy != .error {
      // A hook may have deleted inserted objects, and replaced objects may have cascaded to others of the batch.
      result.objectIDs = try existing(result.objectIDs)
    }
    return result
  }

  /// Sets the same attributes of every object that matches a request, including its limit and offset.
  ///
  /// The matching objects are determined before the first change.
  ///
  /// - Throws: `unknownEntity`, `unknownProperty`, `wrongType`, `outOfRange`, `invalidPredicate`.
  @discardableResult
  public mutating func batchUpdate(
    _ request: FetchRequest, propertiesToUpdate values: [String: AttributeValue?], resultType: BatchResultType = .count
  ) throws(StoreError) -> BatchResult {
    let found = try matches(request)
    return try changeObjects { (session) throws(StoreError) in
      // A wrong name is an error even if no object matches.
      let entity = try session.schema.entity(request.entityName)
      for name in values.keys.sorted() { try entity.refuseDerived(try entity.assignments(name, values[name] ?? nil)) }
      try DerivedRefresh.forEach(in: found, in: &session) { (session, id) throws(StoreError) in
        try session.set(id, values)
      }
      return BatchResult(found, found.count, resultType)
    }
  }

  /// Deletes every object that matches a request, including its limit and offset, and applies the delete rules of the
  /// model.
  ///
  /// Members of a relationship with the rule deny block the delete unless the same call deletes them too.
  ///
  /// - Throws: `deleteDenied`, with nothing deleted; `unknownEntity`, `unknownProperty`, `wrongType`,
  ///   `invalidPredicate`.
  @discardableResult
  public mutating func batchDelete(_ request: FetchRequest, resultType: BatchResultType = .count) throws(StoreError)
    -> BatchResult
  {
    let found = try matches(request)
    try validateDelete(found)
    return try changeObjects { (session) throws(StoreError) in
      BatchResult(found, try ObjectDeletion.delete(found, in: &session), resultType)
    }
  }

  /// Those of some objects that exist.
  private borrowing func existing(_ ids: [ObjectID]) throws(StoreError) -> [ObjectID] {
    try _withSession { (session) throws(StoreError) in
      var windows = ReadWindows(session.storage)
      var found: [ObjectID] = []
      for id in ids {
        windows.next()
        if try session.exists(id) { found.append(id) }
      }
      return found
    }
  }

  /// The objects that match a request: a bit each.
  private borrowing func matches(_ request: FetchRequest) throws(StoreError) -> ObjectSet {
    try _withSession { (session) throws(StoreError) in
      var found = ObjectSet()
      try FetchExecutor.forEachResult(try FetchExecutor.compile(request, in: session), in: session) {
        (id, _) throws(StoreError) in
        _ = found.insert(id)
        return true
      }
      return found
    }
  }
}

extension BatchResult {
  fileprivate init(_ found: ObjectSet, _ count: Int, _ type: BatchResultType) {
    self.count = count
    guard type == .objectIDs else { return }
    found.forEach { id in
      objectIDs.append(id)
      return true
    }
  }
}
