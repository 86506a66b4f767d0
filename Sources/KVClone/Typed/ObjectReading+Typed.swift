public import Foundation
public import KVCloneCore
public import KVCloneModel

/// Reading objects as the Swift types of their entities.
extension ObjectReading where Self: ~Copyable {
  /// Returns an object in its current state.
  ///
  /// - Throws: `objectNotFound`; `wrongDestination` if the object belongs to another entity; the errors of the type's
  ///   initializer.
  public borrowing func object<Object>(_ id: TypedObjectID<Object>) throws(StoreError) -> Object {
    let stored = try stored(id)
    do throws(StoreError) {
      return try typed(try object(stored))
    } catch {
      // The id has an entity, but only the store knows its root entity.
      guard error.kind == .objectNotFound else { throw error }
      throw _withSession { (session) in session.schema.notFound(stored, try? session.schema.entity(Object.entity.name))
      }
    }
  }

  /// Returns the objects of an entity and its subentities that match a predicate; see <doc:TypedSwift>.
  ///
  /// ```swift
  /// let items = try tx.fetch(Item.self, where: #Predicate { $0.tags.contains { $0.name.starts(with: "A") } })
  /// ```
  ///
  /// - Parameters:
  ///   - type: the Swift type of the entity.
  ///   - predicate: the predicate; nil for all objects.
  ///   - order: the sort descriptors; empty for ascending order of ids.
  ///   - limit: the maximum number of results; 0 for no limit.
  ///   - offset: the number of results to skip.
  /// - Throws: `invalidPredicate` for expressions that the store cannot evaluate, before anything is read; `corrupted`.
  public borrowing func fetch<Object: EntityObject>(
    _ type: Object.Type, where predicate: Foundation.Predicate<Object.Fields>? = nil,
    sortedBy order: [SortDescriptor<Object.Fields>] = [], limit: Int = 0, offset: Int = 0
  ) throws(StoreError) -> [Object] {
    try typed(fetch(FetchRequest(type, where: predicate, sortedBy: order, limit: limit, offset: offset)))
  }

  /// Returns the results of a request as Swift values of an entity.
  ///
  /// - Parameters:
  ///   - type: the Swift type of the objects.
  ///   - request: a request for the type's entity or a subentity.
  /// - Throws: the errors of ``fetch(_:)``; `wrongDestination` if an object belongs to another entity.
  public borrowing func fetch<Object: EntityObject>(_ type: Object.Type, _ request: FetchRequest) throws(StoreError)
    -> [Object]
  {
    try typed(fetch(request))
  }

  /// Returns the number of objects of an entity and its subentities that match a predicate.
  ///
  /// - Throws: `invalidPredicate` for expressions that the store cannot evaluate.
  public borrowing func count<Object: EntityObject>(
    _ type: Object.Type, where predicate: Foundation.Predicate<Object.Fields>? = nil
  ) throws(StoreError) -> Int {
    try count(FetchRequest(type, where: predicate))
  }

  /// Returns the current members of an unordered relationship. Unsaved changes of `list` are ignored.
  ///
  /// - Throws: `objectNotFound` if the object that owns the relationship was deleted or is not stored yet.
  public borrowing func members<Member>(_ list: ToMany<Member>) throws(StoreError) -> Set<Member> {
    Set(try members(list.list))
  }

  /// Returns the current members of an ordered relationship, in their order. Unsaved changes of `list` are ignored.
  ///
  /// - Throws: `objectNotFound` if the object that owns the relationship was deleted or is not stored yet.
  public borrowing func members<Member>(_ list: OrderedToMany<Member>) throws(StoreError) -> [Member] {
    try members(list.list)
  }

  /// Returns the members of a relationship that match a predicate, sorted.
  ///
  /// - Throws: `objectNotFound`; `invalidPredicate` for expressions that the store cannot evaluate.
  public borrowing func members<Member>(
    _ list: ToMany<Member>, where predicate: Foundation.Predicate<Member.Fields>? = nil,
    sortedBy order: [SortDescriptor<Member.Fields>]
  ) throws(StoreError) -> [Member] {
    try members(list.list, where: predicate, sortedBy: order)
  }

  /// Returns the members of an ordered relationship that match a predicate, in the given order instead of their own.
  ///
  /// - Throws: `objectNotFound`; `invalidPredicate` for expressions that the store cannot evaluate.
  public borrowing func members<Member>(
    _ list: OrderedToMany<Member>, where predicate: Foundation.Predicate<Member.Fields>? = nil,
    sortedBy order: [SortDescriptor<Member.Fields>]
  ) throws(StoreError) -> [Member] {
    try members(list.list, where: predicate, sortedBy: order)
  }

