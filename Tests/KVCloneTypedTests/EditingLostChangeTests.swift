import Foundation
import KVClone
import Testing

/// Changes that could be lost between reading objects and saving them.
struct EditingLostChangeTests {
  private let notebook: Notebook
  private var store: ObjectStore { notebook.store }

  init() throws { notebook = try Notebook() }

  private func note(_ title: String, subtitle: String? = nil, items: Int = 0) throws -> Note {
    let id = try store.write { tx in
      let items = try (0..<items).map { try tx.insert(Item(name: "i\($0)")).objectID }
      return try tx.insert(Note(title: title, subtitle: subtitle, items: OrderedToMany(items))).objectID
    }
    return try read(id)
  }

  private func read<Object: EntityObject>(_ id: TypedObjectID<Object>) throws -> Object {
    try store.read { tx in try tx.object(id) }
  }

  private func names(_ note: Note.ID) throws -> [String] {
    try store.read { tx in try tx.members(try tx.object(note).items).map(\.name) }
  }

  // MARK: Composite attributes

  @Test func anElementThatWasSetShowsInItsComposite() throws {
    let id = try store.write { tx in try tx.insert(Item(place: Place(latitude: 1, longitude: 2))).objectID }
    var object = try store.read { tx in try tx.object(id.objectID) }
    object["place.latitude"] = .double(5)
    #expect(object["place"] == .composite(["latitude": .double(5), "longitude": .double(2)]))
    // The later change counts, whether it sets the composite or the element.
    object["place"] = .composite(["longitude": .double(7)])
    #expect(object["place.latitude"] == nil && object["place.longitude"] == .double(7))
    try store.write { tx in try tx.save(object) }
    #expect(try read(id).place == Place(longitude: 7))
    object["place"] = .integer(1)
    expectError(.wrongType) { try store.write { tx in try tx.save(object) } }
    object["place"] = nil
    try store.write { tx in try tx.save(object) }
    #expect(try read(id).place == nil)
  }

  @Test func anElementThatWasSetInAContextIsKeptByWhatIsReadAndUpdated() throws {
    let id = try store.write { tx in try tx.insert(Item(place: Place(latitude: 1, longitude: 2))).objectID }
    var context = EditingContext(store)
    try context.set(id.objectID, "place.latitude", .double(5))
    var item = try context.object(id)
    #expect(item.place == Place(latitude: 5, longitude: 2))
    item.name = "named"
    try context.update(item)
    try context.save()
    let saved = try read(id)
    #expect(saved.place == Place(latitude: 5, longitude: 2) && saved.name == "named")
  }

  @Test(arguments: [
    (MergePolicy.mergeByPropertyStoreTrump, Place(latitude: 10, longitude: 3)),
    (.mergeByPropertyObjectTrump, Place(latitude: 5, longitude: 3)), (.overwrite, Place(latitude: 5, longitude: 3)),
    (.rollback, Place(latitude: 10, longitude: 2)),
  ])
  func elementsAreMergedOneByOne(_ policy: MergePolicy, _ expected: Place) throws {
    let id = try store.write { tx in try tx.insert(Item(place: Place(latitude: 1, longitude: 2))).objectID }
    var context = EditingContext(store)
    var mine = try context.object(id)
    mine.place = Place(latitude: 5, longitude: 3)
    try context.update(mine)
    try store.write { tx in try tx.set(id.objectID, "place.latitude", .double(10)) }
    do {
      try context.save()
      Issue.record("nothing was thrown")
    } catch let error as MergeConflictError {
      #expect(error.property == "place.latitude" && error.conflicts.first?.storedProperties == ["place.latitude"])
    }
    try context.save(mergePolicy: policy)
    #expect(try read(id).place == expected)
  }

  @Test func whoSavesOneElementLeavesTheOthersAlone() throws {
    let item = try store.write { tx in try tx.insert(Item(place: Place(latitude: 1, longitude: 2))) }
    try store.write { tx in
      var (mine, theirs) = (item, item)
      mine.place?.latitude = 5
      theirs.place?.longitude = 6
      try tx.save(mine)
      #expect(try tx.save(theirs).place == Place(latitude: 5, longitude: 6))
    }
  }

  // MARK: Types

  @Test func updatingAnObjectAsItsSuperentityKeepsWhatElseWasSet() throws {
    let note = try note("t", items: 1)
    var context = EditingContext(store)
    var mine = note
    mine.subtitle = "kept"
    mine.title = "old"
    mine.items.removeAll()
    try context.update(mine)
    var entry = try context.object(note.objectID.superentityID)
    #expect(entry.title == "old")
    entry.title = "new"
    try context.update(entry)
    try context.save()
    let saved = try read(note.objectID)
    #expect(saved.title == "new" && saved.subtitle == "kept" && saved.items.isEmpty)
    try checked(store)
  }

