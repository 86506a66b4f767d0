public import KVCloneCore
public import KVCloneModel

/// Values by name: one result of a fetch with the result type `dictionary`.
///
/// Null values are nil. Attributes have values of their own types, to-one relationships the ids of their targets.
public struct FetchedDictionary: Sendable, Hashable {
  /// The names, in the order of `propertiesToFetch`.
  public let names: [String]
  /// The values, in the order of the names.
  public let values: [QueryConstant]

  /// The value of a name, or nil if the name was not requested.
  public subscript(name: String) -> QueryConstant? {
    names.firstIndex(of: name).map { values[$0] }
  }

  /// Returns the attribute value of a name; nil if the value is null or an object, or the name was not requested.
  public func attribute(_ name: String) -> AttributeValue? {
    if case .value(let value)? = self[name] { return value }
    return nil
  }

  /// Returns the object id of a name; nil if the value is null or not an object, or the name was not requested.
  public func object(_ name: String) -> ObjectID? {
    if case .object(let id)? = self[name] { return id }
    return nil
  }
}

/// The result of a fetch request, by its `resultType`.
public enum FetchResult: Sendable {
  /// Objects.
  case objects([ManagedObject])
  /// Object ids.
  case ids([ObjectID])
  /// Dictionaries of values by name.
  case dictionaries([FetchedDictionary])
  /// The number of objects.
  case count(Int)
}

/// The results of a request with the objects that its prefetch key paths lead to, read in one transaction and usable
/// after it.
public struct PrefetchedObjects: Sendable {
  /// The results of the request, in its order.
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

  /// Returns the members of an object's relationship in the order of the relationship; nil if no prefetch key path
  /// includes the relationship.
  public func members(of owner: ObjectID, _ relationship: String) -> [ManagedObject]? {
    members[Link(owner: owner, relationship: relationship)]?.compactMap { related[$0] }
  }

  /// The object with an id if it is a result or was prefetched, or nil.
  public subscript(id: ObjectID) -> ManagedObject? { related[id] }
}
