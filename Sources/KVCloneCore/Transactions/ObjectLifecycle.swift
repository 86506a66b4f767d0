public import KVCloneModel

/// Hooks that run when objects of an entity are inserted, saved or deleted, like the methods of the same names of
/// `NSManagedObject`.
///
/// Hooks are registered for an entity and also run for objects of its subentities; those of the super-entity run
/// first. They run on the writing thread, inside the write transaction, except ``didSave``.
///
/// ``awakeFromInsert`` does not run for clones, because the clone rules determine their values; adjust clones in
/// ``CloneOptions/didClone``. It does not run for objects that a load inserts, either. All other hooks run for both.
public struct ObjectLifecycle: Sendable {
  /// Runs for a new object, before ``WriteTransaction/insert(_:_:relationships:)-(_,[String:AttributeValue?],_)``
  /// returns.
  ///
  /// Values that it sets apply unless the caller of the insert passed a value. Throwing makes the transaction
  /// abort-only.
  public var awakeFromInsert: (@Sendable (inout WriteTransaction, ObjectID) throws -> Void)?
  /// Runs for every object that the transaction inserted or changed, before validation.
  ///
  /// It may change any object. It runs again for objects that hooks have changed, until nothing changes; after 100
  /// rounds, the commit throws `hookFailed`.
  public var willSave: (@Sendable (inout WriteTransaction, ObjectID) throws -> Void)?
  /// Runs for every object that was inserted or changed, after its commit is durable. The transaction has ended, and
  /// another one may begin.
  public var didSave: (@Sendable (ObjectStore, ObjectID) -> Void)?
  /// Validates a new object; throwing rejects it. Derived attributes are up to date.
  public var validateForInsert: (@Sendable (borrowing WriteTransaction, ObjectID) throws -> Void)?
  /// Validates a changed object; throwing rejects the change. Derived attributes are up to date.
  public var validateForUpdate: (@Sendable (borrowing WriteTransaction, ObjectID) throws -> Void)?
  /// Validates the deletion of an object before it is deleted, also for cascades; throwing rejects it.
  ///
  /// The commit reports the error, as for the other two validation hooks.
  public var validateForDelete: (@Sendable (borrowing WriteTransaction, ObjectID) throws -> Void)?

  /// Creates a value without hooks.
  public init() {}
}

/// An error for validation hooks that names the affected property. For other errors, the issue contains their
/// description.
public struct LifecycleRejection: Error, Sendable, Hashable {
  /// The affected property, or nil for the whole object.
  public let property: String?
  /// The violation, worded to follow the object's name.
  public let message: String

  /// Creates a rejection.
  public init(property: String? = nil, _ message: String) {
    self.property = property
    self.message = message
  }
}
