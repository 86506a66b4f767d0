// Stamps checklists from a template: a deep clone copies the list with its items and shares the people.
//
//   swift run --package-path Examples Templates [STORE]

import Foundation
import KVClone

let store = try ObjectStore.open(at: CommandLine.arguments.dropFirst().first ?? "todo.kvclone", model: .todo)

let template = try store.write { tx in
  let ada = try tx.insert(Person(name: "Ada"))
  let list = try tx.insert(TodoList(created: Date(), key: UUID(), title: "Release"))
  for text in ["Run the tests", "Tag", "Publish"] {
    try tx.insert(TodoItem(isDone: true, text: text, list: list.objectID, people: [ada.objectID]))
  }
  return list.objectID
}

let plan = try store.planClone(template)
print("plan: \(plan.objectCount) objects, \(plan.errors.count) errors")

var options = CloneOptions()
options.count = 2
options.idempotencyKey = "first copies of \(template)"
options.didClone(TodoList.self) { tx, _, clone in
  try tx.update(clone) { $0.title += " (copy)" }
}
let result = try store.clone([template], options: options)
print("cloned \(result.objectCount) objects into \(result.roots.count) lists")

// The same key again clones nothing and returns the first call's clones.
let repeated = try store.clone([template], options: options)
print("repeated: \(repeated.isRepeated), same lists: \(repeated.roots == result.roots)")

try store.read { tx in
  for root in result.roots {
    let list = try tx.object(root)
    let items = try tx.members(list.items)
    let people = try tx.members(items[0].people).map(\.name)
    print("\(list.title): \(items.map(\.text)), done: \(items.contains(where: \.isDone)), people: \(people)")
  }
  print("people in the store:", try tx.count(Person.self))
}

// A clone inside a larger transaction. It is rolled back together with everything else.
do {
  try store.write { tx in
    let copy = try tx.clone(template)
    try tx.delete(template)
    print("inside:", try tx.object(copy).title, try tx.count(TodoList.self))
    throw CancellationError()
  }
} catch is CancellationError {
  print("after the rollback:", try store.read { tx in try tx.count(TodoList.self) })
}
store.close()
