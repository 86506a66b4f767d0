public import KVCloneModel

/// Values by name: one result of a fetch with the result type `dictionary`.
///
/// A value is nil where it is nil in the store; attributes have their own types, to-one relationships the ids of their targets.
public struct FetchedDictionary: Sendable, Hashable {
  /// The names, in the order of `propertiesToFetch`.
  public let names: [String]
  /// The values, in the order of the names.
  public let values: [QueryConstant]

  init(names: [String], values: [QueryConstant]) {
    self.names = names
    self.values = values
  }

  /// The value of a name; nil for a name that was not asked for.
  public subscript(name: String) -> QueryConstant? {
    names.firstIndex(of: name).map { values[$0] }
  }

  /// The attribute's value of a name; nil where it is nil, or an object, or was not asked for.
  public func attribute(_ name: String) -> AttributeValue? {
    if case .value(let value)? = self[name] { return value }
    return nil
  }

  /// The object of a name; nil where it is nil, or no object, or was not asked for.
  public func object(_ name: String) -> ObjectID? {
    if case .object(let id)? = self[name] { return id }
    return nil
  }
}

/// What a fetch request was answered with: see `FetchRequest.resultType`.
public enum FetchResult: Sendable {
  /// Objects.
  case objects([ManagedObject])
  /// Ids of objects.
  case ids([ObjectID])
  /// Values by name.
  case dictionaries([FetchedDictionary])
  /// How many objects there are.
  case count(Int)
}

/// Objects and, by key paths, the objects that they are linked to, read in one transaction and of use without it.
public struct PrefetchedObjects: Sendable {
  /// The objects that the request asked for, in its order.
  public let objects: [ManagedObject]
  private let related: [ObjectID: ManagedObject]
  private let members: [Link: [ObjectID]]

  struct Link: Hashable {
    let owner: ObjectID
    let relationship: String
  }

  init(_ objects: [ManagedObject], related: [ObjectID: ManagedObject], members: [Link: [ObjectID]]) {
    self.objects = objects
    self.related = related
    self.members = members
  }

  /// The members of an object's relationship, in its order; nil where no prefetched key path leads there.
  public func members(of owner: ObjectID, _ relationship: String) -> [ManagedObject]? {
    members[Link(owner: owner, relationship: relationship)]?.compactMap { related[$0] }
  }

  /// An object that was read along, or is a result itself.
  public subscript(id: ObjectID) -> ManagedObject? { related[id] }
}
