import Foundation
import KVClone

/// The cloned graph: a library of albums with 100 photos each; a photo has five attributes and two of 1,000 tags.
///
/// A clone copies the library, its albums and their photos, and shares the tags.
package enum PhotoGraph {
  package static let photosPerAlbum = 100
  package static let tagCount = 1_000

  /// Creates a store with a graph; a clone of it copies about `objects` objects.
  ///
  /// - Parameter imageBytes: the size of each photo's image; 0 for none.
  /// - Returns: the id of the library.
  package static func make(at path: String, objects: Int, imageBytes: Int = 0) throws -> ObjectID {
    let store = try ObjectStore.create(at: path, model: PhotoModel.model)
    defer { store.close() }
    let albums = max(1, (objects - 1) / (photosPerAlbum + 1))
    var random = SeededGenerator(seed: UInt64(objects))
    return try store.write { transaction in
      var tags: [ObjectID] = []
      for number in 0..<tagCount { tags.append(try transaction.insert("Tag", ["name": .string("tag \(number)")])) }
      let library = try transaction.insert("Library", ["name": "Everything"])
      for album in 0..<albums {
        let albumID = try transaction.insert(
          "Album", ["title": .string("Album \(album)")], relationships: ["library": [library]])
        for photo in 0..<photosPerAlbum {
          let first = Int.random(in: 0..<tagCount, using: &random)
          let second = (first + Int.random(in: 1..<tagCount, using: &random)) % tagCount
          try transaction.insert(
            "Photo", attributes(album * photosPerAlbum + photo, imageBytes, &random),
            relationships: ["album": [albumID], "tags": [tags[first], tags[second]]])
        }
      }
      return library
    }
  }

  private static func attributes(_ number: Int, _ imageBytes: Int, _ random: inout SeededGenerator)
    -> [String: AttributeValue?]
  {
    var values: [String: AttributeValue?] = [
      "title": .string("Photo number \(number)"),
      "taken": .date(Date(timeIntervalSinceReferenceDate: Double(number) * 61.5)),
      "rating": .double(Double(number % 50) / 10),
      "width": .integer(Int64(random.next() % 6_000)),
      "id": .uuid(random.uuid()),
    ]
    if imageBytes > 0 {
      var image = Data(count: imageBytes)
      // Distinct first bytes prevent that a lower layer deduplicates the images.
      withUnsafeBytes(of: random.next()) { image.replaceSubrange(0..<8, with: $0) }
      values["image"] = .binary(image)
    }
    return values
  }
}