  private borrowing func members<Member: EntityObject>(_ list: MemberList) throws(StoreError) -> [Member] {
    try memberIDs(list).map { (id) throws(StoreError) in try typed(try object(id)) }
  }

  private borrowing func members<Member: EntityObject>(
    _ list: MemberList, where predicate: Foundation.Predicate<Member.Fields>?,
    sortedBy order: [SortDescriptor<Member.Fields>]
  ) throws(StoreError) -> [Member] {
    var request = try FetchRequest(Member.self, where: predicate, sortedBy: order)
    let ids = QueryConstant.list(try memberIDs(list).map { .object($0) })
    let isMember = QueryPredicate.comparison(QueryComparison(.self, .in, .constant(ids)))
    request.predicate = request.predicate.map { .and([isMember, $0]) } ?? isMember
    return try typed(fetch(request))
  }

  private borrowing func memberIDs(_ list: MemberList) throws(StoreError) -> [ObjectID] {
    guard let owner = list.owner else {
      throw StoreError(
        .objectNotFound, "the list of a new object has no stored members yet; store the object and read it again")
    }
    return try members(owner.id, owner.relationship)
  }

  private borrowing func stored<Object>(_ id: TypedObjectID<Object>) throws(StoreError) -> ObjectID {
    guard !id.objectID.isTemporary else {
      throw StoreError(
        .objectNotFound, "the object is not stored yet; insert it, and use the id that the insert returns",
        entity: Object.entity.name)
    }
    return id.objectID
  }

  private borrowing func typed<Object: EntityObject>(_ objects: [ManagedObject]) throws(StoreError) -> [Object] {
    try objects.map { (object) throws(StoreError) in try typed(object) }
  }

  private borrowing func typed<Object: EntityObject>(_ object: ManagedObject) throws(StoreError) -> Object {
    try object.typed(as: Object.self)
  }
}

extension ManagedObject {
  /// The object as a Swift value of its entity, or of an ancestor.
  ///
  /// - Throws: `wrongDestination` if it belongs to another entity; errors of the type's initializer.
  func typed<Object: EntityObject>(as type: Object.Type) throws(StoreError) -> Object {
    guard isKind(of: Object.entity.name) else {
      throw StoreError(
        .wrongDestination, "\(name) does not belong to \(Object.entity.name); read it as \(entityName)",
        entity: entityName, object: name)
    }
    return try Object(self)
  }
}

/// Reading one object, or none.
extension ObjectReading where Self: ~Copyable {
  /// Returns the first object of an entity that matches a predicate, or nil.
  ///
  /// ```swift
  /// let inbox = try tx.fetchOne(Folder.self, where: #Predicate { $0.name == "Inbox" })
  /// ```
  ///
  /// - Throws: `invalidPredicate` for expressions that the store cannot evaluate; `corrupted`.
  public borrowing func fetchOne<Object: EntityObject>(
    _ type: Object.Type, where predicate: Foundation.Predicate<Object.Fields>? = nil,
    sortedBy order: [SortDescriptor<Object.Fields>] = []
  ) throws(StoreError) -> Object? {
    try fetch(type, where: predicate, sortedBy: order, limit: 1).first
  }

  /// Returns the first result of a request, or nil.
  ///
  /// - Throws: the errors of ``fetch(_:)``.
  public borrowing func fetchOne(_ request: FetchRequest) throws(StoreError) -> ManagedObject? {
    var request = request
    request.fetchLimit = 1
    return try fetch(request).first
  }

  /// Returns an object, or nil if it does not exist.
  ///
  /// - Throws: `wrongDestination` if the object belongs to another entity; `corrupted`.
  public borrowing func object<Object>(ifExists id: TypedObjectID<Object>) throws(StoreError) -> Object? {
    guard try exists(id.objectID) else { return nil }
    return try object(id)
  }

  /// Returns an object, or nil if it does not exist.
  ///
  /// - Throws: `corrupted`.
  public borrowing func object(ifExists id: ObjectID) throws(StoreError) -> ManagedObject? {
    guard try exists(id) else { return nil }
    return try object(id)
  }

  /// Returns whether an object exists.
  public borrowing func exists<Object>(_ id: TypedObjectID<Object>) throws(StoreError) -> Bool {
    try exists(id.objectID)
  }
}
