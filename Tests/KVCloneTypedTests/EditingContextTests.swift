import Foundation
import KVClone
import KVCloneTestSupport
import Testing

/// Editing of objects outside transactions.
struct EditingContextTests {
  /// Creates a note with one item, and returns them as read.
  private func filled() throws -> (Notebook, Note, Item) {
    let notebook = try Notebook()
    let (noteID, item) = try notebook.store.write { tx in
      let note = try tx.insert(Note(title: "t", subtitle: "s"))
      return (note.objectID, try tx.insert(Item(name: "i", stock: 1, note: note.objectID)))
    }
    // Read afterwards, because derived attributes are computed by the commit.
    let note = try notebook.store.read { tx in try tx.object(noteID) }
    return (notebook, note, item)
  }

  private func item(_ notebook: Notebook, _ id: Item.ID) throws -> Item {
    try notebook.store.read { tx in try tx.object(id) }
  }

  @Test func newObjectsReferToEachOther() throws {
    let notebook = try Notebook()
    var context = EditingContext(notebook.store)
    let tag = Tag(name: "T")
    let item = Item(name: "i", tags: [tag.objectID])
    let note = Note(title: "n", items: [item.objectID])
    try context.insert(note)
    try context.insert(item)
    try context.insert(tag)
    #expect(context.hasChanges && context.insertedObjects.count == 3)
    #expect(try context.members(item.objectID.objectID, "tags") == [tag.objectID.objectID])
    let result = try context.save()
    #expect(!context.hasChanges)
    try notebook.store.read { tx in
      let saved = try tx.object(result.id(of: note.objectID))
      #expect(!saved.objectID.objectID.isTemporary && saved.title == "n")
      let items = try tx.members(saved.items)
      #expect(items.map(\.objectID) == [result.id(of: item.objectID)])
      #expect(try tx.members(try #require(items.first).tags).map(\.name) == ["T"])
    }
    try checked(notebook.store)
  }

  @Test func changesShowInTheContextOnly() throws {
    let (notebook, note, item) = try filled()
    var context = EditingContext(notebook.store)
    var mine = try context.object(item.objectID)
    mine.name = "changed"
    mine.note = nil
    try context.update(mine)
    #expect(try context.object(item.objectID) == mine)
    #expect(try context.fetch(Item.self).map(\.name) == ["changed"])
    #expect(try self.item(notebook, item.objectID).name == "i")
    var tagged = try context.object(item.objectID)
    tagged.stock = 2
    try context.update(tagged)
    #expect(context.updatedObjects == [item.objectID.objectID])
    try context.save()
    let saved = try self.item(notebook, item.objectID)
    #expect(saved.name == "changed" && saved.note == nil && saved.stock == 2)
    #expect(try notebook.store.read { tx in try tx.object(note.objectID).items.count } == 0)
    try checked(notebook.store)
  }

  @Test func whatWasNewAndIsForgottenIsLinkedToNothing() throws {
    let (notebook, note, item) = try filled()
    var context = EditingContext(notebook.store)
    let new = try context.insert("Item", ["name": "new"])
    try context.link(note.objectID.objectID, "items", [new])
    try context.set(item.objectID.objectID, "name", "other")
    try context.delete(new)
    try context.save()
    let members = try notebook.store.read { tx in try tx.members(note.objectID.objectID, "items") }
    #expect(members == [item.objectID.objectID])
    #expect(try self.item(notebook, item.objectID).name == "other")
    try checked(notebook.store)
  }

  @Test func discardingUndoes() throws {
    let (notebook, note, item) = try filled()
    var context = EditingContext(notebook.store)
    try context.delete(note.objectID)
    try context.set(item.objectID.objectID, "name", "x")
    let copy = context
    expectError(.objectNotFound) { _ = try context.object(note.objectID) }
    context.rollback(note.objectID.objectID)
    #expect(try context.object(note.objectID) == note && context.deletedObjects.isEmpty)
    context.rollback()
    #expect(!context.hasChanges && copy.hasChanges)
    try context.save()
    #expect(try self.item(notebook, item.objectID).name == "i")
  }

