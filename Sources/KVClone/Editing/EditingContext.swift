public import KVCloneCore
public import KVCloneModel

/// A set of changes to objects outside any transaction, saved in one write transaction.
///
/// ```swift
/// var context = EditingContext(store)
/// var item = try context.object(id)
/// item.name = "Milk"
/// try context.update(item)
/// try context.save()
/// ```
///
/// A context holds no transaction and no lock between calls, so it may live as long as a user edits. It is a value: a
/// copy is a restore point, and dropping it, or calling ``rollback()``, undoes everything. Saving compares the commit
/// number of each changed object with the number at the time of the read, and resolves conflicts by a ``MergePolicy``.
///
/// Changes are visible only in objects that are read through the context. The other side of a relationship, derived
/// attributes and the results of a fetch reflect the stored state until the context is saved.
public struct EditingContext: Sendable {
  /// The store that the context reads from and saves to.
  public let store: ObjectStore
  private var changes = ContextChanges()
  /// The temporary ids of objects that have been saved.
  private var saved: Set<ObjectID> = []

  /// Creates a context without changes.
  public init(_ store: ObjectStore) {
    self.store = store
  }

  /// Whether the context has unsaved changes.
  public var hasChanges: Bool { !changes.isEmpty }
  /// The temporary ids of new objects, in the order of their insertion.
  public var insertedObjects: [ObjectID] { changes.inserted }
  /// The ids of changed stored objects, in ascending order.
  public var updatedObjects: [ObjectID] { changes.updated }
  /// The ids of stored objects to delete, in ascending order, without the objects that delete rules will delete too.
  public var deletedObjects: [ObjectID] { changes.deleted.sorted() }

  /// Discards all changes since the context was created or last saved.
  public mutating func rollback() { changes = ContextChanges() }

  /// Discards the changes of one object. A new object is removed from the context.
  public mutating func rollback(_ id: ObjectID) { changes.discard(id) }

  /// Saves all changes in one write transaction.
  ///
  /// - Parameter mergePolicy: the resolution of conflicts with changes that were committed after the read. The default
  ///   is ``MergePolicy/error``.
  /// - Returns: the ids of the new objects.
  /// - Throws: ``MergeConflictError``, ``ValidationError``, and the errors of a write transaction. Nothing is saved
  ///   then, and the context keeps its changes and may be saved again.
  @available(*, noasync, message: "use the asynchronous form")
  @discardableResult
  public mutating func save(mergePolicy: MergePolicy = .error) throws -> SaveResult {
    guard hasChanges else { return SaveResult(ids: [:]) }
    let changes = self.changes
    let result = try store.write(label: "save", mergePolicy: mergePolicy) { tx in
      try changes.apply(to: &tx, mergePolicy)
    }
    noteSave(result)
    return result
  }

  /// Saves all changes in one write transaction, from asynchronous code. Parameters and errors are those of the
  /// synchronous form.
  @discardableResult
  public mutating func save(mergePolicy: MergePolicy = .error) async throws -> SaveResult {
    guard hasChanges else { return SaveResult(ids: [:]) }
    let changes = self.changes
    let result = try await store.write(label: "save", mergePolicy: mergePolicy) { tx in
      try changes.apply(to: &tx, mergePolicy)
    }
    noteSave(result)
    return result
  }

  private mutating func noteSave(_ result: SaveResult) {
    rollback()
    saved.formUnion(result.ids.keys)
  }
}

// MARK: - Reading

extension EditingContext {
  /// Returns a stored object with the changes of this context.
  ///
  /// - Throws: `objectNotFound`, also for objects that were deleted in this context and for new objects.
  public func object(_ id: ObjectID) throws -> ManagedObject {
    if id.isTemporary || changes.deleted.contains(id) {
      throw StoreError(
        .objectNotFound,
        id.isTemporary
          ? "a new object cannot be read before it is saved; save the context first"
          : "the object was deleted in this context; roll that back first")
    }
    if let base = changes.bases[id] { return changes.applied(to: base) }
    return try store.runRead { tx in try tx.object(id) }
  }

