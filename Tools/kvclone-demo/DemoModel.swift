package import Foundation
package import KVClone

/// The model and the data of `kvclone demo`: a photo project, with one example of each clone rule.
package enum DemoModel {
  package static let model = ManagedObjectModel("PhotoProject") {
    EntityDescription("Project") {
      AttributeDescription("title", .string, optional: false)
      AttributeDescription("id", .uuid, optional: false, userInfo: ["rebuild": "uuid"])
      AttributeDescription("created", .date, optional: false, userInfo: ["rebuild": "now"])
      AttributeDescription("shareToken", .string, userInfo: ["exclude": ""])
      RelationshipDescription("albums", toMany: "Album", inverse: "project", ordered: true, deleteRule: .cascade)
      RelationshipDescription("cover", toOne: "Photo", inverse: "coverOf")
      RelationshipDescription("owner", toOne: "Person", inverse: "projects")
    }
    EntityDescription("Album") {
      AttributeDescription("title", .string, optional: false)
      AttributeDescription("projectID", .uuid, userInfo: ["followParent": "id"])
      RelationshipDescription("project", toOne: "Project", inverse: "albums")
      RelationshipDescription("photos", toMany: "Photo", inverse: "album", ordered: true, deleteRule: .cascade)
    }
    EntityDescription("Photo") {
      AttributeDescription("title", .string, optional: false)
      AttributeDescription("image", .binary)
      RelationshipDescription("album", toOne: "Album", inverse: "photos")
      RelationshipDescription("tags", toMany: "Tag", inverse: "photos")
      RelationshipDescription("coverOf", toOne: "Project", inverse: "cover")
      RelationshipDescription("exportJob", toOne: "ExportJob", inverse: "photo", userInfo: ["exclude": ""])
    }
    EntityDescription("Tag", unique: [["name"]]) {
      AttributeDescription("name", .string, optional: false)
      RelationshipDescription("photos", toMany: "Photo", inverse: "tags")
    }
    EntityDescription("Person") {
      AttributeDescription("name", .string, optional: false)
      RelationshipDescription("projects", toMany: "Project", inverse: "owner")
    }
    EntityDescription("ExportJob") {
      AttributeDescription("status", .string, optional: false, default: "waiting")
      RelationshipDescription("photo", toOne: "Photo", inverse: "exportJob")
    }
  }

  private static let albums: [(title: String, photos: [String])] = [
    ("Coast", ["Black sand", "Basalt", "Surf", "Puffins", "Lighthouse", "Driftwood", "Low tide", "Cliffs"]),
    ("Highlands", ["Moss", "Steam", "Ford", "Obsidian", "Hut", "Rain coming", "Ridge", "Midnight"]),
    ("City", ["Harbour", "Roofs", "Market", "Concert hall", "Pool", "Cat", "Night bus", "Bakery"]),
  ]
  private static let tags = ["sea", "stone", "light", "people"]

  /// One distinct image for each photo, created before the measurement.
  package static func images() -> [Data] {
    var random = SeededGenerator(seed: 2024)
    return albums.flatMap { album in album.photos.map { _ in DemoImage.bitmap(&random) } }
  }

  /// Inserts the project and all related objects.
  package static func insertProject(_ images: [Data], into transaction: inout WriteTransaction) throws -> ObjectID {
    var rest = images[...]
    var random = SeededGenerator(seed: 7)
    let owner = try transaction.insert("Person", ["name": "Nina"])
    var tagIDs: [ObjectID] = []
    for tag in tags { tagIDs.append(try transaction.insert("Tag", ["name": .string(tag)])) }
    let id = UUID()
    let project = try transaction.insert(
      "Project",
      [
        "title": "Iceland", "id": .uuid(id), "created": .date(Date(timeIntervalSinceReferenceDate: 783_000_000)),
        "shareToken": "9f2c-secret",
      ], relationships: ["owner": [owner]])
    for album in albums {
      let albumID = try transaction.insert(
        "Album", ["title": .string(album.title), "projectID": .uuid(id)], relationships: ["project": [project]])
      for title in album.photos {
        let image = rest.popFirst() ?? Data()
        let tag = tagIDs[Int.random(in: 0..<tagIDs.count, using: &random)]
        let photo = try transaction.insert(
          "Photo", ["title": .string(title), "image": .binary(image)],
          relationships: ["album": [albumID], "tags": [tag]])
        if title == "Surf" { try transaction.setToOne(project, "cover", photo) }
        if title == "Black sand" {
          _ = try transaction.insert("ExportJob", ["status": "running"], relationships: ["photo": [photo]])
        }
      }
    }
    return project
  }
}
