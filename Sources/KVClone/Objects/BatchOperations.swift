public import KVCloneModel

/// What a batch operation answers, as Core Data's `NSBatchInsertRequestResultType` and its kin say.
public enum BatchResultType: Sendable, Hashable {
  /// How many objects it was.
  case count
  /// Their ids too, 8 bytes each.
  case objectIDs
}

/// What a batch operation did.
public struct BatchResult: Sendable, Hashable {
  /// How many objects were given, fit the request and were updated, or were deleted, cascades included.
  public internal(set) var count = 0
  /// The objects inserted, or merged into, in the order given, or that fit the request, ascending; empty unless asked for. All
  /// of them are there when the batch ends; what the transaction does after it, and its commit, may still remove them.
  public internal(set) var objectIDs: [ObjectID] = []
}

/// Many objects at once, one in memory at a time.
///
/// Unlike in Core Data, batches keep every rule that single changes keep: delete rules, validation, derived attributes,
/// hooks. They are part of the transaction, so that all of it happens, or nothing.
extension WriteTransaction {
  /// Inserts an object for each element: its attributes, the others having their defaults.
  ///
  /// With a ``mergePolicy`` other than `error`, conflicts over uniqueness constraints are settled object by object: with
  /// `mergeByPropertyObjectTrump`, objects that are there already are updated. Where ids are asked for, `willSave` hooks, which
  /// may make such conflicts, are asked at the end, and all conflicts of the transaction settled, as its commit does again.
  ///
  /// - Throws: as ``insert(_:_:relationships:)``, and `hookFailed`.
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
      // A hook may have deleted what was inserted, and what gave way may have taken others of the batch along.
      var ids: [ObjectID] = []
      for id in result.objectIDs where try exists(id) { ids.append(id) }
      result.objectIDs = ids
    }
    return result
  }

  /// Sets the same attributes of every object that fits a request, its limit and offset included. What fits is found
  /// before anything changes.
  ///
  /// - Throws: `unknownEntity`, `unknownProperty`, `wrongType`, `outOfRange`, `invalidPredicate`.
  @discardableResult
  public mutating func batchUpdate(
    _ request: FetchRequest, propertiesToUpdate values: [String: AttributeValue?], resultType: BatchResultType = .count
  ) throws(StoreError) -> BatchResult {
    let found = try matches(request)
    return try changeObjects { (session) throws(StoreError) in
      // With no object that fits, a wrong name is a mistake too.
      let entity = try session.schema.entity(request.entityName)
      for name in values.keys.sorted() { try entity.refuseDerived(try entity.assignments(name, values[name] ?? nil)) }
      try session.forEach(in: found) { (session, id) throws(StoreError) in try session.set(id, values) }
      return BatchResult(found, found.count, resultType)
    }
  }

  /// Deletes every object that fits a request, its limit and offset included, and what cascades from them, by the delete
  /// rules of the model: members of a relationship with the rule deny stand in the way unless they go too.
  ///
  /// - Throws: `deleteDenied` with nothing deleted; `unknownEntity`, `unknownProperty`, `wrongType`, `invalidPredicate`.
  @discardableResult
  public mutating func batchDelete(_ request: FetchRequest, resultType: BatchResultType = .count) throws(StoreError)
    -> BatchResult
  {
    let found = try matches(request)
    try validateDelete(found)
    return try changeObjects { (session) throws(StoreError) in
      BatchResult(found, try session.delete(found), resultType)
    }
  }

  /// The objects that fit a request: a bit each.
  private borrowing func matches(_ request: FetchRequest) throws(StoreError) -> ObjectSet {
    try _withSession { (session) throws(StoreError) in
      var found = ObjectSet()
      try session.forEachResult(try session.compile(request)) { (id, _) throws(StoreError) in
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

extension CompiledEntity {
  /// Refuses to set what the store computes.
  func refuseDerived(
    _ assignments: [(attribute: CompiledAttribute, value: AttributeValue?)], object: String? = nil
  ) throws(StoreError) {
    for (attribute, _) in assignments where attribute.description.isDerived {
      throw StoreError(
        .wrongType, "\(name).\(attribute.path) is derived, and computed by the store alone", entity: name,
        property: attribute.path, object: object)
    }
  }
}
