import Foundation
import KVClone

/// The models of the workload: they have every kind of list, relationship and value with its own storage form. The
/// versions include every kind of change that migrations handle separately.
enum WorkloadModel {
  /// The versions in order. They do not depend on time or randomness, so that a state is a function of the seed and the
  /// commit.
  static let versions = [first, second, third, fourth, seventh]

  static func version(named name: String?) -> ManagedObjectModel? {
    versions.first { $0.versionIdentifier == name }
  }

  /// Entities with objects that get new ids in a migration.
  static let movingEntities = ["Tag", "Album"]

  private static let first = ManagedObjectModel("Faults", version: "1") {
    EntityDescription("Project") {
      AttributeDescription("title", .string, optional: false)
      AttributeDescription("number", .integer64, optional: false, default: .integer(0))
      AttributeDescription("notes", .binary)
      RelationshipDescription("albums", toMany: "Album", inverse: "project", ordered: true, deleteRule: .cascade)
      RelationshipDescription("cover", toOne: "Photo", inverse: "coverOf")
    }
    EntityDescription("Album", indexes: [FetchIndexDescription("title", [.init("title")])]) {
      AttributeDescription("title", .string, optional: false)
      RelationshipDescription("project", toOne: "Project", inverse: "albums")
      RelationshipDescription("photos", toMany: "Photo", inverse: "album", ordered: true, deleteRule: .cascade)
    }
    EntityDescription("Photo") {
      AttributeDescription("title", .string, optional: false)
      AttributeDescription("rating", .integer32)
      AttributeDescription("taken", .date)
      AttributeDescription("image", .binary)
      AttributeDescription("draft", .binary)
      RelationshipDescription("album", toOne: "Album", inverse: "photos")
      RelationshipDescription("tags", toMany: "Tag", inverse: "photos")
      RelationshipDescription("coverOf", toOne: "Project", inverse: "cover")
      RelationshipDescription("remarks", toMany: "Remark", inverse: "photo", deleteRule: .cascade)
    }
    EntityDescription("Tag", unique: [["name"]]) {
      AttributeDescription("name", .string, optional: false)
      RelationshipDescription("photos", toMany: "Photo", inverse: "tags")
    }
    EntityDescription("Remark") {
      AttributeDescription("text", .string)
      AttributeDescription("scan", .binary)
      RelationshipDescription("photo", toOne: "Photo", inverse: "remarks")
    }
  }

  /// Objects move (tags get another root entity), are rewritten (ratings), and are deleted (remarks, but their table
  /// stays for snapshots); blobs are deleted (drafts); a to-one becomes to-many (covers); names change (a photo's
  /// title); attributes are added (caption, width; and an album's subtitle, for which no record is rewritten); indexes
  /// are dropped, created (rating), and rebuilt (of the tags' constraint).
  private static let second = ManagedObjectModel("Faults", version: "2") {
    EntityDescription("Project") {
      AttributeDescription("title", .string, optional: false)
      AttributeDescription("number", .integer64, optional: false, default: .integer(0))
      AttributeDescription("notes", .binary)
      RelationshipDescription("albums", toMany: "Album", inverse: "project", ordered: true, deleteRule: .cascade)
      RelationshipDescription("covers", toMany: "Photo", inverse: "coverOf", renamingIdentifier: "cover")
    }
    EntityDescription("Album") {
      AttributeDescription("title", .string, optional: false)
      AttributeDescription("subtitle", .string)
      RelationshipDescription("project", toOne: "Project", inverse: "albums")
      RelationshipDescription("photos", toMany: "Photo", inverse: "album", ordered: true, deleteRule: .cascade)
    }
    EntityDescription("Photo", indexes: [FetchIndexDescription("rating", [.init("rating")])]) {
      AttributeDescription("name", .string, optional: false, renamingIdentifier: "title")
      AttributeDescription("rating", .decimal)
      AttributeDescription("taken", .date)
      AttributeDescription("image", .binary)
      AttributeDescription("caption", .string)
      AttributeDescription("width", .integer32, optional: false, default: .integer(640))
      RelationshipDescription("album", toOne: "Album", inverse: "photos")
      RelationshipDescription("tags", toMany: "Tag", inverse: "photos")
      RelationshipDescription("coverOf", toOne: "Project", inverse: "covers")
    }
    EntityDescription("Label", abstract: true) {
      AttributeDescription("colour", .string)
    }
    EntityDescription("Tag", parent: "Label", unique: [["name"]]) {
      AttributeDescription("name", .string, optional: false)
      RelationshipDescription("photos", toMany: "Photo", inverse: "tags")
    }
  }

