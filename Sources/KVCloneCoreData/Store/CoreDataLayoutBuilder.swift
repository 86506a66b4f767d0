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
  /// Relationships that have a column with places, by entity.
  var ordered: [String: Set<String>] = [:]

  init(_ store: CoreDataStore, _ model: ManagedObjectModel) throws {
    self.store = store
    self.model = model
    tables = try store.file.tables()
    numbers = Dictionary(store.entities.map { ($0.name, $0.number) }, uniquingKeysWith: { first, _ in first })
  }

  mutating func build() throws {
    try compareEntities()
    for entity in model.entities where entity.superentityName == nil && numbers[entity.name] != nil {
      hierarchies.append(try hierarchy(entity.name))
    }
    for entity in model.entities where numbers[entity.name] != nil {
      for relationship in entity.relationships { try findJoin(relationship, of: entity) }
    }
    try requireKnownJoins()
  }

  /// The model with the lists ordered that have places in the tables.
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
        throw mismatch("the store has an entity \(row.name), which the model has not", row.name)
      }
      if names[row.parent] != entity.superentityName {
        throw mismatch("entity \(row.name) has another parent in the store than in the model", row.name)
      }
    }
    for entity in model.entities where numbers[entity.name] == nil {
      // A store of one configuration has the entities of that configuration only.
      let isElsewhere = model.configurations.values.contains { !$0.contains(entity.name) }
      if !isElsewhere { throw mismatch("the model has an entity \(entity.name), which the store has not", entity.name) }
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
      throw mismatch("the Z_PK of table \(table.name) is not its row id, as Core Data has it", root)
    }
    let members = [root] + model.subentities(of: root)
    // How often a column's name is asked for by entities that declare it side by side, or in other capitals.
    var demand: [String: Int] = [:]
    for name in members {
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
    try requireKnown(table, columns, entities, toOnes, members)
    let row = store.entities.first { $0.name == root }
    return .init(
      root: root, table: table, keyColumn: keyColumn, entityColumn: entityColumn, entities: entities,
      maximumKey: row?.maximum ?? 0, toOnes: toOnes)
  }

  /// Refuses a table that has what the model has not: it would be lost without a word.
  private func requireKnown(
    _ table: SQLiteTable, _ finder: ColumnFinder, _ entities: [Int64: CoreDataLayout.Entity],
    _ toOnes: [CoreDataLayout.ToOne], _ members: [String]
  ) throws {
    var known = Set(toOnes.flatMap(\.columns))
    for entity in entities.values { known.formUnion(entity.attributes.flatMap(\.columns)) }
    for member in members {
      // Derived ones have a column, and are computed anew.
      for attribute in model.attributes(of: member) where attribute.isDerived {
        known.formUnion(finder.columns(of: attribute.name))
      }
    }
    for (place, column) in table.columns.enumerated() where !known.contains(place) {
      let name = column.name.uppercased()
      // Z_PK, Z_ENT, Z_OPT, Z_FOK_…; a digit, where the entity of a target, or the owner of a list, stands beside a key.
      if name.hasPrefix("Z_") || !name.hasPrefix("Z") || name.dropFirst().first?.isNumber == true { continue }
      throw mismatch("table \(table.name) has a column \(column.name), of which the model knows nothing", members[0])
    }
  }

  /// The same for tables of links.
  private func requireKnownJoins() throws {
    let known = Set(joins.map { $0.table.name.uppercased() })
    for (name, table) in tables where !known.contains(name) {
      guard let number = JoinColumn(name)?.number, numbers.values.contains(number) else { continue }
      throw CoreDataStoreError(
        .modelMismatch,
        "the store has a table of links, \(table.name), of which the model knows nothing; give the model version that wrote the "
          + "store (--model, --model-version)")
    }
  }

  /// Refuses a model that orders a list whose places the tables do not have, or the other way round.
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
            ? "the list \(entity.name).\(relationship.name) is ordered in the store, and not in the model"
            : "the list \(entity.name).\(relationship.name) is ordered in the model, and has no places in the store",
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
      // Transformables never are, whatever their flag says.
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

  private mutating func findJoin(_ relationship: RelationshipDescription, of entity: EntityDescription) throws {
    guard relationship.isToMany, !relationship.isTransient,
      declaringEntity(of: relationship.name, entity.name) == entity.name
    else { return }
    let inverse = model.inverse(of: relationship.name, in: entity.name)
    // The other side's column has the links.
    if let inverse, !inverse.relationship.isToMany { return }
    if let inverse {
      let declaring = declaringEntity(of: inverse.relationship.name, inverse.entityName)
      let isKnown = joins.contains {
        $0.entity == declaring && $0.description.name == inverse.relationship.name
          && $0.inverse?.name == relationship.name
      }
      if isKnown { return }
    }
    let owners = related(entity.name, inverse?.relationship.destinationEntityName)
    let members = related(relationship.destinationEntityName, inverse?.entityName)
    var found: [CoreDataLayout.Join] = []
    for (name, table) in tables where name.hasPrefix("Z_") && name.dropFirst(2).first?.isNumber ?? false {
      found += matches(table, relationship, inverse, entity.name, owners, members)
    }
    if found.isEmpty, inverse == nil { found = foreignColumns(relationship, entity.name, owners) }
    if found.count > 1 {
      // The table's name is one of the two relationships'.
      let exact = found.filter { join in
        JoinColumn(join.table.name).map {
          $0.isNamed(relationship.name) || $0.isNamed(inverse?.relationship.name ?? "")
        }
          ?? false
      }
      if exact.count == 1 { found = exact }
    }
    guard let join = found.first, found.count == 1 else {
      let what = found.isEmpty ? "no table" : "several tables"
      throw mismatch(
        "the store has \(what) for the links of \(entity.name).\(relationship.name)", entity.name, relationship.name)
    }
    joins.append(join)
    if join.orderColumn != nil { ordered[entity.name, default: []].insert(relationship.name) }
    if join.inverseOrderColumn != nil, let inverse {
      ordered[declaringEntity(of: inverse.relationship.name, inverse.entityName), default: []].insert(
        inverse.relationship.name)
    }
  }

  /// The numbers that a column for an entity's objects may have: the entity's, or those above and below it.
  private func related(_ names: String?...) -> Set<Int64> {
    var result: Set<Int64> = []
    for name in names.compactMap({ $0 }) {
      for other in [name] + model.superentities(of: name) + model.subentities(of: name) {
        if let number = numbers[other] { result.insert(number) }
      }
    }
    return result
  }

  private func matches(
    _ table: SQLiteTable, _ relationship: RelationshipDescription,
    _ inverseSide: (entityName: String, relationship: RelationshipDescription)?, _ entity: String,
    _ owners: Set<Int64>, _ members: Set<Int64>
  ) -> [CoreDataLayout.Join] {
    let inverse = inverseSide?.relationship
    let inverseEntity = inverseSide.map { declaringEntity(of: $0.relationship.name, $0.entityName) }
    let links = table.columns.indices.filter { !table.columns[$0].name.uppercased().hasPrefix("Z_FOK_") }
    guard links.count == 2 else { return [] }
    var result: [CoreDataLayout.Join] = []
    for (owner, member) in [(links[0], links[1]), (links[1], links[0])] {
      let memberName = table.columns[member].name
      guard let column = JoinColumn(memberName), column.isNamed(relationship.name), members.contains(column.number)
      else { continue }
      let ownerName = table.columns[owner].name
      let other = JoinColumn(ownerName)
      let isOwnInverse = inverse?.name == relationship.name && inverseEntity == entity
      let isReflexive = isOwnInverse || inverse == nil
      if ownerName.uppercased() == "REFLEXIVE" {
        guard isReflexive else { continue }
      } else if let inverse {
        guard let other, other.isNamed(inverse.name), owners.contains(other.number) else { continue }
      } else {
        guard let other, owners.contains(other.number) else { continue }
      }
      result.append(
        .init(
          table: table, entity: entity, description: relationship, inverse: inverse, inverseEntity: inverseEntity,
          ownerColumn: owner, memberColumn: member, orderColumn: table.column("Z_FOK_\(memberName.dropFirst(2))"),
          inverseOrderColumn: ownerName.uppercased() == "REFLEXIVE"
            ? nil : table.column("Z_FOK_\(ownerName.dropFirst(2))")))
      // Two columns of one name and meaning: one reading is enough.
      if isOwnInverse { break }
    }
    return result
  }

  /// Without an inverse, the key of the owner may be a column of the members: `Z<number><RELATIONSHIP>`.
  private func foreignColumns(
    _ relationship: RelationshipDescription, _ entity: String, _ owners: Set<Int64>
  ) -> [CoreDataLayout.Join] {
    guard let root = model.rootEntity(of: relationship.destinationEntityName),
      let table = tables["Z\(root.uppercased())"],
      let key = table.column("Z_PK")
    else { return [] }
    for number in owners.sorted() {
      for name in ["Z\(number)\(relationship.name)", "Z_\(number)\(relationship.name)"] {
        guard let column = table.column(name) else { continue }
        let order = table.column("Z_FOK_\(name.dropFirst(1))") ?? table.column("Z_FOK_\(name.dropFirst(2))")
        return [
          .init(
            table: table, entity: entity, description: relationship, inverse: nil, inverseEntity: nil,
            ownerColumn: column, memberColumn: key, orderColumn: order, inverseOrderColumn: nil)
        ]
      }
    }
    return []
  }
}

