package import KVClone
import Testing

/// A draft of a model's next version.
package struct ModelDraft {
  package var entities: [EntityDescription]

  package subscript(_ name: String) -> EntityDescription {
    get { entities.first { $0.name == name } ?? EntityDescription(name) {} }
    set {
      if let place = entities.firstIndex(where: { $0.name == name }) { entities[place] = newValue }
    }
  }

  package mutating func attribute(_ entity: String, _ name: String, _ change: (inout AttributeDescription) -> Void) {
    guard let place = self[entity].attributes.firstIndex(where: { $0.name == name }) else { return }
    change(&self[entity].attributes[place])
  }

  package mutating func relationship(
    _ entity: String, _ name: String, _ change: (inout RelationshipDescription) -> Void
  ) {
    guard let place = self[entity].relationships.firstIndex(where: { $0.name == name }) else { return }
    change(&self[entity].relationships[place])
  }

  /// Renames an attribute, with the old name as its renaming identifier.
  package mutating func rename(_ entity: String, attribute name: String, to later: String) {
    attribute(entity, name) { attribute in
      attribute.renamingIdentifier = attribute.renamingIdentifier ?? name
      attribute.name = later
    }
    self[entity].uniquenessConstraints = self[entity].uniquenessConstraints.map { $0.map { $0 == name ? later : $0 } }
    let indexes = self[entity].indexes
    self[entity].indexes = indexes.map { index in
      .init(index.name, index.elements.map { .init($0.propertyName == name ? later : $0.propertyName ?? "") })
    }
  }

  package mutating func rename(_ entity: String, relationship name: String, to later: String) {
    let inverse = self[entity].relationships.first { $0.name == name }
    relationship(entity, name) { relationship in
      relationship.renamingIdentifier = relationship.renamingIdentifier ?? name
      relationship.name = later
    }
    guard let inverse, let other = inverse.inverseName else { return }
    relationship(inverse.destinationEntityName, other) { $0.inverseName = later }
  }

  package mutating func rename(entity name: String, to later: String) {
    self[name].renamingIdentifier = self[name].renamingIdentifier ?? name
    self[name].name = later
    refer(to: [name: later])
  }

  /// Changes all references to these entities to other names.
  package mutating func refer(to names: [String: String]) {
    for place in entities.indices {
      if let parent = entities[place].superentityName { entities[place].superentityName = names[parent] ?? parent }
      for index in entities[place].relationships.indices {
        let destination = entities[place].relationships[index].destinationEntityName
        entities[place].relationships[index].destinationEntityName = names[destination] ?? destination
      }
    }
  }

  package mutating func remove(_ property: String, from entity: String) {
    self[entity].attributes.removeAll { $0.name == property }
    self[entity].relationships.removeAll { $0.name == property }
    self[entity].uniquenessConstraints.removeAll { $0.contains(property) }
    self[entity].indexes.removeAll { $0.elements.contains { $0.propertyName == property } }
  }

  package mutating func remove(entity name: String) { entities.removeAll { $0.name == name } }

  /// Moves a property of one entity to others.
  package mutating func move(attribute name: String, from entity: String, to others: [String]) {
    guard let attribute = self[entity].attributes.first(where: { $0.name == name }) else { return }
    remove(name, from: entity)
    for other in others where !self[other].attributes.contains(where: { $0.name == name }) {
      self[other].attributes.append(attribute)
    }
  }

  package mutating func move(relationship name: String, from entity: String, to others: [String]) {
    guard let relationship = self[entity].relationships.first(where: { $0.name == name }) else { return }
    remove(name, from: entity)
    for other in others where !self[other].relationships.contains(where: { $0.name == name }) {
      self[other].relationships.append(relationship)
    }
  }
}

extension ManagedObjectModel {
  /// Returns the next version.
  package func next(_ version: String = "next", _ change: (inout ModelDraft) -> Void) -> ManagedObjectModel {
    var draft = ModelDraft(entities: entities)
    change(&draft)
    return ManagedObjectModel(
      name: name, versionIdentifier: version, entities: draft.entities, composites: composites)
  }
}

/// One change of the library's model, or several related ones.
package struct ModelChange: Sendable, CustomTestStringConvertible {
  package let name: String
  /// The versions from the second one on.
  package let versions: [ManagedObjectModel]
  /// The changes that lead to each version.
  package let changes: [@Sendable (inout ModelDraft) -> Void]
  /// The first version, if it is not the library's.
  package var first = Library.model
  package var testDescription: String { name }

  package init(_ name: String, _ changes: @Sendable (inout ModelDraft) -> Void...) {
    self.name = name
    self.changes = changes
    var versions: [ManagedObjectModel] = []
    for (index, change) in changes.enumerated() {
      versions.append((versions.last ?? Library.model).next("\(index + 2)", change))
    }
    self.versions = versions
  }
}

/// A model with every kind of property.
package enum Library {
  private static let address = [
    AttributeDescription("street", .string), AttributeDescription("zip", .integer32, default: 1),
  ]

  package static let model = ManagedObjectModel("Library", version: "1") {
    EntityDescription(
      "Thing", abstract: true, unique: [["code"]], indexes: [FetchIndexDescription("title", [.init("title")])]
    ) {
      AttributeDescription("code", .integer64)
      AttributeDescription("title", .string, default: "untitled")
      AttributeDescription("data", .binary)
      RelationshipDescription("related", toMany: "Thing")
      RelationshipDescription("ranked", toMany: "Tag", ordered: true)
    }
    EntityDescription("Book", parent: "Thing", indexes: [FetchIndexDescription("pages", [.init("pages")])]) {
      AttributeDescription("pages", .integer32, optional: false, default: 10)
      AttributeDescription("rating", .double)
      AttributeDescription("isbn", .uuid)
      RelationshipDescription("author", toOne: "Person", inverse: "books")
      RelationshipDescription("chapters", toMany: "Chapter", inverse: "book", ordered: true, deleteRule: .cascade)
      RelationshipDescription("tags", toMany: "Tag", inverse: "books")
      RelationshipDescription("cover", toOne: "Picture")
    }
    EntityDescription("Comic", parent: "Book") {
      AttributeDescription("isColoured", .boolean)
      RelationshipDescription("frames", toMany: "Picture", ordered: true)
    }
    EntityDescription("Magazine", parent: "Thing", unique: [["issue", "published"]]) {
      AttributeDescription("issue", .integer16)
      AttributeDescription("pages", .integer32, optional: false, default: 20)
      AttributeDescription("published", .date)
      AttributeDescription("scan", .binary)
      RelationshipDescription("photos", toMany: "Picture")
    }
    EntityDescription("Person", indexes: [FetchIndexDescription("name", [.init("name")])]) {
      AttributeDescription("name", .string, optional: false, default: "nobody")
      AttributeDescription("age", .float)
      AttributeDescription("home", .composite, elements: address)
      RelationshipDescription("books", toMany: "Book", inverse: "author")
      RelationshipDescription("friends", toMany: "Person", inverse: "friends")
      RelationshipDescription("boss", toOne: "Person")
    }
    EntityDescription("Chapter") {
      AttributeDescription("text", .string)
      RelationshipDescription("book", toOne: "Book", inverse: "chapters")
    }
    EntityDescription("Tag") {
      AttributeDescription("label", .string)
      AttributeDescription("weight", .decimal)
      RelationshipDescription("books", toMany: "Book", inverse: "tags")
    }
    EntityDescription("Picture") {
      AttributeDescription("image", .binary)
      AttributeDescription("link", .uri)
    }
  }
}
