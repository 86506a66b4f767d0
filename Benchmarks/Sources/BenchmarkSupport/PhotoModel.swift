import KVClone

/// The model of the cloned graphs: a library of albums of photos; a photo has six attributes, including an image, and
/// tags. A clone of the library copies its albums and their photos, and shares the tags.
package enum PhotoModel {
  package static let model = ManagedObjectModel("PhotoLibrary") {
    EntityDescription("Library") {
      AttributeDescription("name", .string)
      RelationshipDescription("albums", toMany: "Album", inverse: "library", deleteRule: .cascade)
    }
    EntityDescription("Album") {
      AttributeDescription("title", .string)
      RelationshipDescription("library", toOne: "Library", inverse: "albums")
      RelationshipDescription("photos", toMany: "Photo", inverse: "album", deleteRule: .cascade)
    }
    EntityDescription("Photo") {
      AttributeDescription("title", .string)
      AttributeDescription("taken", .date)
      AttributeDescription("rating", .double)
      AttributeDescription("width", .integer64)
      AttributeDescription("id", .uuid)
      AttributeDescription("image", .binary)
      RelationshipDescription("album", toOne: "Album", inverse: "photos")
      RelationshipDescription("tags", toMany: "Tag", inverse: "photos")
    }
    EntityDescription("Tag") {
      AttributeDescription("name", .string)
      RelationshipDescription("photos", toMany: "Photo", inverse: "tags")
    }
  }
}
