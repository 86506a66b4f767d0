public import KVCloneModel

/// A Swift value for the objects of one entity: what `kvclone model generate` writes for each entity of a model.
///
/// Reading its properties needs no transaction. Following a relationship does: a relationship to one object is a
/// ``TypedObjectID``, one to many a ``ToMany`` or ``OrderedToMany``, and a transaction has the objects behind them. Setting
/// a property changes the value only; ``WriteTransaction/save(_:ifUnchanged:)-(Object,_)`` or an ``EditingContext``
/// stores what was set.
public protocol EntityObject: Sendable, Hashable {
  /// What predicates and sort descriptors name: the entity's properties once more, in a type without values.
  associatedtype Fields: EntityFields where Fields.Object == Self

  /// The entity, with its attributes and relationships.
  static var entity: EntityDescription { get }

  /// Reads an object's properties.
  ///
  /// - Throws: `wrongType` for what the property's type cannot hold, nil included; `unknownProperty` where the store's
  ///   model does not have the property.
  init(_ object: ManagedObject) throws(StoreError)

  /// Which object this is, and what it was when it was read.
  var objectState: ObjectState { get }

  /// Gives every property that can be set, by its name in the model.
  func encode(to values: inout ObjectValues)
}

extension EntityObject {
  /// The object's id; a temporary one until a new object is stored.
  public var objectID: TypedObjectID<Self> { TypedObjectID(objectState.id) }

  /// Names an object of this entity.
  public typealias ID = TypedObjectID<Self>
}

/// An entity that inherits from another.
public protocol SubentityObject: EntityObject {
  /// The entity directly above.
  associatedtype Superentity: EntityObject
}

/// The properties of an entity or a composite attribute, as predicates and sort descriptors name them.
///
/// A type that conforms has no values, so that no predicate over it can ever be tried on objects in memory: it is
/// translated, or refused.
public protocol QueryFields: Hashable, Sendable {
  /// Each property's key path by its name in the model. The object itself is called `SELF`.
  static var properties: [String: any PartialKeyPath<Self> & Sendable] { get }
}

/// The properties of an entity, as predicates and sort descriptors name them.
public protocol EntityFields: QueryFields {
  /// The entity's Swift type.
  associatedtype Object: EntityObject
}

/// Names an object of an entity that is known when the program is compiled.
public struct TypedObjectID<Object: EntityObject>: Hashable, Comparable, Sendable, Codable {
  /// The id as every entity has it.
  public let objectID: ObjectID

  /// Says of which entity an object is; reading it finds out whether that is so.
  public init(_ objectID: ObjectID) {
    self.objectID = objectID
  }

  /// Reads the 64-bit form.
  public init(from decoder: any Decoder) throws {
    objectID = try ObjectID(from: decoder)
  }

  /// Writes the 64-bit form.
  public func encode(to encoder: any Encoder) throws {
    try objectID.encode(to: encoder)
  }

  /// Root entity first, then age.
  public static func < (left: Self, right: Self) -> Bool { left.objectID < right.objectID }
}

extension TypedObjectID where Object: SubentityObject {
  /// The same object as one of the entity above.
  public var superentityID: TypedObjectID<Object.Superentity> { TypedObjectID<Object.Superentity>(objectID) }
}

extension TypedObjectID: CustomStringConvertible {
  /// `TodoList/2`: the name of the type's entity and the serial, as ``ObjectReading/objectID(named:)`` reads it.
  public var description: String { "\(Object.entity.name)/\(objectID.serial)" }
}

extension ObjectID {
  /// Removes the type from an id. `TodoList.ID(id)` adds it again.
  public init<Object>(_ id: TypedObjectID<Object>) { self = id.objectID }
}
