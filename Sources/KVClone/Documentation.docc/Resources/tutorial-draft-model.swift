import KVClone

let magazine = ManagedObjectModel("Magazine") {
  EntityDescription("Article") {
    AttributeDescription("title", .string, optional: false)
    RelationshipDescription("pictures", toMany: "Picture", inverse: "article", ordered: true, deleteRule: .cascade)
    RelationshipDescription("authors", toMany: "Person", inverse: "articles")
  }
  EntityDescription("Picture") {
    AttributeDescription("caption", .string, optional: false)
    AttributeDescription("image", .binary)
    RelationshipDescription("article", toOne: "Article", inverse: "pictures")
  }
  EntityDescription("Person") {
    AttributeDescription("name", .string, optional: false)
    RelationshipDescription("articles", toMany: "Article", inverse: "authors")
  }
}
