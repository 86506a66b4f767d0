package import KVCloneModel

/// Where in a store's tables a model's objects are.
package struct CoreDataLayout {
  /// A root entity and all below it: one table.
  package struct Hierarchy {
    package let root: String
    package let table: SQLiteTable
    package let keyColumn: Int
    package let entityColumn: Int
    /// By Z_ENT.
    package let entities: [Int64: Entity]
    /// The greatest key that was ever given out.
    package let maximumKey: Int64
    /// The store's names of the columns of to-one relationships, each once.
    package var toOnes: [ToOne]
  }

  /// An entity's columns.
  package struct Entity {
    package let name: String
    package let isAbstract: Bool
    /// In the order of their columns, so that a row is read from front to back.
    package var attributes: [Attribute]
    /// Places in the hierarchy's ``Hierarchy/toOnes``.
    package var toOnes: [Int]
  }

  /// An attribute's column, or those of a composite's elements.
  package struct Attribute {
    package let description: AttributeDescription
    /// Several where entities side by side have an attribute of one name, and Core Data numbered the columns: of those, a row has a
    /// value in one.
    package let columns: [Int]
    package var elements: [Attribute]
    /// Whether values say first where their bytes are.
    package var isExternal: Bool
  }

  /// A to-one relationship that has a column with the target's key.
  package struct ToOne {
    /// The entity that declares it.
    package let entity: String
    package let description: RelationshipDescription
    package let columns: [Int]
    /// Beside each of the columns: the one with the place in the target's ordered list.
    package let orderColumns: [Int?]
    package let inverse: RelationshipDescription?
  }

  /// A table that links the objects of two hierarchies, or a column that does where there is no inverse.
  package struct Join {
    package let table: SQLiteTable
    /// The entity that declares the relationship.
    package let entity: String
    package let description: RelationshipDescription
    package let inverse: RelationshipDescription?
    package let ownerColumn: Int
    package let memberColumn: Int
    /// The member's place in the owner's list.
    package let orderColumn: Int?
    /// The owner's place in the member's list.
    package let inverseOrderColumn: Int?
  }

  /// What is not taken over.
  package struct LeftOut: Hashable, Sendable {
    package let name: String
    package let reason: String
    package let rowCount: Int
  }

  package let model: ManagedObjectModel
  package let hierarchies: [Hierarchy]
  package let joins: [Join]
  package let leftOut: [LeftOut]
}

extension CoreDataLayout {
  /// - Parameters:
  ///   - isModelComplete: The model is the app's own. Else what it lacks (which lists are ordered, which values are stored outside) is
  ///     learned from the tables.
  ///   - hasExternalFiles: Core Data has made the folder for values that are stored outside.
  package init(
    _ store: CoreDataStore, _ model: ManagedObjectModel, isModelComplete: Bool, hasExternalFiles: Bool
  ) throws {
    var builder = try CoreDataLayoutBuilder(store, model)
    try builder.build()
    if !isModelComplete, !builder.ordered.isEmpty {
      // Once more, with a model that says what the tables do.
      builder = try CoreDataLayoutBuilder(store, builder.modelWithOrder())
      try builder.build()
    }
    var hierarchies = builder.hierarchies
    if !isModelComplete, hasExternalFiles {
      for place in hierarchies.indices { try Self.findExternal(store.file, &hierarchies[place]) }
    }
    self.model = builder.model
    self.hierarchies = hierarchies
    joins = builder.joins
    leftOut = try Self.leftOut(store)
  }

  /// Attributes are taken for externally stored where every value that they have in the table looks like it.
  private static func findExternal(_ file: SQLiteFile, _ hierarchy: inout Hierarchy) throws {
    var columns: Set<Int> = []
    for entity in hierarchy.entities.values {
      for attribute in entity.attributes where attribute.mayBeExternal { columns.formUnion(attribute.columns) }
    }
    if columns.isEmpty { return }
    var used: Set<Int> = []
    let scan = try SQLiteScan(file, hierarchy.table)
    while try scan.next(), !columns.isEmpty {
      for column in columns {
        guard let (front, count) = try scan.front(column, 2) else { continue }
        used.insert(column)
        let isReference = front.first == 2 && count == CoreDataValue.externalReferenceLength
        if front.first != 1, !isReference { columns.remove(column) }
      }
    }
    let external = columns.intersection(used)
    if external.isEmpty { return }
    var entities = hierarchy.entities
    for (number, entity) in entities {
      var entity = entity
      for place in entity.attributes.indices
      where entity.attributes[place].mayBeExternal && !external.isDisjoint(with: entity.attributes[place].columns) {
        entity.attributes[place].isExternal = true
      }
      entities[number] = entity
    }
    hierarchy = Hierarchy(
      root: hierarchy.root, table: hierarchy.table, keyColumn: hierarchy.keyColumn,
      entityColumn: hierarchy.entityColumn, entities: entities, maximumKey: hierarchy.maximumKey,
      toOnes: hierarchy.toOnes)
  }

  private static func leftOut(_ store: CoreDataStore) throws -> [LeftOut] {
    try store.internalEntities.map { row in
      var count = 0
      if let table = try store.file.table("A" + row.name) {
        let scan = try SQLiteScan(store.file, table)
        while try scan.next() { count += 1 }
      }
      let isCloud = row.number >= CoreDataStore.firstCloudNumber
      return LeftOut(
        name: row.name, reason: isCloud ? "CloudKit's mirror" : "the history of changes", rowCount: count)
    }
  }
}

extension CoreDataLayout.Attribute {
  var mayBeExternal: Bool { description.type == .binary || description.type == .transformable }
}
