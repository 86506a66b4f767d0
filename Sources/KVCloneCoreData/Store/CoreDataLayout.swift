package import KVCloneModel

/// The tables and columns of a model's objects in a store.
package struct CoreDataLayout {
  /// A root entity and its descendants: one table.
  package struct Hierarchy {
    package let root: String
    package let table: SQLiteTable
    package let keyColumn: Int
    package let entityColumn: Int
    /// By Z_ENT.
    package let entities: [Int64: Entity]
    /// The greatest key that was ever assigned.
    package let maximumKey: Int64
    /// The columns of to-one relationships, each once.
    package var toOnes: [ToOne]
  }

  /// An entity's columns.
  package struct Entity {
    package let name: String
    package let isAbstract: Bool
    /// In the order of their columns, so that a row is read sequentially.
    package var attributes: [Attribute]
    /// Indexes in the hierarchy's ``Hierarchy/toOnes``.
    package var toOnes: [Int]
  }

  /// An attribute's column, or those of a composite's elements.
  ///
  /// A class like ``ToOne``: what is used for every row must not copy descriptions.
  package final class Attribute: Sendable {
    package let description: AttributeDescription
    /// Several if sibling entities have attributes of the same name, and Core Data numbered the columns: a row has a
    /// value in one of them.
    package let columns: [Int]
    package let elements: [Attribute]
    /// Whether values start with the place of their bytes.
    package let isExternal: Bool

    init(description: AttributeDescription, columns: [Int], elements: [Attribute], isExternal: Bool) {
      self.description = description
      self.columns = columns
      self.elements = elements
      self.isExternal = isExternal
    }
  }

  /// A to-one relationship; its column has the target's key.
  package final class ToOne: Sendable {
    /// The entity that declares it.
    package let entity: String
    package let description: RelationshipDescription
    package let columns: [Int]
    /// For each of the columns: the column with the position in the target's ordered list.
    package let orderColumns: [Int?]
    package let inverse: RelationshipDescription?
    /// The entity that declares the inverse.
    package let inverseEntity: String?

    init(
      entity: String, description: RelationshipDescription, columns: [Int], orderColumns: [Int?],
      inverse: RelationshipDescription?, inverseEntity: String?
    ) {
      self.entity = entity
      self.description = description
      self.columns = columns
      self.orderColumns = orderColumns
      self.inverse = inverse
      self.inverseEntity = inverseEntity
    }
  }

  /// A table that links the objects of two hierarchies, or a column that does for a relationship without an inverse.
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
    /// The member's position in the owner's list.
    package let orderColumn: Int?
    /// The owner's position in the member's list.
    package let inverseOrderColumn: Int?
  }

  /// A part of the model that is not imported, and the reason.
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
  /// - Parameter isModelComplete: Whether the model is the app's own. Otherwise, the tables show which lists are
  ///   ordered.
  package init(_ store: CoreDataStore, _ model: ManagedObjectModel, isModelComplete: Bool) throws {
    var builder = try CoreDataLayoutBuilder(store, model)
    try builder.build()
    if !isModelComplete, !builder.ordered.isEmpty {
      // Repeat with a model that matches the tables.
      builder = try CoreDataLayoutBuilder(store, builder.modelWithOrder())
      try builder.build()
    }
    try builder.requireOrder()
    self.model = builder.model
    hierarchies = builder.hierarchies
    joins = builder.joins
    // Their pages are not read: they may be corrupted, or larger than all the rest.
    leftOut = store.internalEntities.map { row in
      let isCloud = row.number >= CoreDataStore.firstCloudNumber
      return LeftOut(name: row.name, reason: isCloud ? "CloudKit's mirror" : "the history of changes")
    }
  }
}