  /// Tags move back, and albums, which have ordered lists on both sides, move; ratings are rewritten again; unordered
  /// lists become ordered (tags, covers); a new entity reuses the name of the deleted remarks.
  private static let third = ManagedObjectModel("Faults", version: "3") {
    EntityDescription("Project", indexes: [FetchIndexDescription("number", [.init("number"), .init("title")])]) {
      AttributeDescription("title", .string, optional: false)
      AttributeDescription("number", .integer64, optional: false, default: .integer(0))
      AttributeDescription("notes", .binary)
      RelationshipDescription("albums", toMany: "Album", inverse: "project", ordered: true, deleteRule: .cascade)
      RelationshipDescription("covers", toMany: "Photo", inverse: "coverOf", ordered: true, renamingIdentifier: "cover")
    }
    EntityDescription("Section", abstract: true) {}
    EntityDescription("Album", parent: "Section") {
      AttributeDescription("title", .string, optional: false)
      RelationshipDescription("project", toOne: "Project", inverse: "albums")
      RelationshipDescription("photos", toMany: "Photo", inverse: "album", ordered: true, deleteRule: .cascade)
    }
    EntityDescription("Photo", indexes: [FetchIndexDescription("rating", [.init("rating")])]) {
      AttributeDescription("heading", .string, optional: false, renamingIdentifier: "title")
      AttributeDescription("rating", .string)
      AttributeDescription("taken", .date)
      AttributeDescription("image", .binary)
      AttributeDescription("width", .integer64, optional: false, default: .integer(640))
      RelationshipDescription("album", toOne: "Album", inverse: "photos")
      RelationshipDescription("tags", toMany: "Tag", inverse: "photos", ordered: true)
      RelationshipDescription("coverOf", toOne: "Project", inverse: "covers")
      RelationshipDescription("remarks", toMany: "Remark", inverse: "photo", deleteRule: .cascade)
    }
    EntityDescription("Tag", unique: [["name"]]) {
      AttributeDescription("name", .string, optional: false)
      RelationshipDescription("photos", toMany: "Photo", inverse: "tags")
    }
    EntityDescription("Remark") {
      AttributeDescription("text", .string)
      AttributeDescription("scan", .binary)
      RelationshipDescription("photo", toOne: "Photo", inverse: "remarks")
    }
  }

  /// Changes that cannot be inferred: they require a mapping model, which recreates all objects.
  private static let fourth: ManagedObjectModel = {
    var entities = third.entities
    for index in entities.indices where entities[index].name == "Photo" {
      entities[index].attributes.removeAll { $0.name == "heading" }
      entities[index].attributes += [
        AttributeDescription("text", .string, optional: false),
        AttributeDescription("origin", .string, optional: false),
      ]
    }
    return ManagedObjectModel(name: "Faults", versionIdentifier: "4", entities: entities)
  }()

  /// The versions of a migration from the fourth to the seventh version. The store never has the two intermediate
  /// versions; the migration writes the changes of all versions at once.
  static let chain = [fourth, fifth, sixth, seventh]

  /// Changes the type of a number, adds an attribute that the next version removes, and one that stays.
  private static let fifth = changed(fourth, to: "5") { entity in
    switch entity.name {
    case "Photo":
      retype("width", .decimal, default: .decimal(640), of: &entity)
      entity.attributes.append(AttributeDescription("passing", .binary, default: .binary(Data([1, 2, 3]))))
    case "Tag":
      entity.attributes.append(AttributeDescription("weight", .integer32, optional: false, default: .integer(1)))
    default: break
    }
  }

  private static let sixth = changed(fifth, to: "6") { entity in
    switch entity.name {
    case "Photo":
      retype("width", .string, default: .string("640"), of: &entity)
      entity.attributes.removeAll { $0.name == "passing" }
    case "Tag": retype("weight", .double, default: .double(1), of: &entity)
    default: break
    }
  }

  /// The labels of tags become indexed, and the remarks' text becomes mandatory.
  private static let seventh = changed(sixth, to: "7") { entity in
    switch entity.name {
    case "Tag":
      retype("weight", .string, default: .string("1"), of: &entity)
      entity.indexes.append(FetchIndexDescription("weight", [.init("weight"), .init("name")]))
    case "Remark": retype("text", .string, default: .string(""), of: &entity)
    default: break
    }
  }

  private static func changed(
    _ model: ManagedObjectModel, to version: String, _ change: (inout EntityDescription) -> Void
  ) -> ManagedObjectModel {
    var entities = model.entities
    for index in entities.indices { change(&entities[index]) }
    return ManagedObjectModel(name: model.name, versionIdentifier: version, entities: entities)
  }

  /// Changes the type of a mandatory attribute.
  private static func retype(
    _ name: String, _ type: AttributeType, default value: AttributeValue, of entity: inout EntityDescription
  ) {
    for index in entity.attributes.indices where entity.attributes[index].name == name {
      entity.attributes[index] = AttributeDescription(name, type, optional: false, default: value)
    }
  }

  /// The mapping from the third version to the fourth.
  static let mapping = MappingModel(
    ["Project", "Album", "Tag", "Remark"].map { EntityMapping(from: $0, to: $0) } + [
      EntityMapping(
        from: "Photo", to: "Photo",
        attributes: [PropertyMapping("text", .source("heading")), PropertyMapping("origin", .constant("mapped"))])
    ])
}

/// The properties of a model version that the workload's steps depend on: names, and kinds of storage.
struct WorkloadVersion: Sendable {
  /// The index in ``WorkloadModel/versions``.
  let index: Int

  var model: ManagedObjectModel { WorkloadModel.versions[index] }
  var photoTitle: String { ["title", "name", "heading", "text", "text"][index] }
  var hasRemarks: Bool { index != 1 }
  var hasDrafts: Bool { index == 0 }
  var hasOrigins: Bool { index >= 3 }
  /// The name of the to-one relationship of covers; nil if it is to-many and named covers.
  var cover: String? { index == 0 ? "cover" : nil }

  func rating(_ number: Int) -> AttributeValue {
    switch index {
    case 0: .integer(Int64(number))
    case 1: .decimal(Decimal(number))
    default: .string("\(number)")
    }
  }
}
