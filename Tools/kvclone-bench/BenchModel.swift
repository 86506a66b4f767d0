import Foundation
import KVClone
import KVCloneDemo

/// The content of the stores that `bench` measures with: a library of albums with photos, and tags that photos share.
package struct BenchModel {
  static let tagCount = 24
  static let shelfCount = 100
  private static let photosInAlbum = 100

  static let model = ManagedObjectModel("Bench") {
    EntityDescription("Library") {
      AttributeDescription("name", .string, optional: false)
      RelationshipDescription("albums", toMany: "Album", inverse: "library", ordered: true, deleteRule: .cascade)
    }
    EntityDescription("Album") {
      AttributeDescription("title", .string, optional: false)
      RelationshipDescription("library", toOne: "Library", inverse: "albums")
      RelationshipDescription("photos", toMany: "Photo", inverse: "album", ordered: true, deleteRule: .cascade)
    }
    EntityDescription("Photo", indexes: [FetchIndexDescription("byShelf", [.init("shelf")])]) {
      AttributeDescription("title", .string, optional: false)
      AttributeDescription("number", .integer64, optional: false)
      AttributeDescription("shelf", .integer32, optional: false)
      AttributeDescription("rating", .double, optional: false)
      AttributeDescription("taken", .date, optional: false)
      AttributeDescription("image", .binary)
      RelationshipDescription("album", toOne: "Album", inverse: "photos")
      RelationshipDescription("tags", toMany: "Tag", inverse: "photos")
    }
    EntityDescription("Tag") {
      AttributeDescription("name", .string, optional: false)
      RelationshipDescription("photos", toMany: "Photo", inverse: "tags")
    }
  }

  /// The number of objects of each kind, for a total number.
  package static func counts(of objects: Int) -> (albums: Int, photos: Int) {
    let rest = objects - 1 - tagCount
    let albums = max(1, (rest + photosInAlbum) / (photosInAlbum + 1))
    return (albums, rest - albums)
  }

  private(set) var library: ObjectID
  private(set) var photos: [ObjectID] = []

  /// Inserts the objects, with one tag for each photo, and no images.
  init(
    objects: Int, _ random: inout SeededGenerator, into transaction: inout WriteTransaction, _ check: () throws -> Void
  ) throws {
    let counts = Self.counts(of: objects)
    library = try transaction.insert("Library", ["name": "bench"])
    var tags: [ObjectID] = []
    for number in 0..<Self.tagCount { tags.append(try transaction.insert("Tag", ["name": .string("tag \(number)")])) }
    photos.reserveCapacity(counts.photos)
    for album in 0..<counts.albums {
      try check()
      let id = try transaction.insert(
        "Album", ["title": .string("album \(album)")], relationships: ["library": [library]])
      let end = album == counts.albums - 1 ? counts.photos : min(counts.photos, (album + 1) * Self.photosInAlbum)
      while photos.count < end {
        photos.append(try Self.insertPhoto(photos.count, id, tags, &random, into: &transaction))
      }
    }
  }

  private static func insertPhoto(
    _ number: Int, _ album: ObjectID, _ tags: [ObjectID], _ random: inout SeededGenerator,
    into transaction: inout WriteTransaction
  ) throws -> ObjectID {
    let attributes: [String: AttributeValue?] = [
      "title": .string("photo \(number) of the bench"), "number": .integer(Int64(number)),
      "shelf": .integer(Int64(number % shelfCount)), "rating": .double(Double.random(in: 0..<1, using: &random)),
      "taken": .date(Date(timeIntervalSinceReferenceDate: Double(number) * 60)),
    ]
    let tag = tags[Int.random(in: 0..<tags.count, using: &random)]
    return try transaction.insert("Photo", attributes, relationships: ["album": [album], "tags": [tag]])
  }
}