  @Test func theListOfAnotherObjectIsRefused() throws {
    let (full, empty) = (try note("full", items: 2), try note("empty"))
    var changed = empty
    changed.items = full.items
    var context = EditingContext(store)
    for attempt in 0..<3 {
      let error = expectError(.wrongDestination) {
        switch attempt {
        case 0: try context.update(changed)
        case 1: try store.write { tx in try tx.save(changed) }
        default: try store.write { tx in try tx.insert(Note(title: "copy", items: full.items)) }
        }
      }
      #expect(error?.entity == "Note" && error?.property == "items")
    }
    // Assigning its members moves them.
    changed.items = OrderedToMany(try store.read { tx in try tx.members(full.items) }.map(\.objectID))
    try context.update(changed)
    try context.save()
    #expect(try names(empty.objectID) == ["i0", "i1"])
    #expect(try names(full.objectID) == [])
    try checked(store)
  }

  @Test func aNewObjectThatWasSavedIsNotInsertedAgain() throws {
    var context = EditingContext(store)
    var item = Item(name: "a")
    try context.insert(item)
    item.name = "b"
    try context.update(item)
    try context.save()
    item.name = "c"
    expectError(.objectNotFound) { try context.update(item) }
    try context.save()
    #expect(try store.read { tx in try tx.fetch(Item.self).map(\.name) } == ["b"])
  }

  @Test func whatTheStoreComputesIsRefusedAtOnce() throws {
    let note = try note("n")
    var context = EditingContext(store)
    expectError(.wrongType) { try context.set(note.objectID.objectID, "itemCount", 3) }
    #expect(!context.hasChanges)
  }

  // MARK: Lists

  @Test func newMembersAreNotLostWhenTheListIsReplaced() throws {
    var note = try note("n", items: 3)
    var context = EditingContext(store)
    note.items.removeAll()
    for name in ["a", "b"] { try context.insert(Item(name: name, note: note.objectID)) }
    try context.update(note)
    try context.save()
    #expect(try names(note.objectID) == ["a", "b"])
    try checked(store)
  }

  @Test(arguments: [true, false])
  func newObjectsMayBeLinkedFromEitherSide(_ ownerFirst: Bool) throws {
    var context = EditingContext(store)
    let given = Item(name: "given")
    let note = Note(title: "n", items: [given.objectID])
    let linked = Item(name: "linked", note: note.objectID)
    let tag = Tag(name: "t", items: [given.objectID])
    let tagged = Item(name: "tagged", tags: [tag.objectID])
    if ownerFirst {
      try context.insert(note)
      try context.insert(tag)
    }
    for item in [linked, tagged, given] { try context.insert(item) }
    if !ownerFirst {
      try context.insert(note)
      try context.insert(tag)
    }
    let result = try context.save()
    #expect(try names(result.id(of: note.objectID)) == ["given", "linked"])
    let members = try store.read { tx in try tx.members(try tx.object(result.id(of: tag.objectID)).items) }
    #expect(Set(members.map(\.name)) == ["given", "tagged"])
    try checked(store)
  }

  @Test func aPlaceBehindTheEndOfAListThatHasBecomeShorterIsTheEnd() throws {
    let note = try note("n", items: 3)
    let new = try store.write { tx in try tx.insert(Item(name: "new")).objectID }
    var context = EditingContext(store)
    var mine = note
    mine.items.insert(new, at: 3)
    try context.update(mine)
    try store.write { tx in
      let members = try tx.members(note.items)
      try tx.delete(members[0].objectID)
    }
    try context.save(mergePolicy: .mergeByPropertyObjectTrump)
    #expect(try names(note.objectID) == ["i1", "i2", "new"])
    try checked(store)
  }

  @Test func overwritingDoesNotReadADeletedTarget() throws {
    let note = try note("n", items: 1)
    let item = try #require(try store.read { tx in try tx.members(note.items) }.first)
    try store.write { tx in
      // Without a cascading delete.
      var item = item
      item.note = nil
      item.stock = 1
      try tx.save(item)
      try tx.delete(note.objectID)
    }
    var context = EditingContext(store)
    var mine = item
    mine.name = "mine"
    try context.update(mine)
    try context.save(mergePolicy: .overwrite)
    let saved = try read(item.objectID)
    #expect(saved.name == "mine" && saved.stock == 0 && saved.note == nil)
    try checked(store)
  }
}
