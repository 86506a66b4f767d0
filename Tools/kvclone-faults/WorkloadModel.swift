import Foundation
import KVClone

/// What the workload stores: something of every kind of list, link and value that is written in a way of its own. Its
/// versions differ in everything that a migration does in a way of its own.
enum WorkloadModel {
  /// From the earliest to the latest. Nothing in them depends on the clock or on chance, so that a state is a function of
  /// the seed and the commit.
  static let versions = [first, second, third, fourth, seventh]

  static func version(named name: String?) -> ManagedObjectModel? {
    versions.first { $0.versionIdentifier == name }
  }

  /// Entities whose objects get new ids by a migration.
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

  /// Objects move (tags come under another root), are rewritten (ratings), and go (remarks, whose table stays for
  /// snapshots); large values go (drafts); a to-one becomes to-many (covers); names change (a photo's title); attributes
  /// come (caption, width; and an album's subtitle, for which no record is rewritten); indexes are dropped, made (rating), and made anew (of the tags' constraint).
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

  /// Tags move back and albums elsewhere, who have ordered lists on both of their sides; ratings are rewritten once more;
  /// unordered lists get an order (tags, covers); remarks come again, which are others than those of the first version.
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

  /// What cannot be inferred, and takes a mapping model, by which all objects are made anew.
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

  /// From the fourth version to the seventh, over two that no store of the workload ever has: what is changed in each of them
  /// is written once, for all of them.
  static let chain = [fourth, fifth, sixth, seventh]

  /// A number becomes another kind of number, an attribute comes that goes again, and one that stays.
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

  /// The label of tags becomes what an index is made of, and the remarks' text is wanted.
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

  /// Gives a mandatory attribute another type.
  private static func retype(
    _ name: String, _ type: AttributeType, default value: AttributeValue, of entity: inout EntityDescription
  ) {
    for index in entity.attributes.indices where entity.attributes[index].name == name {
      entity.attributes[index] = AttributeDescription(name, type, optional: false, default: value)
    }
  }

  /// From the third version to the fourth.
  static let mapping = MappingModel(
    ["Project", "Album", "Tag", "Remark"].map { EntityMapping(from: $0, to: $0) } + [
      EntityMapping(
        from: "Photo", to: "Photo",
        attributes: [PropertyMapping("text", .source("heading")), PropertyMapping("origin", .constant("mapped"))])
    ])
}

/// What the workload's steps have to know of a version: what it calls things, and how it stores them.
struct WorkloadVersion: Sendable {
  /// From 0 on, among ``WorkloadModel/versions``.
  let index: Int

  var model: ManagedObjectModel { WorkloadModel.versions[index] }
  var photoTitle: String { ["title", "name", "heading", "text", "text"][index] }
  var hasRemarks: Bool { index != 1 }
  var hasDrafts: Bool { index == 0 }
  var hasOrigins: Bool { index >= 3 }
  /// The relationship of covers; nil where it is to-many, and called covers.
  var cover: String? { index == 0 ? "cover" : nil }

  func rating(_ number: Int) -> AttributeValue {
    switch index {
    case 0: .integer(Int64(number))
    case 1: .decimal(Decimal(number))
    default: .string("\(number)")
    }
  }
}
