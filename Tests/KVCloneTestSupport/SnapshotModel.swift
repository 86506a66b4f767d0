package import KVClone

package let snapshotModel = ManagedObjectModel("Library") {
  EntityDescription("Book", unique: [["number"]]) {
    AttributeDescription("number", .integer64)
    AttributeDescription("title", .string)
    AttributeDescription("cover", .binary)
    RelationshipDescription("tags", toMany: "Tag", inverse: "books")
    RelationshipDescription("pages", toMany: "Page", inverse: "book", ordered: true, deleteRule: .cascade)
  }
  EntityDescription("Page") {
    AttributeDescription("text", .string)
    RelationshipDescription("book", toOne: "Book", inverse: "pages")
  }
  EntityDescription("Tag") {
    AttributeDescription("name", .string)
    RelationshipDescription("books", toMany: "Book", inverse: "tags")
  }
}
