public import KVCloneModel
import KVCloneRecords

extension WriteTransaction {
  /// Inserts an object.
  ///
  /// - Parameters:
  ///   - entity: the name of a concrete entity.
  ///   - attributes: the attribute values by name. Attributes without a value here get their defaults.
  ///   - relationships: the targets by relationship name; at most one for a to-one relationship. Both sides are linked.
  /// - Returns: the id of the object.
  /// - Throws: `unknownEntity`, `abstractEntity`, `unknownProperty`, `wrongType`, `outOfRange`, `wrongDestination`,
  ///   `objectNotFound`, `limitExceeded`.
  @discardableResult
  public mutating func insert(
    _ entity: String, _ attributes: [String: AttributeValue?] = [:], relationships: [String: [ObjectID]] = [:]
  ) throws(StoreError) -> ObjectID {
    let id = try restore(entity, attributes, relationships: relationships)
    try awake(id, attributes)
    return id
  }

  /// Inserts an object without calling hooks, because the object is not new to the app.
  package mutating func restore(
    _ entity: String, _ attributes: [String: AttributeValue?], relationships: [String: [ObjectID]] = [:]
  ) throws(StoreError) -> ObjectID {
    try changeObjects(settles: false) { (session) throws(StoreError) in
      try session.insert(try session.schema.entity(entity), attributes, relationships)
    }
  }

  /// Sets an attribute; nil clears it.
  ///
  /// - Throws: `objectNotFound`, `unknownProperty`, `wrongType`, `outOfRange`.
  public mutating func set(_ id: ObjectID, _ attribute: String, _ value: AttributeValue?) throws(StoreError) {
    try setAttributes(id, [attribute: value])
  }

  /// Sets several attributes of an object; nil clears an attribute.
  ///
  /// - Throws: `objectNotFound`, `unknownProperty`, `wrongType`, `outOfRange`.
  public mutating func setAttributes(_ id: ObjectID, _ values: [String: AttributeValue?]) throws(StoreError) {
    try changeObjects { (session) throws(StoreError) in try session.set(id, values) }
  }

  /// Deletes objects and applies the delete rules of the model.
  ///
  /// Cascade also deletes the members of the relationship. Deny refuses the delete if the relationship has members.
  /// Nullify and no action remove the links.
  ///
  /// - Throws: `objectNotFound`; `deleteDenied`, with nothing deleted.
  @discardableResult
  public mutating func delete(_ ids: [ObjectID]) throws(StoreError) -> DeleteResult {
    let ids = ObjectSet(ids)
    try validateDelete(ids)
    return try changeObjects { (session) throws(StoreError) in
      DeleteResult(deletedCount: try ObjectDeletion.delete(ids, in: &session))
    }
  }

  /// Writes the values that were set on an object after it was read.
  ///
  /// - Parameters:
  ///   - object: the object that was read, with the changed values.
  ///   - ifUnchanged: whether to refuse the save with `staleObject` if the stored object has changed since it was read
  ///     (optimistic locking). The default is false.
  /// - Throws: `staleObject`, `objectNotFound`, `wrongType`, `outOfRange`.
  public mutating func save(_ object: ManagedObject, ifUnchanged: Bool = false) throws(StoreError) {
    try changeObjects { (session) throws(StoreError) in
      if ifUnchanged {
        let commit = try session.existingRecord(object.id).commit
        guard commit == object.commit else {
          throw StoreError(
            .staleObject,
            "\(object.name) is stale: it was read at commit \(object.commit), and commit \(commit) changed it; read it "
              + "again", entity: object.entityName, object: object.name)
        }
      }
      try session.set(object.id, object.pending)
    }
  }
}

/// The result of a delete.
public struct DeleteResult: Sendable, Hashable {
  /// The number of deleted objects, including those that cascade rules deleted.
  public let deletedCount: Int
}

/// Changes of single objects with Swift values.
extension WriteTransaction {
  /// Inserts an object with values of Swift types, such as variables of type `String`, `Int`, `Date` or `UUID`.
  ///
  /// ```swift
  /// let note = try tx.insert("Note", ["title": title, "created": Date()])
  /// ```
  ///
  /// - Parameters:
  ///   - entity: the name of a concrete entity.
  ///   - attributes: values by attribute; a missing attribute gets its default.
  ///   - relationships: members by relationship.
  /// - Returns: the id of the new object.
  /// - Throws: see ``insert(_:_:relationships:)-(_,[String:AttributeValue?],_)``.
  @_disfavoredOverload
  @discardableResult
  public mutating func insert(
    _ entity: String, _ attributes: [String: (any AttributeConvertible)?], relationships: [String: [ObjectID]] = [:]
  ) throws(StoreError) -> ObjectID {
    try insert(entity, attributes.mapValues { $0?.attributeValue }, relationships: relationships)
  }

  /// Sets an attribute to a value of a Swift type, such as a variable of type `String`, `Int`, `Date` or `UUID`.
  ///
  /// - Throws: `unknownProperty`, `wrongType`, `outOfRange`, `objectNotFound`.
  @_disfavoredOverload
  public mutating func set(_ id: ObjectID, _ attribute: String, _ value: (some AttributeConvertible)?)
    throws(StoreError)
  {
    let value: AttributeValue? = value?.attributeValue
    try set(id, attribute, value)
  }