  @Test func namesAndTypesAreCheckedAtOnce() throws {
    let (notebook, _, item) = try filled()
    var context = EditingContext(notebook.store)
    let id = item.objectID.objectID
    expectError(.unknownProperty) { try context.set(id, "nothing", 1) }
    expectError(.wrongType) { try context.set(id, "name", 1) }
    expectError(.unknownProperty) { try context.link(id, "nothing", []) }
    expectError(.wrongDestination) { try context.link(id, "note", []) }
    expectError(.wrongDestination) { try context.setToOne(id, "tags", nil) }
    expectError(.abstractEntity) { try context.insert("Entry") }
    expectError(.unknownEntity) { try context.insert("Nothing") }
    expectError(.objectNotFound) { try context.set(ObjectID(rootCode: id.rootCode, serial: 99), "name", "x") }
    #expect(!context.hasChanges)
  }

  @Test func aNewObjectThatWasNotInsertedIsAnError() throws {
    let (notebook, note, _) = try filled()
    var context = EditingContext(notebook.store)
    var changed = note
    changed.items.append(Item(name: "forgotten").objectID)
    try context.update(changed)
    expectError(.objectNotFound) { try context.save() }
    #expect(context.hasChanges)
    try checked(notebook.store)
  }

  /// A context changed name and stock; another writer changed name and weight.
  private func conflicting() throws -> (Notebook, Item, EditingContext) {
    let (notebook, _, item) = try filled()
    var context = EditingContext(notebook.store)
    var mine = item
    (mine.name, mine.stock) = ("mine", 5)
    try context.update(mine)
    try notebook.store.write { tx in
      var theirs = item
      (theirs.name, theirs.weight) = ("theirs", 0.5)
      try tx.save(theirs)
    }
    return (notebook, item, context)
  }

  @Test func conflictsAreErrorsThatNameThem() throws {
    var (notebook, item, context) = try conflicting()
    do {
      try context.save()
      Issue.record("nothing was thrown")
    } catch let error as MergeConflictError {
      #expect(error.kindName == "mergeConflict" && error.entity == "Item" && error.property == "name")
      let conflict = try #require(error.conflicts.first)
      #expect(error.conflicts.count == 1 && conflict.object == error.object)
      #expect(conflict.changedProperties == ["name", "stock"] && conflict.storedProperties == ["name", "weight"])
      #expect(conflict.cached["name"] == "i" && conflict.stored?["name"] == "theirs")
      #expect(!error.message.contains("mine") && !error.message.contains("theirs"))
    }
    #expect(context.hasChanges)
    #expect(try self.item(notebook, item.objectID).name == "theirs")
  }

  @Test(arguments: [
    (MergePolicy.mergeByPropertyStoreTrump, "theirs", 5, 0.5), (.mergeByPropertyObjectTrump, "mine", 5, 0.5),
    (.overwrite, "mine", 5, 0.0), (.rollback, "theirs", 1, 0.5),
  ])
  func policiesSettleConflicts(_ policy: MergePolicy, _ name: String, _ stock: Int64, _ weight: Double) throws {
    var (notebook, item, context) = try conflicting()
    try context.save(mergePolicy: policy)
    let saved = try self.item(notebook, item.objectID)
    #expect(saved.name == name && saved.stock == stock && saved.weight == weight)
    #expect(saved.note == item.note && !context.hasChanges)
    try checked(notebook.store)
  }

  @Test(arguments: MergePolicy.allCases)
  func aDeletedObjectIsNotRestored(_ policy: MergePolicy) throws {
    let (notebook, _, item) = try filled()
    var context = EditingContext(notebook.store)
    try context.set(item.objectID.objectID, "name", "mine")
    _ = try notebook.store.write { tx in try tx.delete(item.objectID) }
    switch policy {
    case .error, .overwrite, .mergeByPropertyObjectTrump:
      #expect(throws: MergeConflictError.self) { try context.save(mergePolicy: policy) }
    case .rollback, .mergeByPropertyStoreTrump: try context.save(mergePolicy: policy)
    }
    #expect(try notebook.store.read { tx in try tx.count(Item.self) } == 0)
  }

