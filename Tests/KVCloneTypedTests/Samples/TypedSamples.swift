import Foundation
import KVClone

private func typed() throws {
  let store = try ObjectStore.create(at: "notes.kvclone", model: .notebook)
  let item = try store.write { tx in
    let tag = try tx.insert(Tag(name: "Apples"))
    return try tx.insert(Item(name: "Pie", tags: [tag.objectID]))
  }
  let tags = try store.read { tx in try tx.members(item.tags, sortedBy: [SortDescriptor(\.name)]) }
  _ = tags
}

private func asking(_ store: ObjectStore) throws {
  let items = try store.read { tx in
    try tx.fetch(
      Item.self, where: #Predicate { $0.tags.contains { $0.name.starts(with: "A") } },
      sortedBy: [SortDescriptor(\.name)])
  }
  _ = items
}

private func editing(_ store: ObjectStore, _ noteID: TypedObjectID<Note>) throws {
  var context = EditingContext(store)
  var note = try context.object(noteID)
  note.title = "Shopping"
  let milk = Item(name: "Milk")
  note.items.append(milk.objectID)
  try context.insert(milk)
  try context.update(note)
  let result = try context.save()
  let milkID = result.id(of: milk.objectID)
  _ = milkID
}
