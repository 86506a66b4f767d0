import KVClone

/// What the workload stores: something of every kind of list, link and value that is written in a way of its own.
enum WorkloadModel {
  /// Nothing in it depends on the clock or on chance, so that a state is a function of the seed and the commit.
  static let model = ManagedObjectModel("Faults") {
    EntityDescription("Project") {
      AttributeDescription("title", .string, optional: false)
      AttributeDescription("number", .integer64, optional: false, default: .integer(0))
      AttributeDescription("notes", .binary)
      RelationshipDescription("albums", toMany: "Album", inverse: "project", ordered: true, deleteRule: .cascade)
      RelationshipDescription("cover", toOne: "Photo", inverse: "coverOf")
    }
    EntityDescription("Album") {
      AttributeDescription("title", .string, optional: false)
      RelationshipDescription("project", toOne: "Project", inverse: "albums")
      RelationshipDescription("photos", toMany: "Photo", inverse: "album", ordered: true, deleteRule: .cascade)
    }
    EntityDescription("Photo") {
      AttributeDescription("title", .string, optional: false)
      AttributeDescription("rating", .integer32)
      AttributeDescription("taken", .date)
      AttributeDescription("image", .binary)
      RelationshipDescription("album", toOne: "Album", inverse: "photos")
      RelationshipDescription("tags", toMany: "Tag", inverse: "photos")
      RelationshipDescription("coverOf", toOne: "Project", inverse: "cover")
    }
    EntityDescription("Tag", unique: [["name"]]) {
      AttributeDescription("name", .string, optional: false)
      RelationshipDescription("photos", toMany: "Photo", inverse: "tags")
    }
  }
}