  /// Links an object to one other object. Sets a to-one relationship; appends to a to-many relationship.
  ///
  /// - Throws: `unknownProperty`, `wrongDestination`, `objectNotFound`.
  public mutating func link(_ id: ObjectID, _ relationship: String, _ target: ObjectID) throws(StoreError) {
    try link(id, relationship, [target])
  }

  /// Deletes an object and applies the delete rules of the model.
  ///
  /// - Returns: the number of deleted objects, including those that cascade rules deleted.
  /// - Throws: `objectNotFound`; `deleteDenied`, with nothing deleted.
  @discardableResult
  public mutating func delete(_ id: ObjectID) throws(StoreError) -> DeleteResult { try delete([id]) }
}

extension WriteTransaction {
  /// Sets a to-one relationship; nil clears it. The links of the previous target, and of the previous partner of
  /// `target`, are removed.
  ///
  /// - Throws: `objectNotFound`, `unknownProperty`, `wrongDestination`.
  public mutating func setToOne(_ id: ObjectID, _ relationship: String, _ target: ObjectID?) throws(StoreError) {
    try setMembers(id, relationship, target.map { [$0] } ?? [])
  }

  /// Replaces the members of a relationship. An ordered relationship stores them in this order.
  ///
  /// - Throws: `objectNotFound`, `unknownProperty`, `wrongDestination`.
  public mutating func setMembers(_ id: ObjectID, _ relationship: String, _ targets: [ObjectID]) throws(StoreError) {
    try changeObjects { (session) throws(StoreError) in
      try RelationshipLinks.setMembers(id, relationship, targets, in: &session)
    }
  }

  /// Adds links to `targets`.
  ///
  /// A to-one relationship replaces its target. A to-many relationship adds the targets that are not members yet. An
  /// ordered relationship without `index` appends them. With `index`, it inserts all targets there, and moves those
  /// that are members already.
  ///
  /// - Throws: `objectNotFound`, `unknownProperty`, `wrongDestination`; `invalidIndex` if `index` is outside the list,
  ///   or the relationship is not ordered.
  public mutating func link(_ id: ObjectID, _ relationship: String, _ targets: [ObjectID], at index: Int? = nil)
    throws(StoreError)
  {
    try changeObjects { (session) throws(StoreError) in
      try RelationshipLinks.link(id, relationship, targets, at: index, in: &session)
    }
  }

  /// Removes the links to `targets`, or all links of the relationship if `targets` is nil.
  ///
  /// - Throws: `objectNotFound`, `unknownProperty`.
  public mutating func unlink(_ id: ObjectID, _ relationship: String, _ targets: [ObjectID]? = nil) throws(StoreError) {
    try changeObjects { (session) throws(StoreError) in
      try RelationshipLinks.unlink(id, relationship, targets, in: &session)
    }
  }
}

extension WriteTransaction {
  /// Sets a binary or transformable attribute from a stream, with constant memory use.
  ///
  /// `source` runs while the transaction holds the write lock. For bytes from a network or a pipe, use
  /// ``ObjectStore/stageBlob(timeout:_:)`` instead.
  ///
  /// - Throws: the error of `source`; `objectNotFound`, `unknownProperty`, `wrongType`, `mapFull`, `diskFull`.
  public mutating func setData(
    _ id: ObjectID, _ attribute: String, from source: (inout BlobWriter) throws -> Void
  ) throws {
    try change { session in try BlobAssignment.setData(id, attribute, in: &session, from: source) }
  }

  /// Sets a binary or transformable attribute to a staged upload.
  ///
  /// The bytes become a value when this transaction commits, and stay staged if it rolls back. Using the upload again
  /// shares its bytes.
  ///
  /// - Throws: `objectNotFound` if the object does not exist, or if the upload no longer exists because its store was
  ///   closed or the last object with it was deleted; `wrongType` for attributes that are not binary, and for an upload
  ///   of another store.
  public mutating func setData(_ id: ObjectID, _ attribute: String, _ staged: StagedBlob) throws(StoreError) {
    try changeObjects { (session) throws(StoreError) in
      guard staged.floor === session.serialFloor else {
        throw StoreError(
          .wrongType, "the upload was staged in another store, or before this one was opened; stage it again",
          property: attribute)
      }
      try BlobAssignment.setData(id, attribute, staged, in: &session)
    }
  }
}

extension WriteTransaction {
  /// Encodes a value with the attribute's transformer and sets a transformable attribute; nil clears it.
  ///
  /// - Throws: the errors of ``ObjectReading/transformed(_:_:as:)``; `transformFailed` if the transformer cannot encode
  ///   the value.
  public mutating func setTransformed<Value: Sendable>(_ id: ObjectID, _ attribute: String, _ value: Value?)
    throws(StoreError)
  {
    let encoded = try _withSession { (session) throws(StoreError) -> AttributeValue? in
      let entity = try session.entity(of: id)
      let compiled = try BlobValues.attribute(attribute, entity, in: session)
      guard let value else { return nil }
      return try session.schema.transformers.encode(value, compiled, entity)
    }
    try set(id, attribute, encoded)
  }
}
