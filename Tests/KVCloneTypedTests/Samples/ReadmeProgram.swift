import Foundation
import KVClone

/// The program of the README, with a store and a `print` of the caller's.
///
/// `SampleTests` in TidyTests looks for the README's lines here, and `ReadmeTests` runs them.
func readmeProgram(ObjectStore: ReadmeStores, print: @escaping (Any...) -> Void) throws {
  let store = try ObjectStore.open(at: "todo.kvclone", model: .todo)
  let template = try store.write { tx in
    let ada = try tx.insert(Person(name: "Ada"))
    let list = try tx.insert(TodoList(created: Date(), key: UUID(), title: "Release"))
    for text in ["Test", "Publish"] { try tx.insert(TodoItem(text: text, list: list.objectID, people: [ada.objectID])) }
    return list
  }
  let copy = try store.clone(template)
  try store.read { tx in
    for item in try tx.members(tx.object(copy).items) { print(item.text, try tx.members(item.people).map(\.name)) }
  }
  store.close()
}

/// Opens the README's store in a folder, not in the working directory.
struct ReadmeStores {
  var folder: String

  func open(at path: String, model: ManagedObjectModel) throws -> ObjectStore {
    try ObjectStore.open(at: folder + "/" + path, model: model)
  }
}
