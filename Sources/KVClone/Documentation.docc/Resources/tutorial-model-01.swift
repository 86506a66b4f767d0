import KVClone

let model = ManagedObjectModel("Todo") {
  EntityDescription("TodoList") {
    AttributeDescription("title", .string, optional: false)
  }
  EntityDescription("TodoItem") {
    AttributeDescription("text", .string, optional: false)
    AttributeDescription("isDone", .boolean, optional: false, default: false)
  }
  EntityDescription("Person") {
    AttributeDescription("name", .string, optional: false)
  }
}
