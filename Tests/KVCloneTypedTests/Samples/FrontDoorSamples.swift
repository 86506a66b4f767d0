import Foundation
import KVClone

private func errors(_ store: ObjectStore, _ note: ObjectID) throws {
  do {
    try store.write { tx in try tx.set(note, "title", "Groceries") }
  } catch let error as StoreError where error.kind == .busy {
    print("another process writes; try again")
  } catch let error as any KVCloneError {
    print("failed: \(error.kindName)")
  }
}

private func leavingRealm(_ path: String) throws {
  let model = ManagedObjectModel("Tasks") {
    EntityDescription("TaskList", unique: [["key"]]) {
      AttributeDescription("key", .string, optional: false)
      AttributeDescription("name", .string, optional: false)
      RelationshipDescription("tasks", toMany: "Task", inverse: "list", ordered: true, deleteRule: .cascade)
    }
    EntityDescription("Task", unique: [["key"]]) {
      AttributeDescription("key", .string, optional: false)
      AttributeDescription("title", .string, optional: false)
      AttributeDescription("isDone", .boolean, optional: false, default: false)
      RelationshipDescription("list", toOne: "TaskList", inverse: "tasks")
    }
  }
  let store = try ObjectStore.open(at: path, model: model)
  let open = FetchRequest(
    "Task", predicate: try QueryPredicate(format: "isDone == NO AND list.name == %@", "Home"),
    sortDescriptors: [QuerySortDescriptor(key: "title")], fetchLimit: 20)
  let titles = try store.read { tx in try tx.fetch(open).compactMap { $0["title"] } }
  _ = titles
}
