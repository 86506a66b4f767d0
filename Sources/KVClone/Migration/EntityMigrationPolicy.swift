import KVCloneCore
public import KVCloneModel

/// Custom code for an entity mapping of a mapping model, like an entity migration policy of Core Data.
///
/// Each method has a default implementation that applies the mapping; a policy implements only the methods that differ.
/// The methods are called in the order of their declaration: the first three for one entity mapping after another, then
/// the next two, then the last two.
///
/// ```swift
/// struct SplitNames: EntityMigrationPolicy {
///   func createDestinationInstances(
///     for source: ObjectID, in mapping: EntityMapping, with manager: inout MigrationManager
///   ) throws {
///     let person = try manager.createDestinationInstance(for: source, in: mapping)
///     let parts = try manager.source { tx in try tx.object(source)["name"]?.description.split(separator: " ") ?? [] }
///     try manager.destination { tx in try tx.set(person, "firstName", parts.first.map { .string(String($0)) }) }
///   }
/// }
/// ```
///
/// An error that a method throws ends the migration and leaves the store unchanged.
public protocol EntityMigrationPolicy: Sendable {
  /// Prepares an entity mapping, before its objects are created.
  func begin(_ mapping: EntityMapping, with manager: inout MigrationManager) throws
  /// Creates no, one or several destination objects for a source object. Relationships are set later.
  func createDestinationInstances(
    for source: ObjectID, in mapping: EntityMapping, with manager: inout MigrationManager) throws
  /// Completes the creation, after all objects of the entity mapping were created.
  func endInstanceCreation(_ mapping: EntityMapping, with manager: inout MigrationManager) throws
  /// Links an object that the mapping created, after all objects of all mappings were created.
  func createRelationships(
    for destination: ObjectID, in mapping: EntityMapping, with manager: inout MigrationManager) throws
  /// Completes the linking, after all objects of the entity mapping were linked.
  func endRelationshipCreation(_ mapping: EntityMapping, with manager: inout MigrationManager) throws
  /// Validates the created objects. The rules of the model are validated in any case.
  func performCustomValidation(_ mapping: EntityMapping, with manager: inout MigrationManager) throws
  /// Finishes the entity mapping.
  func end(_ mapping: EntityMapping, with manager: inout MigrationManager) throws
  /// Returns the result of a policy method that an expression of the mapping calls (`FUNCTION($entityPolicy, "method:",
  /// …)`).
  func value(
    of method: String, _ arguments: [MigrationValue], in mapping: EntityMapping, with manager: inout MigrationManager
  ) throws -> MigrationValue
}

/// The result of an expression of a mapping model.
public enum MigrationValue: Sendable, Hashable {
  /// No value.
  case null
  /// The value of an attribute.
  case value(AttributeValue)
  /// Objects of the source or of the destination.
  case objects([ObjectID])
}

extension EntityMigrationPolicy {
  /// Does nothing.
  public func begin(_ mapping: EntityMapping, with manager: inout MigrationManager) throws {}

  /// Creates one object with the attributes of the mapping.
  public func createDestinationInstances(
    for source: ObjectID, in mapping: EntityMapping, with manager: inout MigrationManager
  ) throws {
    guard mapping.destinationEntityName != nil else { return }
    _ = try manager.createDestinationInstance(for: source, in: mapping)
  }

  /// Does nothing.
  public func endInstanceCreation(_ mapping: EntityMapping, with manager: inout MigrationManager) throws {}

  /// Links the object as the mapping defines.
  public func createRelationships(
    for destination: ObjectID, in mapping: EntityMapping, with manager: inout MigrationManager
  ) throws {
    try manager.link(destination, in: mapping)
  }

  /// Does nothing.
  public func endRelationshipCreation(_ mapping: EntityMapping, with manager: inout MigrationManager) throws {}

  /// Does nothing.
  public func performCustomValidation(_ mapping: EntityMapping, with manager: inout MigrationManager) throws {}

  /// Does nothing.
  public func end(_ mapping: EntityMapping, with manager: inout MigrationManager) throws {}

  /// Throws `invalidMapping`, because the policy has no methods for expressions.
  public func value(
    of method: String, _ arguments: [MigrationValue], in mapping: EntityMapping, with manager: inout MigrationManager
  ) throws -> MigrationValue {
    throw StoreError(
      .invalidMapping, "entity mapping \(mapping.name) calls \(method), which its policy does not implement",
      entity: mapping.destinationEntityName)
  }
}

/// The policy of mappings that name none.
struct PlainMigrationPolicy: EntityMigrationPolicy {}
