import Foundation
import KVClone
import KVCloneTestSupport
import Testing

/// Calls in the forms that readers of the articles expect.
struct TypedCloneTests {
  private func filled(_ notebook: Notebook) throws -> (note: Note, items: [Item]) {
    try notebook.store.write { tx in
      let tag = try tx.insert(Tag(name: "T"))
      let note = try tx.insert(Note(title: "t"))
      let items = try ["a", "b"].map { name in
        try tx.insert(Item(name: name, note: note.objectID, tags: [tag.objectID]))
      }
      return (try tx.object(note.objectID), items)
    }
  }

  @Test("a typed clone returns the id of its type, in a transaction and from the store")
  func typedRoots() throws {
    let notebook = try Notebook()
    let (note, _) = try filled(notebook)
    let first: Note.ID = try notebook.store.write { tx in try tx.clone(note) }
    let second: Note.ID = try notebook.store.clone(note.objectID)
    #expect(Set([first, second, note.objectID]).count == 3)
    try notebook.store.read { tx in
      for id in [first, second] {
        let copy = try tx.object(id)
        #expect(try tx.members(copy.items).map(\.name) == ["a", "b"])
      }
    }
    try checked(notebook.store)
  }

  @Test("the asynchronous forms return the same types")
  func asynchronous() async throws {
    let notebook = try Notebook()
    let (note, items) = try filled(notebook)
    let copy: Note.ID = try await notebook.store.clone(note)
    let both = try await notebook.store.clone(items.map(\.objectID))
    let names = try await notebook.store.read { tx in
      try tx.members(tx.object(copy).items).map(\.name) + both.roots.map { try tx.object($0).name }
    }
    #expect(names == ["a", "b", "a", "b"])
    try checked(notebook.store)
  }

  @Test("a typed result has typed roots and the counts of the untyped one")
  func results() throws {
    let notebook = try Notebook()
    let (_, items) = try filled(notebook)
    var options = CloneOptions()
    options.count = 3
    let result = try notebook.store.clone(items.map(\.objectID), options: options)
    #expect(result.roots.count == 6 && result.root == result.roots[0])
    #expect(result.objectCount == result.untyped.objectCount && result.counts == ["Item": 6])
    #expect(result.roots.map(\.objectID) == result.untyped.roots)
    let plan = try notebook.store.planClone(items.map(\.objectID), options: options)
    #expect(plan.objectCount == 6 && plan.errors.isEmpty)
    try checked(notebook.store)
  }

  @Test("options name relationships by key paths")
  func options() throws {
    let notebook = try Notebook()
    let (note, _) = try filled(notebook)
    var options = CloneOptions()
    options.exclude(\Note.Fields.items)
    #expect(options.excludedRelationshipNames == ["Note.items"])
    let bare = try notebook.store.clone(note, options: options)
    options = CloneOptions()
    options.setRule(.skip, for: \Item.Fields.tags)
    #expect(options.rules == ["Item.tags": .skip])
    let untagged = try notebook.store.clone(note, options: options)
    options.setRule(nil, for: \Item.Fields.tags)
    #expect(options.rules.isEmpty)
    try notebook.store.read { tx in
      let (note, items) = (try tx.object(bare), try tx.members(tx.object(untagged).items))
      #expect(note.items.count == 0 && items.count == 2 && items.allSatisfy { $0.tags.count == 0 })
    }
    try checked(notebook.store)
  }

  @Test("a typed hook sees the objects of its entity only, subentities included, and runs after the untyped one")
  func hooks() throws {
    let notebook = try Notebook()
    let (note, _) = try filled(notebook)
    var options = CloneOptions()
    options.didClone = { tx, _, clone in
      if try tx.entityName(of: clone) == "Note" { try tx.set(clone, "subtitle", "untyped") }
    }
    options.didClone(Item.self) { tx, source, clone in
      let name = try tx.object(source).name
      try tx.update(clone) { $0.name = "\(name) copy" }
    }
    options.didClone(Entry.self) { tx, _, clone in
      let before = try tx.value(clone.objectID, "subtitle")
      #expect(before == "untyped")
      try tx.set(clone.objectID, "title", "typed")
    }
    let copy = try notebook.store.clone(note, options: options)
    try notebook.store.read { tx in
      let note = try tx.object(copy)
      #expect(note.title == "typed" && note.subtitle == "untyped")
      #expect(try tx.members(note.items).map(\.name) == ["a copy", "b copy"])
    }
    try checked(notebook.store)
  }

