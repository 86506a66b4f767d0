public import KVCloneModel
import KVCloneRecords

/// A migration by a mapping model, at work: the objects of both versions, and which became which.
public struct MigrationManager: ~Copyable {
  let reader: ReadTransaction
  private var writer: WriteTransaction
  /// For policies, to hand something on to each other.
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

  /// Gives the transaction back.
  consuming func finish() -> WriteTransaction { writer }

  /// Looks at the objects as they were, by the earlier version of the model.
  public borrowing func source<R>(_ body: (borrowing ReadTransaction) throws -> R) rethrows -> R { try body(reader) }

  /// Changes the objects of the later version, as far as they were made.
  public mutating func destination<R>(_ body: (inout WriteTransaction) throws -> R) rethrows -> R { try body(&writer) }

  /// The objects that an entity mapping has made of source objects, in their order; of all that it has read where none are given.
  public func destinationInstances(forMapping name: String, of sources: [ObjectID]) -> [ObjectID] {
    guard let associations = associations[name] else { return [] }
    return sources.flatMap { associations.destinations(of: $0) }
  }

  /// The objects that all entity mappings have made of source objects.
  public func destinationInstances(of sources: [ObjectID]) -> [ObjectID] {
    var seen: Set<ObjectID> = []
    return sources.flatMap { source in
      mappings.flatMap { associations[$0.name]?.destinations(of: source) ?? [] }
    }.filter { seen.insert($0).inserted }
  }

  /// Whether any entity mapping has made an object of a source object.
  func hasDestination(_ source: ObjectID) -> Bool {
    associations.values.contains { !$0.destinations(of: source).isEmpty }
  }

  /// The source objects of which an entity mapping has made an object.
  public func sourceInstances(forMapping name: String, of destination: ObjectID) -> [ObjectID] {
    associations[name]?.sources(of: destination) ?? []
  }

  /// Says that an object of the destination is what a source object has become.
  public func associate(source: ObjectID, with destination: ObjectID, in mapping: EntityMapping) {
    associations[mapping.name]?.add(source, destination)
  }

  /// Makes an object of the mapping's destination entity with the attributes that the mapping says, and notes that the source
  /// object has become it.
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

  /// Links an object that the mapping has made, as the mapping says.
  public mutating func link(_ id: ObjectID, in mapping: EntityMapping) throws {
    guard let source = sourceInstances(forMapping: mapping.name, of: id).first else { return }
    for property in mapping.relationshipMappings {
      guard let expression = property.valueExpression else { continue }
      var targets: [ObjectID] = []
      if case .objects(let objects) = try value(of: expression, source, mapping, property.name) { targets = objects }
      let relationship = try expressions.relationship(property.name, mapping)
      // After a split, a relationship takes those that it has room for.
      targets = try targets.filter { try expressions.isObject($0, of: relationship, writer) }
      if !relationship.isToMany { targets = Array(targets.prefix(1)) }
      if targets.isEmpty { continue }
      try writer.setMembers(id, property.name, targets)
    }
  }

  /// What an expression gives for a source object.
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
          "\(property) of entity mapping \(mapping.name) is \(query.expressionFormat), and \(error.message)",
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
        "\(property) of entity mapping \(mapping.name) has an expression that cannot be computed here: \(text)",
        entity: mapping.destinationEntityName, property: property)
    }
  }

  private mutating func objects(
    _ expression: MappingExpression, _ source: ObjectID, _ mapping: EntityMapping, _ property: String
  ) throws -> [ObjectID] {
    if case .objects(let objects) = try value(of: expression, source, mapping, property) { return objects }
    return []
  }

  /// The code that an entity mapping names.
  ///
  /// - Throws: `invalidMapping` where nothing is registered under the name.
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

  /// How many pairs an entity mapping has, and one of them.
  func pairCount(_ mapping: EntityMapping) -> Int { associations[mapping.name]?.count ?? 0 }

  func pair(_ mapping: EntityMapping, _ index: Int) -> (source: ObjectID, destination: ObjectID)? {
    associations[mapping.name].map { $0[index] }
  }
}
