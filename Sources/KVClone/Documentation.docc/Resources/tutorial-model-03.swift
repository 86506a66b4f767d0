import KVClone

let model = ManagedObjectModel("Todo") {
  EntityDescription("TodoList") {
    AttributeDescription("title", .string, optional: false)
    AttributeDescription("created", .date, userInfo: ["rebuild": "now"])
    RelationshipDescription("items", toMany: "TodoItem", inverse: "list", ordered: true, deleteRule: .cascade)
  }
  EntityDescription("TodoItem") {
    AttributeDescription("text", .string, optional: false)
    AttributeDescription("isDone", .boolean, optional: false, default: false, userInfo: ["exclude": ""])
    RelationshipDescription("list", toOne: "TodoList", inverse: "items")
    RelationshipDescription("people", toMany: "Person", inverse: "items")
  }
  EntityDescription("Person") {
    AttributeDescription("name", .string, optional: false)
    RelationshipDescription("items", toMany: "TodoItem", inverse: "people")
  }
}
