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
    package let elements: [Attribute]
    /// Whether values say first where their bytes are.
    package let isExternal: Bool
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
    /// The entity that declares the inverse.
    package let inverseEntity: String?
  }

  /// A table that links the objects of two hierarchies, or a column that does where there is no inverse.
  package struct Join {
    package let table: SQLiteTable
    /// The entity that declares the relationship.
    package let entity: String
    package let description: RelationshipDescription
    package let inverse: RelationshipDescription?
    /// The entity that declares the inverse.
    package let inverseEntity: String?
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
  }

  package let model: ManagedObjectModel
  package let hierarchies: [Hierarchy]
  package let joins: [Join]
  package let leftOut: [LeftOut]
}

extension CoreDataLayout {
  /// - Parameter isModelComplete: The model is the app's own. Else which lists are ordered is learned from the tables.
  package init(_ store: CoreDataStore, _ model: ManagedObjectModel, isModelComplete: Bool) throws {
    var builder = try CoreDataLayoutBuilder(store, model)
    try builder.build()
    if !isModelComplete, !builder.ordered.isEmpty {
      // Once more, with a model that says what the tables do.
      builder = try CoreDataLayoutBuilder(store, builder.modelWithOrder())
      try builder.build()
    }
    try builder.requireOrder()
    self.model = builder.model
    hierarchies = builder.hierarchies
    joins = builder.joins
    // Not a page of them is read: they may be damaged, or larger than all the rest.
    leftOut = store.internalEntities.map { row in
      let isCloud = row.number >= CoreDataStore.firstCloudNumber
      return LeftOut(name: row.name, reason: isCloud ? "CloudKit's mirror" : "the history of changes")
    }
  }
}