  /// Returns the results of a request with the changes of this context, without objects that were deleted in it.
  ///
  /// The stored state determines the results and their order. Objects inserted in the context are not among them.
  ///
  /// - Throws: `unknownEntity`, `unknownProperty`, `wrongType`, `invalidPredicate`.
  public func fetch(_ request: FetchRequest) throws -> [ManagedObject] {
    try store.runRead { tx in try tx.fetch(request) }.filter { !changes.deleted.contains($0.id) }
      .map { changes.applied(to: $0) }
  }

  /// Returns the members of a relationship with the changes of this context. New objects have temporary ids.
  ///
  /// - Throws: `objectNotFound`, `unknownProperty`.
  public func members(_ id: ObjectID, _ relationship: String) throws -> [ObjectID] {
    let stored = id.isTemporary ? [] : try store.runRead { tx in try tx.members(id, relationship) }
    let values = changes.edits[id]
    if let target = values?.targets[relationship] { return target.map { [$0] } ?? [] }
    return (values?.members[relationship] ?? []).reduce(stored) { $1.applied(to: $0) }
      .filter { !changes.deleted.contains($0) }
  }

  /// Returns a stored object with the changes of this context.
  ///
  /// - Throws: `objectNotFound`; `wrongDestination` if the object belongs to another entity.
  public func object<Object>(_ id: TypedObjectID<Object>) throws -> Object {
    try object(id.objectID).typed(as: Object.self)
  }

  /// Returns the results of a request with the changes of this context, without objects that were deleted in it.
  ///
  /// - Parameters:
  ///   - type: the Swift type of the objects.
  ///   - request: a request for the type's entity or a subentity; nil for all objects of the entity.
  /// - Throws: `invalidPredicate` for expressions that the store cannot evaluate; `wrongDestination` if an object
  ///   belongs to another entity.
  public func fetch<Object: EntityObject>(_ type: Object.Type, _ request: FetchRequest? = nil) throws -> [Object] {
    try fetch(request ?? FetchRequest(Object.entity.name)).map { try $0.typed(as: Object.self) }
  }
}

// MARK: - Changing

extension EditingContext {
  /// Adds a new object to the context.
  ///
  /// - Returns: the temporary id of the object. Other objects may refer to it before the context is saved.
  /// - Throws: the errors of ``update(_:)``.
  @discardableResult
  public mutating func insert<Object: EntityObject>(_ object: Object) throws -> TypedObjectID<Object> {
    try update(object)
    return object.objectID
  }

  /// Replaces the context's changes of an object with the current values of `object`. A new object is inserted.
  ///
  /// - Throws: `objectNotFound` if the object was deleted in this context, or is a new object that was already saved
  ///   (read it again); `wrongDestination` for a list that belongs to another object.
  public mutating func update<Object: EntityObject>(_ object: Object) throws {
    let id = object.objectState.id
    guard let original = object.objectState.original else {
      if saved.contains(id) {
        throw StoreError(
          .objectNotFound, "the new object was already saved; read it by the id in the result of the save",
          entity: Object.entity.name)
      }
      let entity = try store.schema.entity(Object.entity.name)
      return changes.insert(id, entity.name, try object.values(of: entity).withoutEmptyRelationships)
    }
    try checkNotDeleted(id)
    let values = try object.values(of: original.entity)
    changes.replace(original, values.names, try object.changes(values, from: original))
  }

  /// Deletes an object when the context is saved, and applies the delete rules of the model.
  ///
  /// - Throws: `objectNotFound`.
  public mutating func delete<Object>(_ id: TypedObjectID<Object>) throws { try delete(id.objectID) }

  /// Adds a new object of an entity.
  ///
  /// - Returns: the temporary id of the object, valid until the context is saved.
  /// - Throws: `unknownEntity`, `abstractEntity`, `unknownProperty`, `wrongType`, `outOfRange`.
  @discardableResult
  public mutating func insert(_ entity: String, _ attributes: [String: AttributeValue?] = [:]) throws(StoreError)
    -> ObjectID
  {
    let compiled = try store.schema.entity(entity)
    guard !compiled.isAbstract else {
      throw StoreError(
        .abstractEntity, "\(entity) is abstract; insert an object of one of its sub-entities", entity: entity)
    }
    var values = ObjectValues()
    for (name, value) in attributes { values.setAttribute(name, value) }
    let id = ObjectID.temporary()
    changes.insert(id, entity, try values.leaves(of: compiled))
    return id
  }

