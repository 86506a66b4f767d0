public import KVCloneModel

/// A Swift value for objects of an entity, as `kvclone model generate` writes it for each entity of a model.
///
/// Reading properties does not need a transaction; following a relationship does. A to-one relationship is a
/// ``TypedObjectID``, and a to-many relationship is a ``ToMany`` or an ``OrderedToMany``. Setting a property changes
/// only the value. ``WriteTransaction/save(_:ifUnchanged:)-(Object,_)`` or an ``EditingContext`` stores the changes.
public protocol EntityObject: Sendable, Hashable {
  /// The properties that predicates and sort descriptors can name. The type has no values.
  associatedtype Fields: EntityFields where Fields.Object == Self

  /// The entity with its attributes and relationships.
  static var entity: EntityDescription { get }

  /// Creates a value from a stored object.
  ///
  /// - Throws: `wrongType` if the type of a property cannot represent its value, including nil; `unknownProperty` if
  ///   the store's model does not define the property.
  init(_ object: ManagedObject) throws(StoreError)

  /// The identity of the object, and its values when it was read.
  var objectState: ObjectState { get }

  /// Writes every settable property under its name in the model.
  func encode(to values: inout ObjectValues)
}

extension EntityObject {
  /// The id of the object; a temporary one until a new object is stored.
  public var objectID: TypedObjectID<Self> { TypedObjectID(objectState.id) }

  /// The type of ids of this entity's objects.
  public typealias ID = TypedObjectID<Self>
}

/// A Swift value for an entity that inherits from another entity.
public protocol SubentityObject: EntityObject {
  /// The Swift type of the direct super-entity.
  associatedtype Superentity: EntityObject
}

/// The properties of an entity or a composite attribute that predicates and sort descriptors can name.
///
/// Conforming types have no values. A predicate over them is therefore never evaluated on objects in memory: it is
/// translated for the store, or rejected.
public protocol QueryFields: Hashable, Sendable {
  /// The key path of each property by its name in the model. The object itself has the name `SELF`.
  static var properties: [String: any PartialKeyPath<Self> & Sendable] { get }
}

/// The properties of an entity that predicates and sort descriptors can name.
public protocol EntityFields: QueryFields {
  /// The Swift type of the entity.
  associatedtype Object: EntityObject
}

/// The id of an object with the Swift type of its entity.
public struct TypedObjectID<Object: EntityObject>: Hashable, Comparable, Sendable, Codable {
  /// The untyped id.
  public let objectID: ObjectID

  /// Adds an entity type to an id. The entity is verified when the object is read.
  public init(_ objectID: ObjectID) {
    self.objectID = objectID
  }

  /// Decodes the 64-bit form.
  public init(from decoder: any Decoder) throws {
    objectID = try ObjectID(from: decoder)
  }

  /// Encodes the 64-bit form.
  public func encode(to encoder: any Encoder) throws {
    try objectID.encode(to: encoder)
  }

  /// Orders ids by root entity, then by serial, which is the order of insertion.
  public static func < (left: Self, right: Self) -> Bool { left.objectID < right.objectID }
}

extension TypedObjectID where Object: SubentityObject {
  /// The id of the same object with the type of its super-entity.
  public var superentityID: TypedObjectID<Object.Superentity> { TypedObjectID<Object.Superentity>(objectID) }
}

extension TypedObjectID: CustomStringConvertible {
  /// The name of the type's entity and the serial, such as `TodoList/2`, which ``ObjectReading/objectID(named:)``
  /// parses.
  public var description: String { "\(Object.entity.name)/\(objectID.serial)" }
}

extension ObjectID {
  /// Removes the type from an id. `TodoList.ID(id)` adds it again.
  public init<Object>(_ id: TypedObjectID<Object>) { self = id.objectID }
}