  @Test("a hook that deletes the clone ends the later hooks for it")
  func deletedByHook() throws {
    let notebook = try Notebook()
    let (_, items) = try filled(notebook)
    var options = CloneOptions()
    options.didClone = { tx, _, clone in try tx.delete(clone) }
    options.didClone(Item.self) { _, _, clone in Issue.record("\(clone) was deleted") }
    try notebook.store.clone(items[0], options: options)
    #expect(try notebook.store.read { tx in try tx.count(Item.self) } == 2)
    try checked(notebook.store)
  }

  @Test("clones from a snapshot, and of a new object")
  func snapshotsAndNewObjects() throws {
    let notebook = try Notebook()
    let (note, items) = try filled(notebook)
    let snapshot = try notebook.store.createSnapshot(named: "s")
    try notebook.store.write { tx in try tx.delete(items[0]) }
    let now = try notebook.store.clone(note)
    let then = try notebook.store.clone(note.objectID, from: snapshot)
    try notebook.store.read { tx in
      let (now, then) = (try tx.object(now), try tx.object(then))
      #expect(now.items.count == 1 && then.items.count == 2)
    }
    let error = #expect(throws: CloneError.self) { try notebook.store.clone(Note(title: "new")) }
    #expect(error?.kind == .objectNotFound)
    try notebook.store.rollback(toSnapshotNamed: "s")
    #expect(try notebook.store.read { tx in try tx.members(tx.object(note.objectID).items).count } == 2)
    #expect(throws: StoreError.self) { try notebook.store.rollback(toSnapshotNamed: "none") }
    try checked(notebook.store)
  }

  @Test("an object, one that matches, or nil")
  func one() throws {
    let notebook = try Notebook()
    let (note, items) = try filled(notebook)
    try notebook.store.read { (tx) throws in
      #expect(try tx.fetchOne(Item.self, where: #Predicate { $0.name == "b" }) == items[1])
      #expect(try tx.fetchOne(Item.self, where: #Predicate { $0.name == "z" }) == nil)
      #expect(try tx.fetchOne(Item.self, sortedBy: [SortDescriptor(\.name, order: .reverse)])?.name == "b")
      #expect(try tx.fetchOne(FetchRequest("Item"))?.id == items[0].objectID.objectID)
      #expect(try tx.object(ifExists: note.objectID)?.title == "t")
      #expect(try tx.object(ifExists: Note.ID(ObjectID(rawValue: note.objectID.objectID.rawValue + 99))) == nil)
      #expect(try tx.objectIDs(forRelationshipNamed: "items", of: ObjectID(note.objectID)).count == 2)
      #expect(
        try tx.objectID(forRelationshipNamed: "note", of: ObjectID(items[0].objectID)) == ObjectID(note.objectID))
      #expect("\(note.objectID)" == (try tx.name(of: ObjectID(note.objectID))))
      #expect(try tx.objectID(named: "\(items[1].objectID)") == ObjectID(items[1].objectID))
    }
  }

  @Test("values of Swift types are set without naming their kind")
  func values() throws {
    let notebook = try Notebook()
    let (title, date, count, photo) = ("title", Date(timeIntervalSince1970: 1), 3, Data([1, 2]))
    let id = try notebook.store.write { tx in
      let note = try tx.insert("Note", ["title": title, "created": date])
      let item = try tx.insert("Item", ["name": title, "stock": count, "amount": nil, "isDone": true])
      try tx.set(item, "name", title + "!")
      try tx.set(item, "rating", Int?.none)
      try tx.link(item, "note", note)
      try tx.link(note, "items", try tx.insert("Item", ["name": "plain"]))
      return item
    }
    try notebook.store.write { tx in
      try tx.update(Item.ID(id)) { $0.photo = BinaryValue(photo) }
    }
    try notebook.store.read { tx in
      let item = try tx.object(Item.ID(id))
      #expect(item.name == "title!" && item.stock == 3 && item.amount == nil && item.isDone)
      #expect(item.photo == .data(photo) && item.rating == nil)
      let note = try tx.object(try #require(item.note))
      #expect(note.created == date && note.items.count == 2)
    }
    try notebook.store.write { tx in try tx.delete(id) }
    #expect(try !notebook.store.read { tx in try tx.exists(id) })
    try checked(notebook.store)
  }
}