  /// Sets an attribute; nil clears it.
  ///
  /// - Throws: `objectNotFound`, `unknownProperty`; `wrongType`, also for a derived attribute; `outOfRange`.
  public mutating func set(_ id: ObjectID, _ attribute: String, _ value: AttributeValue?) throws {
    let entity = try entity(of: id)
    let leaves = try entity.assignments(attribute, value)
    try entity.refuseDerived(leaves)
    changes.edit(id) { values in
      for leaf in leaves { values.setAttribute(leaf.attribute.path, leaf.value) }
    }
  }

  /// Sets a to-one relationship; nil clears it.
  ///
  /// - Throws: `objectNotFound`, `unknownProperty`; `wrongDestination` for a to-many relationship.
  public mutating func setToOne(_ id: ObjectID, _ relationship: String, _ target: ObjectID?) throws {
    try check(id, relationship, isToMany: false)
    changes.edit(id) { $0.setTarget(relationship, target) }
  }

  /// Replaces the members of a to-many relationship.
  ///
  /// - Throws: `objectNotFound`, `unknownProperty`; `wrongDestination` for a to-one relationship.
  public mutating func setMembers(_ id: ObjectID, _ relationship: String, _ members: [ObjectID]) throws {
    try add(.replace(members), to: id, relationship)
  }

  /// Adds members to a to-many relationship.
  ///
  /// An ordered relationship without `index` appends the objects that are not members yet. With `index`, it inserts all
  /// objects there, and moves those that are members already.
  ///
  /// - Throws: `objectNotFound`, `unknownProperty`; `wrongDestination` for a to-one relationship.
  public mutating func link(_ id: ObjectID, _ relationship: String, _ members: [ObjectID], at index: Int? = nil) throws
  {
    try add(.insert(members, at: index), to: id, relationship)
  }

  /// Removes members from a to-many relationship.
  ///
  /// - Throws: `objectNotFound`, `unknownProperty`; `wrongDestination` for a to-one relationship.
  public mutating func unlink(_ id: ObjectID, _ relationship: String, _ members: [ObjectID]) throws {
    try add(.remove(members), to: id, relationship)
  }

  /// Deletes an object when the context is saved, and applies the delete rules of the model. A new object is removed
  /// from the context.
  ///
  /// - Throws: `objectNotFound`.
  public mutating func delete(_ id: ObjectID) throws {
    if id.isTemporary { return changes.discard(id) }
    if changes.deleted.contains(id) { return }
    try read(id)
    if let base = changes.bases[id] { changes.delete(base) }
  }

  private mutating func add(_ edit: MemberEdit, to id: ObjectID, _ relationship: String) throws {
    try check(id, relationship, isToMany: true)
    changes.edit(id) { $0.add(edit, to: relationship) }
  }

  private mutating func check(_ id: ObjectID, _ relationship: String, isToMany: Bool) throws {
    let entity = try entity(of: id)
    guard try entity.relationship(relationship).isToMany == isToMany else {
      throw StoreError(
        .wrongDestination,
        "\(entity.name).\(relationship) is \(isToMany ? "to-one; use setToOne" : "to-many; use setMembers or link")",
        entity: entity.name, property: relationship)
    }
  }

  /// The entity of a new object, or of a stored one, which is read on first use.
  private mutating func entity(of id: ObjectID) throws -> CompiledEntity {
    if let name = changes.entity(ofNew: id) { return try store.schema.entity(name) }
    try checkNotDeleted(id)
    return try store.schema.entity(try read(id).entityName)
  }

  @discardableResult
  private mutating func read(_ id: ObjectID) throws -> ManagedObject {
    if let base = changes.bases[id] { return base }
    let object = try object(id)
    changes.note(object)
    return object
  }

  private func checkNotDeleted(_ id: ObjectID) throws(StoreError) {
    guard changes.deleted.contains(id) else { return }
    throw StoreError(.objectNotFound, "the object was deleted in this context; roll that back first")
  }
}
