public import KVCloneCore
public import KVCloneModel

/// A running migration by a mapping model: the objects of both versions, and the mapping of source to destination
/// objects.
public struct MigrationManager: ~Copyable {
  let reader: ReadTransaction
  private var writer: WriteTransaction
  /// Values that policies pass to each other.
  public var userInfo: [String: MigrationValue] = [:]

  /// By the name of the entity mapping.
  private var associations: [String: MigrationAssociations] = [:]
  private let mappings: [EntityMapping]
  private let expressions: MappingExpressions
  private let policies: [String: any EntityMigrationPolicy]

  init(
    source: consuming ReadTransaction, destination: consuming WriteTransaction, _ mappings: [EntityMapping],
    _ expressions: MappingExpressions, _ policies: [String: any EntityMigrationPolicy]
  ) {
    reader = source
    writer = destination
    self.mappings = mappings
    self.expressions = expressions
    self.policies = policies
    for mapping in mappings { associations[mapping.name] = MigrationAssociations() }
  }

  /// Returns the transaction.
  consuming func finish() -> WriteTransaction { writer }

  /// Reads the source objects, in the earlier version of the model.
  public borrowing func source<R>(_ body: (borrowing ReadTransaction) throws -> R) rethrows -> R { try body(reader) }

  /// Reads and changes the destination objects that exist so far, in the later version of the model.
  public mutating func destination<R>(_ body: (inout WriteTransaction) throws -> R) rethrows -> R { try body(&writer) }

  /// Returns the objects that an entity mapping created for source objects, in the order of `sources`.
  ///
  /// If `sources` is empty, returns the objects of all source objects of the mapping.
  public func destinationInstances(forMapping name: String, of sources: [ObjectID]) -> [ObjectID] {
    guard let associations = associations[name] else { return [] }
    return sources.flatMap { associations.destinations(of: $0) }
  }

  /// Returns the objects that all entity mappings created for source objects.
  public func destinationInstances(of sources: [ObjectID]) -> [ObjectID] {
    var seen: Set<ObjectID> = []
    return sources.flatMap { source in
      mappings.flatMap { associations[$0.name]?.destinations(of: source) ?? [] }
    }.filter { seen.insert($0).inserted }
  }

  /// Whether any entity mapping has created an object from a source object.
  func hasDestination(_ source: ObjectID) -> Bool {
    associations.values.contains { !$0.destinations(of: source).isEmpty }
  }

  /// Returns the source objects of a destination object under an entity mapping.
  public func sourceInstances(forMapping name: String, of destination: ObjectID) -> [ObjectID] {
    associations[name]?.sources(of: destination) ?? []
  }

  /// Records a destination object as the result of a source object.
  public func associate(source: ObjectID, with destination: ObjectID, in mapping: EntityMapping) {
    associations[mapping.name]?.add(source, destination)
  }

  /// Creates an object of the mapping's destination entity, sets the attributes of the mapping, and records it as the
  /// result of the source object.
  ///
  /// - Throws: `invalidMapping` if the mapping has no destination entity or its expressions fail.
  public mutating func createDestinationInstance(for source: ObjectID, in mapping: EntityMapping) throws -> ObjectID {
    guard let name = mapping.destinationEntityName else {
      throw StoreError(.invalidMapping, "entity mapping \(mapping.name) has no destination entity")
    }
    var values: [String: AttributeValue?] = [:]
    for property in mapping.attributeMappings {
      guard let expression = property.valueExpression else { continue }
      let value = try value(of: expression, source, mapping, property.name)
      values[property.name] = .some(try expressions.attribute(value, property.name, mapping, source))
    }
    let id = try writer.restore(name, values)
    associate(source: source, with: id, in: mapping)
    return id
  }

  /// Links an object that the mapping created, as the mapping defines.
  public mutating func link(_ id: ObjectID, in mapping: EntityMapping) throws {
    guard let source = sourceInstances(forMapping: mapping.name, of: id).first else { return }
    for property in mapping.relationshipMappings {
      guard let expression = property.valueExpression else { continue }
      var targets: [ObjectID] = []
      if case .objects(let objects) = try value(of: expression, source, mapping, property.name) { targets = objects }
      let relationship = try expressions.relationship(property.name, mapping)
      // After a split, a relationship gets the objects that are valid targets.
      targets = try targets.filter { try expressions.isObject($0, of: relationship, writer) }
      if !relationship.isToMany { targets = Array(targets.prefix(1)) }
      if targets.isEmpty { continue }
      try writer.setMembers(id, property.name, targets)
    }
  }

  /// The value of an expression for a source object.
  private mutating func value(
    of expression: MappingExpression, _ source: ObjectID, _ mapping: EntityMapping, _ property: String
  ) throws -> MigrationValue {
    switch expression {
    case .automatic: return .null
    case .value(let query):
      do {
        return try expressions.value(of: query, source, mapping, reader)
      } catch let error as StoreError where error.kind == .unknownProperty {
        throw StoreError(
          .invalidMapping,
          "\(property) of entity mapping \(mapping.name), \(query.expressionFormat), failed: \(error.message)",
          entity: mapping.destinationEntityName, property: property)
      }
    case .destinationInstances(let name, let inner):
      return .objects(destinationInstances(forMapping: name, of: try objects(inner, source, mapping, property)))
    case .destinationInstancesForRelationship(_, let inner):
      return .objects(destinationInstances(of: try objects(inner, source, mapping, property)))
    case .policy(let method, let arguments):
      var values: [MigrationValue] = []
      for argument in arguments { values.append(try value(of: argument, source, mapping, property)) }
      return try policy(of: mapping).value(of: method, values, in: mapping, with: &self)
    case .unsupported(let text):
      throw StoreError(
        .invalidMapping,
        "\(property) of entity mapping \(mapping.name) has an unsupported expression: \(text)",
        entity: mapping.destinationEntityName, property: property)
    }
  }

  private mutating func objects(
    _ expression: MappingExpression, _ source: ObjectID, _ mapping: EntityMapping, _ property: String
  ) throws -> [ObjectID] {
    if case .objects(let objects) = try value(of: expression, source, mapping, property) { return objects }
    return []
  }

  /// The policy of an entity mapping.
  ///
  /// - Throws: `invalidMapping` if no policy is registered under the name.
  func policy(of mapping: EntityMapping) throws(StoreError) -> any EntityMigrationPolicy {
    guard let name = mapping.entityMigrationPolicyClassName else { return PlainMigrationPolicy() }
    guard let policy = policies.policy(named: name) else {
      throw StoreError(
        .invalidMapping,
        "entity mapping \(mapping.name) needs the policy \(name); register it in MigrationOptions.policies",
        entity: mapping.destinationEntityName ?? mapping.sourceEntityName)
    }
    return policy
  }

  /// The number of pairs of an entity mapping.
  func pairCount(_ mapping: EntityMapping) -> Int { associations[mapping.name]?.count ?? 0 }

  func pair(_ mapping: EntityMapping, _ index: Int) -> (source: ObjectID, destination: ObjectID)? {
    associations[mapping.name].map { $0[index] }
  }
}