  @Test(arguments: MergePolicy.allCases)
  func deletingWhatOthersHaveChanged(_ policy: MergePolicy) throws {
    let (notebook, _, item) = try filled()
    var context = EditingContext(notebook.store)
    try context.delete(item.objectID)
    try notebook.store.write { tx in try tx.set(item.objectID.objectID, "name", "theirs") }
    if policy == .error {
      #expect(throws: MergeConflictError.self) { try context.save(mergePolicy: policy) }
    } else {
      try context.save(mergePolicy: policy)
    }
    let isGone = policy == .overwrite || policy == .mergeByPropertyObjectTrump
    #expect(try notebook.store.read { tx in try tx.exists(item.objectID.objectID) } != isGone)
    try checked(notebook.store)
  }

  @Test func deletedOnBothSidesIsNoConflict() throws {
    let (notebook, _, item) = try filled()
    var context = EditingContext(notebook.store)
    try context.delete(item.objectID)
    _ = try notebook.store.write { tx in try tx.delete(item.objectID) }
    try context.save()
    #expect(!context.hasChanges)
  }

  /// The same random changes, made in a context and in a transaction, produce the same store.
  @Test(arguments: [UInt64(1), 2, 3, 4, 5, 6])
  func aContextDoesWhatATransactionDoes(_ seed: UInt64) throws {
    var numbers = SeededGenerator(seed: seed)
    let (left, right) = (try Notebook(), try Notebook())
    var ids = (0..<6).map { ObjectID(rootCode: 0, serial: UInt64($0)) }
    for notebook in [left, right] {
      ids = try notebook.store.write { tx in
        let notes = try (0..<2).map { try tx.insert("Note", ["title": .string("n\($0)")]) }
        return try notes + (0..<4).map { try tx.insert("Item", ["name": .string("i\($0)")]) }
      }
    }
    let (notes, items) = (Array(ids[..<2]), Array(ids[2...]))
    for _ in 0..<5 {
      var context = EditingContext(left.store)
      var steps: [(inout WriteTransaction) throws -> Void] = []
      // Only one note: two notes that take items from each other could give different results, because replacing all
      // members of a list discards its earlier changes, including their effects on other lists.
      let note = notes[0]
      for _ in 0..<6 {
        let item = items[numbers.below(items.count)]
        let number = Int64(numbers.below(10))
        switch number % 5 {
        case 0:
          try context.set(item, "stock", .integer(number))
          steps.append { try $0.set(item, "stock", .integer(number)) }
        case 1:
          try context.link(note, "items", [item])
          steps.append { try $0.link(note, "items", [item]) }
        case 2:
          try context.unlink(note, "items", [item])
          steps.append { try $0.unlink(note, "items", [item]) }
        case 3:
          let chosen = items.filter { _ in Bool.random(using: &numbers) }.shuffled(using: &numbers)
          try context.setMembers(note, "items", chosen)
          steps.append { try $0.setMembers(note, "items", chosen) }
        default:
          try context.set(note, "subtitle", .string("\(number)"))
          steps.append { try $0.set(note, "subtitle", .string("\(number)")) }
        }
      }
      try context.save()
      try right.store.write { tx in for step in steps { try step(&tx) } }
    }
    let states = try [left, right].map { notebook in
      try notebook.store.read { tx in
        try ids.map { id in
          let object = try tx.object(id)
          let members = notes.contains(id) ? try tx.members(id, "items") : []
          return "\(object["stock"] as Any) \(object["subtitle"] as Any) \(members)"
        }
      }
    }
    #expect(states[0] == states[1], "seed \(seed)")
    try checked(left.store)
  }
}
