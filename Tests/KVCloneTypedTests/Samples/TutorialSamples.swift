import Foundation
import KVClone

// The programs of the tutorial, so that they are compiled. `TutorialTests` in TidyTests looks for every one of them here;
// the last one runs, in `TutorialRunTests`.

private func model1() -> ManagedObjectModel {
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
  return model
}

private func model2() -> ManagedObjectModel {
  let model = ManagedObjectModel("Todo") {
    EntityDescription("TodoList") {
      AttributeDescription("title", .string, optional: false)
      RelationshipDescription("items", toMany: "TodoItem", inverse: "list", ordered: true, deleteRule: .cascade)
    }
    EntityDescription("TodoItem") {
      AttributeDescription("text", .string, optional: false)
      AttributeDescription("isDone", .boolean, optional: false, default: false)
      RelationshipDescription("list", toOne: "TodoList", inverse: "items")
      RelationshipDescription("people", toMany: "Person", inverse: "items")
    }
    EntityDescription("Person") {
      AttributeDescription("name", .string, optional: false)
      RelationshipDescription("items", toMany: "TodoItem", inverse: "people")
    }
  }
  return model
}

/// The model of the tutorial.
func tutorialModel() -> ManagedObjectModel {
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
  return model
}

/// The arguments that the program sees.
struct TutorialArguments {
  var arguments: [String]
}

/// The tutorial's program: what it calls `CommandLine` and `print` are parameters, and `model` is the other file's.
func tutorialProgram(
  model: ManagedObjectModel, CommandLine: TutorialArguments, print: (Any...) -> Void
) throws {
  let path = CommandLine.arguments.dropFirst().first ?? "todo.kvclone"
  let store = try ObjectStore.open(at: path, model: model)

  let template = try store.write { tx in
    let ada = try tx.insert("Person", ["name": "Ada"])
    let list = try tx.insert("TodoList", ["title": "Release"])
    for text in ["Run the tests", "Tag", "Publish"] {
      try tx.insert(
        "TodoItem", ["text": .string(text), "isDone": true], relationships: ["list": [list], "people": [ada]])
    }
    return list
  }

  func printList(_ list: ObjectID) throws {
    try store.read { tx in
      for id in try tx.members(list, "items") {
        let item = try tx.object(id)
        let isDone: Bool = try item.decode("isDone")
        print(isDone ? "[x]" : "[ ]", item["text"] ?? "")
      }
    }
  }
  try printList(template)

  let plan = try store.planClone([template])
  print("plan:", plan.objectCount, "objects,", plan.errors.count, "errors")

  let copy = try store.clone([template]).root
  try printList(copy)

  var options = CloneOptions()
  options.count = 10
  options.rules = ["TodoItem.people": .skip]
  let result = try store.clone([template], options: options)
  print("stamped", result.roots.count, "lists,", result.objectCount, "objects")

  let before = try store.createSnapshot(named: "before-cleanup")
  try store.write { tx in _ = try tx.delete(result.roots + [copy]) }

  let differences = try store.diff(from: before)
  print(differences.count, "differences, among them", differences.map(\.name).sorted().first ?? "none")
  try before.read { tx in print("before:", try tx.count(FetchRequest("TodoList")), "lists") }

  try store.rollback(to: before)
  try printList(copy)
  store.close()
}