/// Finds the columns of properties by their names.
private struct ColumnFinder {
  let table: SQLiteTable
  /// By name in capitals: how many properties want it.
  let demand: [String: Int]

  /// `ZNAME`; where several properties are called so, `ZNAME1` and so on as well. Elements of composites are separated from what they
  /// belong to in one of the ways that are known.
  func columns(of path: String) -> [Int] {
    let name = path.uppercased()
    for separator in name.contains(".") ? ["_", "", "."] : [""] {
      let spelled = "Z" + name.split(separator: ".").joined(separator: separator)
      let base = table.column(spelled)
      guard demand[name, default: 1] > 1 else {
        if let base { return [base] }
        continue
      }
      var result = base.map { [$0] } ?? []
      for suffix in 1...demand[name, default: 1] {
        // Another property may be called so itself.
        if demand["\(name)\(suffix)"] == nil, let column = table.column("\(spelled)\(suffix)") { result.append(column) }
      }
      // Fewer than are wanted: whose they are, nobody can tell.
      if result.count < demand[name, default: 1], !result.isEmpty { return [] }
      if !result.isEmpty { return result }
    }
    return []
  }
}

/// `Z_3ARTWORKS1`: an entity's number, a relationship's name, and perhaps one more number.
private struct JoinColumn {
  let number: Int64
  private let name: String

  init?(_ text: String) {
    let upper = text.uppercased()
    guard upper.hasPrefix("Z_") else { return nil }
    let digits = upper.dropFirst(2).prefix { $0.isASCII && $0.isNumber }
    guard let number = Int64(digits) else { return nil }
    self.number = number
    name = String(upper.dropFirst(2 + digits.count))
  }

  func isNamed(_ relationship: String) -> Bool {
    let wanted = relationship.uppercased()
    guard name.hasPrefix(wanted) else { return false }
    return name.dropFirst(wanted.count).allSatisfy { $0.isASCII && $0.isNumber }
  }
}
