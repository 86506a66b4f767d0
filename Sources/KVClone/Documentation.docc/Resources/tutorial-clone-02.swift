import KVClone

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
