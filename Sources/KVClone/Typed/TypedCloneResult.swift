public import KVCloneCore

/// The result of a deep clone of typed objects.
///
/// The properties of ``CloneResult`` other than object ids are available directly, such as `result.objectCount`.
@dynamicMemberLookup
public struct TypedCloneResult<Object: EntityObject>: Sendable {
  /// The same result with untyped ids.
  public let untyped: CloneResult

  /// Adds the type of the roots to a result.
  init(_ untyped: CloneResult) { self.untyped = untyped }

  /// The clone of each root, in the order of the roots. With several copies, the first copy of every root comes first.
  public var roots: [TypedObjectID<Object>] { untyped.roots.map { TypedObjectID($0) } }

  /// The clone of the first root.
  public var root: TypedObjectID<Object> { TypedObjectID(untyped.root) }

  /// The ``roots`` of a repeated result that no longer exist.
  public var deletedRoots: [TypedObjectID<Object>] { untyped.deletedRoots.map { TypedObjectID($0) } }

  /// A property of the untyped result.
  public subscript<Value>(dynamicMember member: KeyPath<CloneResult, Value>) -> Value { untyped[keyPath: member] }
}
