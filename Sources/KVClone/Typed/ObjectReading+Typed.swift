public import Foundation
public import KVCloneModel

/// Reading objects as the Swift types of their entities.
extension ObjectReading where Self: ~Copyable {
  /// The object as it is now.
  ///
  /// - Throws: `objectNotFound`; `wrongDestination` where it is of another entity; what the type's initializer throws.
  public borrowing func object<Object>(_ id: TypedObjectID<Object>) throws(StoreError) -> Object {
    let stored = try stored(id)
    do throws(StoreError) {
      return try typed(try object(stored))
    } catch {
      // The id says of which entity it is; the store alone knows its root entity.
      guard error.kind == .objectNotFound else { throw error }
      throw _withSession { (session) in session.schema.notFound(stored, try? session.schema.entity(Object.entity.name))
      }
    }
  }

  /// The objects of an entity, and of those below it, for which a predicate holds; see <doc:TypedSwift>.
  ///
  /// ```swift
  /// let items = try tx.fetch(Item.self, where: #Predicate { $0.tags.contains { $0.name.starts(with: "A") } })
  /// ```
  ///
  /// - Throws: `invalidPredicate` for what the store cannot be asked, before anything is read; `damaged`.
  public borrowing func fetch<Object: EntityObject>(
    _ type: Object.Type, where predicate: Foundation.Predicate<Object.Fields>? = nil,
    sortedBy order: [SortDescriptor<Object.Fields>] = [], limit: Int = 0, offset: Int = 0
  ) throws(StoreError) -> [Object] {
    try typed(fetch(FetchRequest(type, where: predicate, sortedBy: order, limit: limit, offset: offset)))
  }

  /// The objects that a request asks for, which is of the type's entity or of one below it.
  ///
  /// - Throws: see ``fetch(_:)``; `wrongDestination` for an object of another entity.
  public borrowing func fetch<Object: EntityObject>(_ type: Object.Type, _ request: FetchRequest) throws(StoreError)
    -> [Object]
  {
    try typed(fetch(request))
  }

  /// How many objects of an entity, and of those below it, there are for which a predicate holds.
  ///
  /// - Throws: `invalidPredicate` for what the store cannot be asked.
  public borrowing func count<Object: EntityObject>(
    _ type: Object.Type, where predicate: Foundation.Predicate<Object.Fields>? = nil
  ) throws(StoreError) -> Int {
    try count(FetchRequest(type, where: predicate))
  }

  /// The members of an unordered relationship as they are now, whatever was changed in the list since it was read.
  ///
  /// - Throws: `objectNotFound` where the object that has the relationship is gone, or not stored yet.
  public borrowing func members<Member>(_ list: ToMany<Member>) throws(StoreError) -> Set<Member> {
    Set(try members(list.list))
  }

  /// The members of an ordered relationship as they are now, in their order.
  ///
  /// - Throws: `objectNotFound` where the object that has the relationship is gone, or not stored yet.
  public borrowing func members<Member>(_ list: OrderedToMany<Member>) throws(StoreError) -> [Member] {
    try members(list.list)
  }

  /// The members of a relationship for which a predicate holds, sorted.
  ///
  /// - Throws: `objectNotFound`; `invalidPredicate` for what the store cannot be asked.
  public borrowing func members<Member>(
    _ list: ToMany<Member>, where predicate: Foundation.Predicate<Member.Fields>? = nil,
    sortedBy order: [SortDescriptor<Member.Fields>]
  ) throws(StoreError) -> [Member] {
    try members(list.list, where: predicate, sortedBy: order)
  }

  /// The members of a relationship for which a predicate holds, sorted by what is given instead of by their own order.
  ///
  /// - Throws: `objectNotFound`; `invalidPredicate` for what the store cannot be asked.
  public borrowing func members<Member>(
    _ list: OrderedToMany<Member>, where predicate: Foundation.Predicate<Member.Fields>? = nil,
    sortedBy order: [SortDescriptor<Member.Fields>]
  ) throws(StoreError) -> [Member] {
    try members(list.list, where: predicate, sortedBy: order)
  }

  private borrowing func members<Member: EntityObject>(_ list: MemberList) throws(StoreError) -> [Member] {
    var result: [Member] = []
    for id in try memberIDs(list) { result.append(try typed(try object(id))) }
    return result
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
        .objectNotFound, "a list of a new object has no members yet; store the object, and read it again")
    }
    return try members(owner.id, owner.relationship)
  }

  private borrowing func stored<Object>(_ id: TypedObjectID<Object>) throws(StoreError) -> ObjectID {
    guard !id.objectID.isTemporary else {
      throw StoreError(
        .objectNotFound, "the object is not stored yet; insert it, and use the id that it gets",
        entity: Object.entity.name)
    }
    return id.objectID
  }

  private borrowing func typed<Object: EntityObject>(_ objects: [ManagedObject]) throws(StoreError) -> [Object] {
    var result: [Object] = []
    result.reserveCapacity(objects.count)
    for object in objects { result.append(try typed(object)) }
    return result
  }

  private borrowing func typed<Object: EntityObject>(_ object: ManagedObject) throws(StoreError) -> Object {
    try object.typed(as: Object.self)
  }
}

extension ManagedObject {
  /// The object as a Swift value of its entity, or of one above it.
  ///
  /// - Throws: `wrongDestination` where it is of another entity; what the type's initializer throws.
  func typed<Object: EntityObject>(as type: Object.Type) throws(StoreError) -> Object {
    guard isKind(of: Object.entity.name) else {
      throw StoreError(
        .wrongDestination, "\(name) is no object of \(Object.entity.name); ask for it as \(entityName)",
        entity: entityName, object: name)
    }
    return try Object(self)
  }
}
