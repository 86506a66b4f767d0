public import KVCloneModel

/// A place for longer work: objects are read and changed away from any transaction, and saved all at once.
///
/// ```swift
/// var context = EditingContext(store)
/// var item = try context.object(id)
/// item.name = "Milk"
/// try context.update(item)
/// try context.save()
/// ```
///
/// A context holds no transaction and no lock, so it may live as long as a person needs. It is a value: a copy is a place to
/// go back to, and dropping it, or ``rollback()``, undoes everything. Saving compares each changed object's commit
/// with that at which it was read, and leaves conflicts to a ``MergePolicy``.
///
/// What was changed in a context shows in the objects that are read through it, and nowhere else: the other side of a
/// relationship, derived attributes and the results of a fetch are what the store has until the context is saved.
public struct EditingContext: Sendable {
  /// The store that is read and saved to.
  public let store: ObjectStore
  private var changes = ContextChanges()
  /// Temporary ids of objects that are stored by now.
  private var saved: Set<ObjectID> = []

  /// A context without changes.
  public init(_ store: ObjectStore) {
    self.store = store
  }

  /// Whether there is anything to save.
  public var hasChanges: Bool { !changes.isEmpty }
  /// The temporary ids of new objects, in the order in which they were inserted.
  public var insertedObjects: [ObjectID] { changes.inserted }
  /// The stored objects that were changed, sorted.
  public var updatedObjects: [ObjectID] { changes.updated }
  /// The stored objects that are to be deleted, sorted; what goes with them by the delete rules is not among them.
  public var deletedObjects: [ObjectID] { changes.deleted.sorted() }

  /// Undoes everything since the context was made, or last saved.
  public mutating func rollback() { changes = ContextChanges() }

  /// Undoes what was done to one object; a new one is forgotten.
  public mutating func rollback(_ id: ObjectID) { changes.discard(id) }

  /// Saves everything in one write transaction.
  ///
  /// - Throws: ``MergeConflictError`` with nothing saved; ``ValidationError``; what a write transaction throws. The
  ///   context is as it was then, and may be saved again.
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

  /// Saves everything in one write transaction, from asynchronous code; see the other form.
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
  /// A stored object, with what was changed here.
  ///
  /// - Throws: `objectNotFound`, for one that was deleted here, and for a new one, too.
  public func object(_ id: ObjectID) throws -> ManagedObject {
    if id.isTemporary || changes.deleted.contains(id) {
      throw StoreError(
        .objectNotFound,
        id.isTemporary
          ? "a new object has to be saved before it can be read"
          : "the object was deleted in this context; discard that first")
    }
    if let base = changes.bases[id] { return changes.applied(to: base) }
    return try store.runRead { tx in try tx.object(id) }
  }

  /// What a request finds in the store, with what was changed here, and without what was deleted here.
  ///
  /// Which objects are found, and their order, goes by what is stored.
  public func fetch(_ request: FetchRequest) throws -> [ManagedObject] {
    try store.runRead { tx in try tx.fetch(request) }.filter { !changes.deleted.contains($0.id) }
      .map { changes.applied(to: $0) }
  }

  /// The members of a relationship, with what was changed here. New objects have temporary ids.
  public func members(_ id: ObjectID, _ relationship: String) throws -> [ObjectID] {
    let stored = id.isTemporary ? [] : try store.runRead { tx in try tx.members(id, relationship) }
    let values = changes.edits[id]
    if let target = values?.targets[relationship] { return target.map { [$0] } ?? [] }
    return (values?.members[relationship] ?? []).reduce(stored) { $1.applied(to: $0) }
      .filter { !changes.deleted.contains($0) }
  }

  /// A stored object, with what was changed here.
  ///
  /// - Throws: `objectNotFound`; `wrongDestination` where it is of another entity.
  public func object<Object>(_ id: TypedObjectID<Object>) throws -> Object {
    try object(id.objectID).typed(as: Object.self)
  }

  /// The stored objects for which a predicate holds, with what was changed here, and without what was deleted here.
  ///
  /// - Throws: `invalidPredicate` for what the store cannot be asked.
  public func fetch<Object: EntityObject>(_ type: Object.Type, _ request: FetchRequest? = nil) throws -> [Object] {
    try fetch(request ?? FetchRequest(Object.entity.name)).map { try $0.typed(as: Object.self) }
  }
}

// MARK: - Changing

extension EditingContext {
  /// Takes a new object; it has a temporary id until the context is saved, by which others may refer to it.
  @discardableResult
  public mutating func insert<Object: EntityObject>(_ object: Object) throws -> TypedObjectID<Object> {
    try update(object)
    return object.objectID
  }

  /// Takes an object as it is now, in place of what was done here before to the properties that its type has; a new one is
  /// inserted.
  ///
  /// - Throws: `objectNotFound` for one that was deleted here, and for a new one that was saved: read it again.
  ///   `wrongDestination` for a list of another object.
  public mutating func update<Object: EntityObject>(_ object: Object) throws {
    let id = object.objectState.id
    guard let original = object.objectState.original else {
      if saved.contains(id) {
        throw StoreError(
          .objectNotFound, "the new object is stored by now; read it by the id that the save answered",
          entity: Object.entity.name)
      }
      let entity = try store.schema.entity(Object.entity.name)
      return changes.insert(id, entity.name, try object.values(of: entity).withoutEmptyRelationships)
    }
    try checkNotDeleted(id)
    let values = try object.values(of: original.entity)
    changes.replace(original, values.names, try object.changes(values, from: original))
  }

  /// Deletes an object by the delete rules of the model, when the context is saved.
  public mutating func delete<Object>(_ id: TypedObjectID<Object>) throws { try delete(id.objectID) }

  /// Makes an object, with a temporary id until the context is saved.
  ///
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

  /// Sets an attribute.
  ///
  /// - Throws: `objectNotFound`, `unknownProperty`, `wrongType`, also for a derived attribute; `outOfRange`.
  public mutating func set(_ id: ObjectID, _ attribute: String, _ value: AttributeValue?) throws {
    let entity = try entity(of: id)
    let leaves = try entity.assignments(attribute, value)
    try entity.refuseDerived(leaves)
    changes.edit(id) { values in
      for leaf in leaves { values.setAttribute(leaf.attribute.path, leaf.value) }
    }
  }

  /// Sets a to-one relationship.
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

  /// Adds members to a to-many relationship; an ordered one gets them at `index`, where members given move to.
  ///
  /// - Throws: `objectNotFound`, `unknownProperty`; `wrongDestination` for a to-one relationship.
  public mutating func link(_ id: ObjectID, _ relationship: String, _ members: [ObjectID], at index: Int? = nil) throws
  {
    try add(.insert(members, at: index), to: id, relationship)
  }

  /// Takes members out of a to-many relationship.
  ///
  /// - Throws: `objectNotFound`, `unknownProperty`; `wrongDestination` for a to-one relationship.
  public mutating func unlink(_ id: ObjectID, _ relationship: String, _ members: [ObjectID]) throws {
    try add(.remove(members), to: id, relationship)
  }

  /// Deletes an object by the delete rules of the model, when the context is saved. A new one is forgotten.
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
        .wrongDestination, "\(entity.name).\(relationship) leads to \(isToMany ? "one object" : "many objects")",
        entity: entity.name, property: relationship)
    }
  }

  /// The entity of a new object, or of a stored one, which is read if it was not yet.
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
    throw StoreError(.objectNotFound, "the object was deleted in this context; discard that first")
  }
}
