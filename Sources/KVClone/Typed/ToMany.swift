import KVCloneModel

/// The members of an unordered to-many relationship, none of which is read before it is asked for.
///
/// A transaction has the members: ``ObjectReading/members(_:)-(ToMany<Member>)`` answers them as a set. What is inserted
/// and removed here is remembered, and changes the store when the object is saved; members that others add meanwhile stay.
public struct ToMany<Member: EntityObject>: Sendable, Hashable {
  let list: MemberList

  init(_ list: MemberList) { self.list = list }

  /// How many members there were when the object was read.
  public var count: Int { list.count }
  /// Whether there were no members when the object was read.
  public var isEmpty: Bool { count == 0 }
  /// Whether members were inserted or removed since then.
  public var hasChanges: Bool { !list.edits.isEmpty }

  /// Makes an object a member.
  public mutating func insert(_ member: TypedObjectID<Member>) {
    self = Self(list.adding(.insert([member.objectID], at: nil)))
  }

  /// Makes an object a member no longer.
  public mutating func remove(_ member: TypedObjectID<Member>) {
    self = Self(list.adding(.remove([member.objectID])))
  }

  /// Lets go of all members, those included that others add before the object is saved.
  public mutating func removeAll() { self = Self(list.adding(.replace([]))) }
}

extension ToMany: ExpressibleByArrayLiteral {
  /// Replaces the members by those given.
  public init(_ members: some Sequence<TypedObjectID<Member>>) {
    list = MemberList().adding(.replace(members.map(\.objectID)))
  }

  /// Replaces the members by those given.
  public init(arrayLiteral members: TypedObjectID<Member>...) { self.init(members) }
}

/// The members of an ordered to-many relationship, none of which is read before it is asked for.
///
/// A transaction has the members: ``ObjectReading/members(_:)-(OrderedToMany<Member>)`` answers them in their order.
/// Changes are remembered, and are made in their order when the object is saved.
public struct OrderedToMany<Member: EntityObject>: Sendable, Hashable {
  let list: MemberList

  init(_ list: MemberList) { self.list = list }

  /// How many members there were when the object was read.
  public var count: Int { list.count }
  /// Whether there were no members when the object was read.
  public var isEmpty: Bool { count == 0 }
  /// Whether members were added, moved or removed since then.
  public var hasChanges: Bool { !list.edits.isEmpty }

  /// Makes an object the last member; one that is a member already stays where it is.
  public mutating func append(_ member: TypedObjectID<Member>) {
    self = Self(list.adding(.insert([member.objectID], at: nil)))
  }

  /// Makes an object the member at a place, from 0; one that is a member already moves there.
  public mutating func insert(_ member: TypedObjectID<Member>, at index: Int) {
    self = Self(list.adding(.insert([member.objectID], at: index)))
  }

  /// Makes an object a member no longer.
  public mutating func remove(_ member: TypedObjectID<Member>) {
    self = Self(list.adding(.remove([member.objectID])))
  }

  /// Lets go of all members, those included that others add before the object is saved.
  public mutating func removeAll() { self = Self(list.adding(.replace([]))) }
}

extension OrderedToMany: ExpressibleByArrayLiteral {
  /// Replaces the members by those given, in this order.
  public init(_ members: some Sequence<TypedObjectID<Member>>) {
    list = MemberList().adding(.replace(members.map(\.objectID)))
  }

  /// Replaces the members by those given, in this order.
  public init(arrayLiteral members: TypedObjectID<Member>...) { self.init(members) }
}

/// What both kinds of to-many relationship hold: whose it is, and what is to become of it.
struct MemberList: Sendable, Hashable {
  /// The object and the relationship; nil for a list that was made in Swift.
  private(set) var owner: Owner?
  /// How many members it had when it was read.
  private(set) var count = 0
  private(set) var edits: [MemberEdit] = []

  struct Owner: Sendable, Hashable {
    let id: ObjectID
    let relationship: String
  }

  init() {}

  init(owner: Owner, count: Int) {
    self.owner = owner
    self.count = count
  }

  /// The list with one more change; replacing all members makes those before it meaningless.
  func adding(_ edit: MemberEdit) -> MemberList {
    var copy = self
    if case .replace = edit { copy.edits = [edit] } else { copy.edits.append(edit) }
    return copy
  }
}

/// One change of the members of a to-many relationship.
enum MemberEdit: Sendable, Hashable {
  case replace([ObjectID])
  case insert([ObjectID], at: Int?)
  case remove([ObjectID])

  /// The objects that the change names.
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
