import KVCloneModel

/// Finds the tables and columns of a model's entities.
struct CoreDataLayoutBuilder {
  let store: CoreDataStore
  let model: ManagedObjectModel
  let tables: [String: SQLiteTable]
  /// Z_ENT by name.
  let numbers: [String: Int64]
  var hierarchies: [CoreDataLayout.Hierarchy] = []
  var joins: [CoreDataLayout.Join] = []
  /// Relationships that have a column with positions, by entity.
  var ordered: [String: Set<String>] = [:]
  private let rows: [String: CoreDataStore.EntityRow]

  init(_ store: CoreDataStore, _ model: ManagedObjectModel) throws {
    self.store = store
    self.model = model
    tables = try store.file.tables()
    rows = Dictionary(store.entities.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    numbers = rows.mapValues(\.number)
  }

  mutating func build() throws {
    try compareEntities()
    for entity in model.entities where entity.superentityName == nil && numbers[entity.name] != nil {
      hierarchies.append(try hierarchy(entity.name))
    }
    try findJoins()
    try requireKnownJoins()
    try requireDistinctTables()
  }

  /// The model with those lists ordered that have positions in the tables.
  func modelWithOrder() -> ManagedObjectModel {
    let entities = model.entities.map { entity in
      var entity = entity
      for place in entity.relationships.indices
      where ordered[entity.name]?.contains(entity.relationships[place].name) ?? false {
        entity.relationships[place].isOrdered = true
      }
      return entity
    }
    return ManagedObjectModel(
      name: model.name, versionIdentifier: model.versionIdentifier, entities: entities, composites: model.composites,
      configurations: model.configurations, fetchRequestTemplates: model.fetchRequestTemplates)
  }

  private func mismatch(_ message: String, _ entity: String, _ property: String? = nil) -> CoreDataStoreError {
    CoreDataStoreError(
      .modelMismatch, "\(message); give the model version that wrote the store (--model, --model-version)",
      entity: entity, property: property)
  }

  // MARK: Entities

  private func compareEntities() throws {
    let names = Dictionary(store.entities.map { ($0.number, $0.name) }, uniquingKeysWith: { first, _ in first })
    for row in store.entities {
      guard let entity = model.entity(named: row.name) else {
        throw mismatch("the store has an entity \(row.name) that the model does not have", row.name)
      }
      if names[row.parent] != entity.superentityName {
        throw mismatch("entity \(row.name) has different parents in the store and in the model", row.name)
      }
    }
    for entity in model.entities where numbers[entity.name] == nil {
      // A store of one configuration has only the entities of that configuration.
      let isElsewhere = model.configurations.values.contains { !$0.contains(entity.name) }
      if !isElsewhere {
        throw mismatch("the model has an entity \(entity.name) that the store does not have", entity.name)
      }
    }
  }

  private mutating func hierarchy(_ root: String) throws -> CoreDataLayout.Hierarchy {
    guard let table = tables["Z\(root.uppercased())"] else {
      throw mismatch("the store has no table Z\(root.uppercased()) for entity \(root)", root)
    }
    guard let keyColumn = table.column("Z_PK"), let entityColumn = table.column("Z_ENT") else {
      throw mismatch("table \(table.name) lacks Z_PK or Z_ENT", root)
    }
    guard table.rowIDColumn == keyColumn else {
      throw mismatch("the Z_PK of table \(table.name) is not its row id, unlike in Core Data's tables", root)
    }
    let members = [root] + model.subentities(of: root)
    // The number of sibling entities that declare a column's name, case-insensitively.
    var demand: [String: Int] = [:]
    for name in members {
      try store.file.checkCancelled()
      guard let entity = model.entity(named: name) else { continue }
      let names =
        entity.attributes.filter { !$0.isTransient }.map(\.name)
        + entity.relationships.filter { !$0.isTransient && !$0.isToMany }.map(\.name)
      let inherited = entity.superentityName.map { parent in
        Set(model.attributes(of: parent).map(\.name) + model.relationships(of: parent).map(\.name))
      }
      for property in names where inherited?.contains(property) != true {
        demand[property.uppercased(), default: 0] += 1
      }
    }
    let columns = ColumnFinder(table: table, demand: demand)
    var toOnes: [CoreDataLayout.ToOne] = []
    var toOnePlaces: [String: Int] = [:]
    for name in members {
      guard let entity = model.entity(named: name) else { continue }
      for relationship in entity.relationships where !relationship.isTransient && !relationship.isToMany {
        let key = "\(declaringEntity(of: relationship.name, name)).\(relationship.name)"
        if toOnePlaces[key] != nil { continue }
        toOnePlaces[key] = toOnes.count
        toOnes.append(try toOne(relationship, of: name, columns))
      }
    }
    var entities: [Int64: CoreDataLayout.Entity] = [:]
    for name in members {
      try store.file.checkCancelled()
      guard let number = numbers[name], let entity = model.entity(named: name) else { continue }
      var attributes: [CoreDataLayout.Attribute] = []
      for attribute in model.attributes(of: name) where !attribute.isTransient && !attribute.isDerived {
        attributes.append(try self.attribute(attribute, of: name, columns))
      }
      attributes.sort { ($0.columns.first ?? -1) < ($1.columns.first ?? -1) }
      let own = model.relationships(of: name).compactMap { relationship in
        toOnePlaces["\(declaringEntity(of: relationship.name, name)).\(relationship.name)"]
      }
      entities[number] = .init(name: name, isAbstract: entity.isAbstract, attributes: attributes, toOnes: own)
    }
    try requireKnown(columns, members)
    return .init(
      root: root, table: table, keyColumn: keyColumn, entityColumn: entityColumn, entities: entities,
      maximumKey: rows[root]?.maximum ?? 0, toOnes: toOnes)
  }

  /// Rejects a table with columns that the model lacks: they would be lost silently.
  private func requireKnown(_ finder: ColumnFinder, _ members: [String]) throws {
    let table = finder.table
    for member in members {
      // Derived attributes have a column, and are recomputed.
      for attribute in model.entity(named: member)?.attributes ?? [] where attribute.isDerived {
        _ = finder.columns(of: attribute.name)
      }
    }
    for (place, column) in table.columns.enumerated() where !finder.known.contains(place) {
      let name = column.name.uppercased()
      // Z_PK, Z_ENT, Z_OPT, Z_FOK_…; a digit, if the entity of a target, or the owner of a list, is next to a key.
      if name.hasPrefix("Z_") || !name.hasPrefix("Z") || name.dropFirst().first?.isNumber == true { continue }
      throw mismatch("table \(table.name) has a column \(column.name) that is not in the model", members[0])
    }
  }

  /// Rejects unknown tables of links.
  private func requireKnownJoins() throws {
    let known = Set(joins.map { $0.table.name.uppercased() })
    let all = Set(numbers.values)
    for (name, table) in tables where !known.contains(name) {
      guard let number = JoinColumn(name)?.number, all.contains(number) else { continue }
      throw CoreDataStoreError(
        .modelMismatch,
        "the store has a join table \(table.name) that is not in the model; give the model version that wrote the "
          + "store (--model, --model-version)")
    }
  }

  /// Rejects two tables with the same root page, and two root entities with one table, which is possible for names that
  /// differ in case: the same rows would be read once for each of them.
  private func requireDistinctTables() throws {
    var roots: [String: String] = [:]
    for hierarchy in hierarchies {
      if let other = roots.updateValue(hierarchy.root, forKey: hierarchy.table.name) {
        throw mismatch(
          "the entities \(other) and \(hierarchy.root) share the table \(hierarchy.table.name)", hierarchy.root)
      }
    }
    var names: [Int: String] = [:]
    for table in hierarchies.map(\.table) + joins.map(\.table) {
      if let other = names[table.root], other != table.name {
        throw SQLiteError.corrupted("the tables \(other) and \(table.name) begin on the same page", page: table.root)
      }
      names[table.root] = table.name
    }
  }

  /// Rejects a model that orders a list without positions in the tables, or the reverse.
  func requireOrder() throws {
    for entity in model.entities {
      for relationship in entity.relationships where relationship.isToMany && !relationship.isTransient {
        guard declaringEntity(of: relationship.name, entity.name) == entity.name, numbers[entity.name] != nil else {
          continue
        }
        let hasPlaces = ordered[entity.name]?.contains(relationship.name) ?? false
        if hasPlaces == relationship.isOrdered { continue }
        throw mismatch(
          hasPlaces
            ? "the list \(entity.name).\(relationship.name) is ordered in the store, but not in the model"
            : "the list \(entity.name).\(relationship.name) is ordered in the model, but has no order in the store",
          entity.name, relationship.name)
      }
    }
  }

  /// The topmost entity that has the relationship.
  func declaringEntity(of relationship: String, _ entity: String) -> String {
    model.superentities(of: entity).last { model.relationship(relationship, of: $0) != nil } ?? entity
  }

  private func attribute(
    _ attribute: AttributeDescription, of entity: String, _ columns: ColumnFinder, prefix: String = ""
  ) throws -> CoreDataLayout.Attribute {
    let path = prefix + attribute.name
    if attribute.type == .composite {
      let elements = try attribute.elements.filter { !$0.isTransient }.map {
        try self.attribute($0, of: entity, columns, prefix: path + ".")
      }
      return .init(description: attribute, columns: elements.flatMap(\.columns), elements: elements, isExternal: false)
    }
    let found = columns.columns(of: path)
    if found.isEmpty {
      throw mismatch("table \(columns.table.name) has no column for \(entity).\(path)", entity, path)
    }
    return .init(
      description: attribute, columns: found, elements: [],
      // Transformables never are, regardless of their flag.
      isExternal: attribute.type == .binary && attribute.allowsExternalBinaryDataStorage)
  }

  private mutating func toOne(
    _ relationship: RelationshipDescription, of entity: String, _ columns: ColumnFinder
  ) throws -> CoreDataLayout.ToOne {
    let found = columns.columns(of: relationship.name)
    if found.isEmpty {
      throw mismatch(
        "table \(columns.table.name) has no column for \(entity).\(relationship.name)", entity, relationship.name)
    }
    let inverse = model.inverse(of: relationship.name, in: entity)
    let orders = found.map { columns.table.column("Z_FOK_\(columns.table.columns[$0].name.dropFirst())") }
    if let inverse, inverse.relationship.isToMany, orders.contains(where: { $0 != nil }) {
      ordered[declaringEntity(of: inverse.relationship.name, inverse.entityName), default: []].insert(
        inverse.relationship.name)
    }
    return .init(
      entity: entity, description: relationship, columns: found, orderColumns: orders, inverse: inverse?.relationship,
      inverseEntity: inverse.map { declaringEntity(of: $0.relationship.name, $0.entityName) })
  }

  // MARK: Tables of links

  /// The relationships with tables of links, each once with its inverse.
  private func pairs() -> [CoreDataJoinFinder.Pair] {
    var result: [CoreDataJoinFinder.Pair] = []
    var known: Set<String> = []
    for entity in model.entities where numbers[entity.name] != nil {
      for relationship in entity.relationships where relationship.isToMany && !relationship.isTransient {
        guard declaringEntity(of: relationship.name, entity.name) == entity.name else { continue }
        let inverse = model.inverse(of: relationship.name, in: entity.name)
        // The other side's column has the links.
        if let inverse, !inverse.relationship.isToMany { continue }
        let inverseEntity = inverse.map { declaringEntity(of: $0.relationship.name, $0.entityName) }
        if let inverse, let inverseEntity, known.contains("\(inverseEntity).\(inverse.relationship.name)") { continue }
        known.insert("\(entity.name).\(relationship.name)")
        result.append(
          .init(entity: entity.name, relationship: relationship, inverse: inverse, inverseEntity: inverseEntity))
      }
    }
    return result
  }

  private mutating func findJoins() throws {
    let file = store.file
    let finder = try CoreDataJoinFinder(tables, model, numbers) { () throws(SQLiteError) in try file.checkCancelled() }
    let pairs = self.pairs()
    // By table and column: a column of two relationships would be read for each.
    var foreignColumns: Set<[Int]> = []
    let outcomes = try finder.outcomes(of: pairs) { () throws(SQLiteError) in try file.checkCancelled() }
    for (pair, outcome) in zip(pairs, outcomes) {
      let join: CoreDataLayout.Join
      switch outcome {
      case .found(let reading): join = self.join(pair, finder.tables[reading.table], reading)
      case .none:
        guard pair.inverse == nil, let found = foreignColumn(pair) else {
          throw mismatch(
            "the store has no join table for \(pair.entity).\(pair.relationship.name)", pair.entity,
            pair.relationship.name)
        }
        guard foreignColumns.insert([found.table.root, found.ownerColumn]).inserted else {
          throw mismatch(
            "the join column of \(pair.entity).\(pair.relationship.name) also belongs to another relationship",
            pair.entity, pair.relationship.name)
        }
        join = found
      case .ambiguous:
        throw mismatch(
          "the store has several possible join tables for \(pair.entity).\(pair.relationship.name), or one that may belong to another "
            + "relationship", pair.entity, pair.relationship.name)
      }
      joins.append(join)
      if join.orderColumn != nil { ordered[pair.entity, default: []].insert(pair.relationship.name) }
      if join.inverseOrderColumn != nil, let inverse = pair.inverse, let entity = pair.inverseEntity {
        ordered[entity, default: []].insert(inverse.relationship.name)
      }
    }
  }

  private func join(
    _ pair: CoreDataJoinFinder.Pair, _ table: SQLiteTable, _ reading: CoreDataJoinFinder.Reading
  ) -> CoreDataLayout.Join {
    func places(of column: Int) -> Int? {
      let name = table.columns[column].name
      return name.uppercased() == JoinColumn.reflexive ? nil : table.column("Z_FOK_\(name.dropFirst(2))")
    }
    return .init(
      table: table, entity: pair.entity, description: pair.relationship, inverse: pair.inverse?.relationship,
      inverseEntity: pair.inverseEntity, ownerColumn: reading.ownerColumn, memberColumn: reading.memberColumn,
      orderColumn: places(of: reading.memberColumn), inverseOrderColumn: places(of: reading.ownerColumn))
  }

  /// Without an inverse, the key of the owner may be a column of the members: `Z<number><RELATIONSHIP>`.
  private func foreignColumn(_ pair: CoreDataJoinFinder.Pair) -> CoreDataLayout.Join? {
    guard let root = model.rootEntity(of: pair.relationship.destinationEntityName),
      let table = tables["Z\(root.uppercased())"], let key = table.column("Z_PK")
    else { return nil }
    // The entity's own number first, then those of its ancestors, then of its descendants.
    let owners = [pair.entity] + model.superentities(of: pair.entity) + model.subentities(of: pair.entity)
    for number in owners.compactMap({ numbers[$0] }) {
      for name in ["Z\(number)\(pair.relationship.name)", "Z_\(number)\(pair.relationship.name)"] {
        guard let column = table.column(name) else { continue }
        let order = table.column("Z_FOK_\(name.dropFirst(1))") ?? table.column("Z_FOK_\(name.dropFirst(2))")
        return .init(
          table: table, entity: pair.entity, description: pair.relationship, inverse: nil, inverseEntity: nil,
          ownerColumn: column, memberColumn: key, orderColumn: order, inverseOrderColumn: nil)
      }
    }
    return nil
  }
}

/// Finds the columns of properties by their names, and records which were found.
private final class ColumnFinder {
  let table: SQLiteTable
  /// By name in upper case: the number of properties with it.
  private let demand: [String: Int]
  private var found: [String: [Int]] = [:]
  /// All columns that were found.
  private(set) var known: Set<Int> = []

  init(table: SQLiteTable, demand: [String: Int]) {
    self.table = table
    self.demand = demand
  }

  /// `ZNAME`; if several properties have this name, also `ZNAME1` and so on. Elements of composites are separated from
  /// the attribute in one of the known ways.
  func columns(of path: String) -> [Int] {
    let name = path.uppercased()
    if let columns = found[name] { return columns }
    let columns = find(name)
    found[name] = columns
    known.formUnion(columns)
    return columns
  }

  private func find(_ name: String) -> [Int] {
    for separator in name.contains(".") ? ["_", "", "."] : [""] {
      let spelled = "Z" + name.split(separator: ".").joined(separator: separator)
      let base = table.column(spelled)
      guard demand[name, default: 1] > 1 else {
        if let base { return [base] }
        continue
      }
      var result = base.map { [$0] } ?? []
      for suffix in 1...demand[name, default: 1] {
        // Another property may have this name.
        if demand["\(name)\(suffix)"] == nil, let column = table.column("\(spelled)\(suffix)") { result.append(column) }
      }
      // Fewer than expected: the assignment is ambiguous.
      if result.count < demand[name, default: 1], !result.isEmpty { return [] }
      if !result.isEmpty { return result }
    }
    return []
  }
}
