// A notes service: creates, searches, edits and deletes notes with tags, from many tasks at once.
//
//   swift run --package-path Examples Notes [STORE]

import Foundation
import KVClone

struct NotesService: Sendable {
  let store: ObjectStore

  /// Inserts a note; tags that do not exist yet are created.
  func create(title: String, text: String = "", tags: [String] = []) async throws -> Note {
    try await store.write { tx in
      var ids: [Tag.ID] = []
      for name in tags {
        let tag = try tx.fetchOne(Tag.self, where: #Predicate { $0.name == name }) ?? tx.insert(Tag(name: name))
        ids.append(tag.objectID)
      }
      return try tx.insert(Note(created: Date(), text: text, title: title, tags: ToMany(ids)))
    }
  }

  /// Returns the newest notes with a tag.
  func notes(tagged name: String, limit: Int = 20) async throws -> [Note] {
    try await store.read { tx in
      try tx.fetch(
        Note.self, where: #Predicate { $0.tags.contains { $0.name == name } },
        sortedBy: [SortDescriptor(\.created, order: .reverse)], limit: limit)
    }
  }

  /// Replaces the text. Fails if the note was changed after `note` was read.
  func edit(_ note: Note, text: String) async throws -> Note {
    var edited = note
    edited.text = text
    return try await store.write { [edited] tx in try tx.save(edited, ifUnchanged: true) }
  }

  func delete(_ id: Note.ID) async throws {
    try await store.write { tx in try tx.delete(id) }
  }

  /// Returns the names of a note's tags in alphabetical order.
  func tagNames(of note: Note) async throws -> [String] {
    try await store.read { tx in try tx.members(note.tags, sortedBy: [SortDescriptor(\.name)]).map(\.name) }
  }

  /// Plays a day of requests.
  func demo() async throws {
    let groceries = try await create(title: "Groceries", text: "Milk", tags: ["home", "weekly"])
    try await withThrowingTaskGroup(of: Void.self) { group in
      for day in 1...5 {
        group.addTask { _ = try await create(title: "Day \(day)", tags: ["diary"]) }
      }
      try await group.waitForAll()
    }
    let edited = try await edit(groceries, text: "Milk, bread")
    print("\(edited.title): \(edited.text) \(try await tagNames(of: edited))")

    do {
      _ = try await edit(groceries, text: "Eggs")
    } catch let error as StoreError where error.kind == .staleObject {
      print("conflict: \(error)")
    }
    print("diary:", try await notes(tagged: "diary").map(\.title).sorted())
    try await delete(edited.objectID)
    print("notes:", try await store.read { tx in try tx.count(Note.self) })
  }
}

let path = CommandLine.arguments.dropFirst().first ?? "notes.kvclone"
let service = NotesService(store: try ObjectStore.open(at: path, model: .notes))

try await service.demo()
service.store.close()
