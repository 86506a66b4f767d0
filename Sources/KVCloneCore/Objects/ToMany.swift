package import KVCloneModel

/// The members of an unordered to-many relationship, read on demand.
///
/// Read the members in a transaction with ``ObjectReading/members(_:)-(ToMany<Member>)``, which returns a set.
/// Insertions and removals are recorded here and applied to the store when the object is saved. Members that other
/// transactions add in between are kept.
public struct ToMany<Member: EntityObject>: Sendable, Hashable {
  package let list: MemberList

  package init(_ list: MemberList) { self.list = list }

  /// The number of members when the object was read.
  public var count: Int { list.count }
  /// Whether there were no members when the object was read.
  public var isEmpty: Bool { count == 0 }
  /// Whether members were inserted or removed after the object was read.
  public var hasChanges: Bool { !list.edits.isEmpty }

  /// Adds an object to the members. Has no effect if it is a member already.
  public mutating func insert(_ member: TypedObjectID<Member>) {
    self = Self(list.adding(.insert([member.objectID], at: nil)))
  }

  /// Removes an object from the members.
  public mutating func remove(_ member: TypedObjectID<Member>) {
    self = Self(list.adding(.remove([member.objectID])))
  }

  /// Removes all members, including those that other transactions add before the object is saved.
  public mutating func removeAll() { self = Self(list.adding(.replace([]))) }
}

extension ToMany: ExpressibleByArrayLiteral {
  /// Creates a list that replaces the members.
  public init(_ members: some Sequence<TypedObjectID<Member>>) {
    list = MemberList().adding(.replace(members.map(\.objectID)))
  }

  /// Creates a list that replaces the members.
  public init(arrayLiteral members: TypedObjectID<Member>...) { self.init(members) }
}

/// The members of an ordered to-many relationship, read on demand.
///
/// Read the members in a transaction with ``ObjectReading/members(_:)-(OrderedToMany<Member>)``, which returns them in
/// their order. Changes are recorded here and applied in the same sequence when the object is saved.
public struct OrderedToMany<Member: EntityObject>: Sendable, Hashable {
  package let list: MemberList

  package init(_ list: MemberList) { self.list = list }

  /// The number of members when the object was read.
  public var count: Int { list.count }
  /// Whether there were no members when the object was read.
  public var isEmpty: Bool { count == 0 }
  /// Whether members were inserted, moved or removed after the object was read.
  public var hasChanges: Bool { !list.edits.isEmpty }

  /// Appends an object to the members. Has no effect if it is a member already.
  public mutating func append(_ member: TypedObjectID<Member>) {
    self = Self(list.adding(.insert([member.objectID], at: nil)))
  }

  /// Inserts an object at an index from 0. Moves it there if it is a member already.
  ///
  /// An index beyond the end at the time of the save means the end.
  public mutating func insert(_ member: TypedObjectID<Member>, at index: Int) {
    self = Self(list.adding(.insert([member.objectID], at: index)))
  }

  /// Removes an object from the members.
  public mutating func remove(_ member: TypedObjectID<Member>) {
    self = Self(list.adding(.remove([member.objectID])))
  }

  /// Removes all members, including those that other transactions add before the object is saved.
  public mutating func removeAll() { self = Self(list.adding(.replace([]))) }
}

extension OrderedToMany: ExpressibleByArrayLiteral {
  /// Creates a list that replaces the members, in this order.
  public init(_ members: some Sequence<TypedObjectID<Member>>) {
    list = MemberList().adding(.replace(members.map(\.objectID)))
  }

  /// Creates a list that replaces the members, in this order.
  public init(arrayLiteral members: TypedObjectID<Member>...) { self.init(members) }
}

/// The common part of both kinds of to-many relationship: its owner and its changes.
package struct MemberList: Sendable, Hashable {
  /// The object and the relationship; nil for a list that was created in Swift.
  package private(set) var owner: Owner?
  /// The number of members when it was read.
  private(set) var count = 0
  private(set) var edits: [MemberEdit] = []

  package struct Owner: Sendable, Hashable {
    package let id: ObjectID
    package let relationship: String

    package init(id: ObjectID, relationship: String) {
      self.id = id
      self.relationship = relationship
    }
  }

  package init() {}

  package init(owner: Owner, count: Int) {
    self.owner = owner
    self.count = count
  }

  /// The list with one more change; replacing all members makes earlier changes obsolete.
  package func adding(_ edit: MemberEdit) -> MemberList {
    var copy = self
    if case .replace = edit { copy.edits = [edit] } else { copy.edits.append(edit) }
    return copy
  }
}

/// A change of a to-many relationship's members.
package enum MemberEdit: Sendable, Hashable {
  case replace([ObjectID])
  case insert([ObjectID], at: Int?)
  case remove([ObjectID])

  /// The objects in the change.
  var objects: [ObjectID] {
    switch self {
    case .replace(let ids), .insert(let ids, _), .remove(let ids): ids
    }
  }

  /// The same change with other objects.
  func with(_ ids: [ObjectID]) -> MemberEdit {
    switch self {
    case .replace: .replace(ids)
    case .insert(_, let index): .insert(ids, at: index)
    case .remove: .remove(ids)
    }
  }
}
