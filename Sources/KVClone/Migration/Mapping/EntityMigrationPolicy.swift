public import KVCloneModel

/// What a mapping model leaves to code: Core Data's entity migration policy.
///
/// Each method has an implementation, which does what the mapping says; a policy has those that do something else. They are called in the
/// order in which they stand here: for one entity mapping after the other the first three, then for one after the other the
/// next two, then the last two.
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
/// What a method throws ends the migration, and the store is as it was.
public protocol EntityMigrationPolicy: Sendable {
  /// Before the objects of an entity mapping are made.
  func begin(_ mapping: EntityMapping, with manager: inout MigrationManager) throws
  /// Makes what a source object becomes: no object, one or several. Relationships come later.
  func createDestinationInstances(
    for source: ObjectID, in mapping: EntityMapping, with manager: inout MigrationManager) throws
  /// After the objects of an entity mapping were made.
  func endInstanceCreation(_ mapping: EntityMapping, with manager: inout MigrationManager) throws
  /// Links an object that the mapping has made, when all objects are there.
  func createRelationships(
    for destination: ObjectID, in mapping: EntityMapping, with manager: inout MigrationManager) throws
  /// After the objects of an entity mapping were linked.
  func endRelationshipCreation(_ mapping: EntityMapping, with manager: inout MigrationManager) throws
  /// Looks at what was made; the model's own rules are checked in any case.
  func performCustomValidation(_ mapping: EntityMapping, with manager: inout MigrationManager) throws
  /// At the end of the entity mapping.
  func end(_ mapping: EntityMapping, with manager: inout MigrationManager) throws
  /// What a method that the mapping's expressions name answers (`FUNCTION($entityPolicy, "method:", …)`).
  func value(
    of method: String, _ arguments: [MigrationValue], in mapping: EntityMapping, with manager: inout MigrationManager
  ) throws -> MigrationValue
}

/// What a mapping model's expression gives.
public enum MigrationValue: Sendable, Hashable {
  /// Nothing.
  case null
  /// An attribute's value.
  case value(AttributeValue)
  /// Objects, of the source or of the destination.
  case objects([ObjectID])
}

extension EntityMigrationPolicy {
  /// Does nothing.
  public func begin(_ mapping: EntityMapping, with manager: inout MigrationManager) throws {}

  /// Makes one object, with the attributes that the mapping says.
  public func createDestinationInstances(
    for source: ObjectID, in mapping: EntityMapping, with manager: inout MigrationManager
  ) throws {
    guard mapping.destinationEntityName != nil else { return }
    _ = try manager.createDestinationInstance(for: source, in: mapping)
  }

  /// Does nothing.
  public func endInstanceCreation(_ mapping: EntityMapping, with manager: inout MigrationManager) throws {}

  /// Links the object as the mapping says.
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

  /// Knows no method.
  public func value(
    of method: String, _ arguments: [MigrationValue], in mapping: EntityMapping, with manager: inout MigrationManager
  ) throws -> MigrationValue {
    throw StoreError(
      .invalidMapping, "entity mapping \(mapping.name) calls \(method), which its policy does not have",
      entity: mapping.destinationEntityName)
  }
}

/// The policy of mappings that name none.
struct PlainMigrationPolicy: EntityMigrationPolicy {}
