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
