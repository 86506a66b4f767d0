public import KVCloneModel

/// What an app does when objects of an entity come into being and are saved, as the methods of the same names of Core
/// Data's managed objects.
///
/// Hooks are registered for an entity, and called for objects of its sub-entities too, the super-entity's first. They run
/// on the writing thread, inside of the write transaction, all but ``didSave``.
///
/// A clone is no new object: its values are what the rules of deep clone say, so ``awakeFromInsert`` is not called for it
/// (touch clones up in ``CloneOptions/didClone``). Nor is it for objects that a dump is loaded from. All other hooks are.
public struct ObjectLifecycle: Sendable {
  /// A new object, before the caller of ``WriteTransaction/insert(_:_:relationships:)`` gets its id. What it sets is the
  /// object's value unless the caller gave one. What it throws leaves the transaction good for nothing but being given up.
  public var awakeFromInsert: (@Sendable (inout WriteTransaction, ObjectID) throws -> Void)?
  /// An object that the transaction inserted or changed, before it is validated. It may change any object; objects that are
  /// changed here are asked again, until nothing changes any more.
  public var willSave: (@Sendable (inout WriteTransaction, ObjectID) throws -> Void)?
  /// An object that was inserted or changed by a commit that is durable. The transaction is over: another one may be begun.
  public var didSave: (@Sendable (ObjectStore, ObjectID) -> Void)?
  /// Refuses a new object by throwing. Derived attributes have their values.
  public var validateForInsert: (@Sendable (borrowing WriteTransaction, ObjectID) throws -> Void)?
  /// Refuses a change of an object by throwing. Derived attributes have their values.
  public var validateForUpdate: (@Sendable (borrowing WriteTransaction, ObjectID) throws -> Void)?
  /// Refuses that an object is deleted by throwing. It is asked before the object goes, for those too that cascade, and what
  /// it throws is told by the commit, as by the other two.
  public var validateForDelete: (@Sendable (borrowing WriteTransaction, ObjectID) throws -> Void)?

  /// No hooks; set those that are wanted.
  public init() {}
}

/// Why a hook refuses an object, where it wants to name a property. Any other error is told by its description.
public struct LifecycleRejection: Error, Sendable, Hashable {
  /// The property concerned; nil where it is the object.
  public let property: String?
  /// What is wrong, in words that follow the object's name.
  public let message: String

  /// A refusal.
  public init(property: String? = nil, _ message: String) {
    self.property = property
    self.message = message
  }
}

extension ObjectStore {
  /// Calls these hooks for objects of an entity and its sub-entities from now on, after those that were registered before.
  /// Transactions that have begun go on without them.
  ///
  /// - Throws: `unknownEntity`.
  public func register(_ hooks: ObjectLifecycle, for entity: String) throws(StoreError) {
    let entity = try schema.entity(entity)
    lifecycle.withLock { table in table = LifecycleTable(adding: hooks, to: entity, table, schema) }
  }
}
