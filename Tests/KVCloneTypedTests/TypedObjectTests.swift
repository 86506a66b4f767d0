import Foundation
import KVClone
import Testing

/// Generated structs with a store: reading, following, querying, storing.
struct TypedObjectTests {
  /// Creates two notes; the first has three items, of which two have a tag that begins with A.
  private func filled() throws -> (Notebook, Note, [Item]) {
    let notebook = try Notebook()
    let (written, items) = try notebook.store.write { tx in
      let apple = try tx.insert(Tag(name: "Apple")).objectID
      let ant = try tx.insert(Tag(name: "Ant")).objectID
      let bee = try tx.insert(Tag(name: "Bee")).objectID
      let items = [
        try tx.insert(Item(name: "first", tags: [apple, bee, ant])), try tx.insert(Item(name: "second", tags: [bee])),
        try tx.insert(Item(name: "third", tags: [ant])),
      ]
      let note = try tx.insert(Note(title: "Fruit", items: OrderedToMany(items.map(\.objectID))))
      try tx.insert(Note(title: "Empty"))
      return (note, items)
    }
    // Read afterwards, because derived attributes are computed by the commit.
    let note = try notebook.store.read { tx in try tx.object(written.objectID) }
    return (notebook, note, items)
  }

  @Test func derivedCount() throws {
    let (notebook, note, items) = try filled()
    #expect(note.itemCount == 3)
    _ = try notebook.store.write { tx in try tx.delete([items[0].objectID.objectID]) }
    try notebook.store.read { tx in
      #expect(try tx.object(note.objectID).itemCount == 2)
      let found = try tx.fetch(Note.self, where: #Predicate { $0.itemCount == 2 })
      #expect(found.map(\.objectID) == [note.objectID])
    }
  }

  @Test func itemsWithATagThatBeginsWithA() throws {
    let (notebook, _, _) = try filled()
    try notebook.store.read { tx in
      let typed = try tx.fetch(
        Item.self, where: #Predicate { $0.tags.contains { $0.name.starts(with: "A") } },
        sortedBy: [SortDescriptor(\.name)])
      #expect(typed.map(\.name) == ["first", "third"])
      let said = try tx.fetch(
        Item.self, FetchRequest("Item", predicate: try QueryPredicate(format: "ANY tags.name BEGINSWITH 'A'")))
      #expect(Set(said) == Set(typed))
      let count = try tx.count(Item.self, where: #Predicate { $0.tags.contains { $0.name.starts(with: "A") } })
      #expect(count == 2)
    }
  }

  @Test func attributesByKeyPath() throws {
    let (notebook, note, items) = try filled()
    let name = try notebook.store.attribute(\Item.Fields.name)
    let count = try notebook.store.attribute(\Note.Fields.itemCount)
    try notebook.store.read { tx in
      let seen1 = try tx.withObject(items[1].objectID.objectID) { try $0.value(name) }
      #expect(seen1 == "second")
      let seen2 = try tx.withObject(note.objectID.objectID) { try $0.value(count) }
      #expect(seen2 == 3)
      var names: [String] = []
      let request = try FetchRequest(Item.self, sortedBy: [SortDescriptor(\.name, order: .reverse)])
      try tx.forEachView(matching: request) { item in
        names.append(try item.value(name) ?? "")
        return true
      }
      #expect(names == ["third", "second", "first"])
    }
    expectError(.unknownProperty) { _ = try notebook.store.attribute(\Item.Fields.name.count) }
  }

  @Test func theSortedTagsOfAnItem() throws {
    let (notebook, _, items) = try filled()
    try notebook.store.read { tx in
      let item = try tx.object(items[0].objectID)
      let tags = try tx.members(item.tags, sortedBy: [SortDescriptor(\.name)])
      #expect(tags.map(\.name) == ["Ant", "Apple", "Bee"])
      let some = try tx.members(
        item.tags, where: #Predicate { $0.name != "Ant" }, sortedBy: [SortDescriptor(\.name, order: .reverse)])
      #expect(some.map(\.name) == ["Bee", "Apple"])
      #expect(try Set(tx.members(item.tags).map(\.name)) == ["Ant", "Apple", "Bee"])
    }
  }

  @Test func countsOnAList() throws {
    let (notebook, note, items) = try filled()
    try notebook.store.read { tx in
      let busy = try tx.fetch(Note.self, where: #Predicate { $0.items.count > 2 })
      #expect(busy.map(\.title) == ["Fruit"])
      let order = try tx.fetch(Note.self, sortedBy: [SortDescriptor(\.items.count)])
      #expect(order.map(\.items.count) == [0, 3])
      #expect(try tx.members(note.items).map(\.name) == items.map(\.name))
      #expect(try tx.object(note.objectID).items.count == 3)
    }
  }

  @Test func everyTypeComesBack() throws {
    let notebook = try Notebook()
    let place = Place(latitude: 1.5, longitude: nil)
    let (id, date) = (UUID(), Date(timeIntervalSinceReferenceDate: 7.25))
    let large = Data(repeating: 7, count: 5000)
    let item = try notebook.store.write { tx in
      try tx.insert(
        Item(
          amount: Decimal(sign: .plus, exponent: -2, significand: 1999), default: true, due: date, id: id, isDone: true,
          name: "n", photo: .data(large), place: place, priority: .high, rating: 5, stock: -3,
          style: .data(Data([1, 2])), url: URL(string: "https://example.org/a"), weight: 2.5))
    }
    let read = try notebook.store.read { tx in try tx.object(item.objectID) }
    #expect(read == item)
    #expect(read.amount == Decimal(sign: .plus, exponent: -2, significand: 1999))
    #expect(read.default == true && read.due == date && read.id == id && read.isDone && read.name == "n")
    #expect(read.place == place && read.priority == .high && read.rating == 5 && read.stock == -3)
    #expect(
      read.style?.data == Data([1, 2]) && read.url?.absoluteString == "https://example.org/a" && read.weight == 2.5)
    #expect(read.photo?.data == nil && read.photo?.count == 5000)
    #expect(try notebook.store.read { tx in try tx.data(read.objectID.objectID, "photo") } == large)
    let new = Item()
    #expect(new.amount == Decimal(sign: .plus, exponent: -2, significand: 25) && new.priority == .normal && !new.isDone)
    #expect(new.objectID.objectID.isTemporary && new.objectID != Item().objectID)
    try checked(notebook.store)
  }

  @Test func savingWritesWhatWasSetAndNothingElse() throws {
    let (notebook, note, items) = try filled()
    var mine = items[0]
    mine.name = "mine"
    var others = items[0]
    others.stock = 9
    try notebook.store.write { tx in
      try tx.save(others)
      let saved = try tx.save(mine)
      #expect(saved.name == "mine" && saved.stock == 9 && saved.note == note.objectID)
    }
    #expect(throws: StoreError.self) { try notebook.store.write { tx in try tx.save(mine, ifUnchanged: true) } }
    let before = try notebook.store.read { tx in try tx.object(mine.objectID.objectID).commit }
    try notebook.store.write { tx in
      let same = try tx.object(mine.objectID)
      try tx.save(same)
    }
    #expect(try notebook.store.read { tx in try tx.object(mine.objectID.objectID).commit } == before)
    expectError(.objectNotFound) { try notebook.store.write { tx in try tx.save(Item(name: "new")) } }
    try checked(notebook.store)
  }

  @Test func relationshipsAreEditedInPlace() throws {
    let (notebook, note, items) = try filled()
    try notebook.store.write { tx in
      var note = try tx.object(note.objectID)
      let extra = try tx.insert(Item(name: "extra"))
      note.items.insert(extra.objectID, at: 1)
      note.items.remove(items[2].objectID)
      note.items.append(items[0].objectID)
      #expect(note.items.hasChanges && note.items.count == 3)
      let saved = try tx.save(note)
      #expect(try tx.members(saved.items).map(\.name) == ["first", "extra", "second"])
      var item = try tx.object(items[1].objectID)
      item.note = nil
      item.tags.removeAll()
      let alone = try tx.save(item)
      #expect(alone.note == nil && alone.tags.isEmpty)
      #expect(try tx.object(note.objectID).items.count == 2)
    }
    try checked(notebook.store)
  }

  @Test func whatIsNotStoredCannotBeFollowed() throws {
    let (notebook, _, items) = try filled()
    let new = Note(title: "new", items: [items[0].objectID])
    try notebook.store.read { tx in
      expectError(.objectNotFound) { _ = try tx.members(new.items) }
      expectError(.objectNotFound) { _ = try tx.object(new.objectID) }
      expectError(.wrongDestination) { _ = try tx.object(Tag.ID(items[0].objectID.objectID)) }
    }
    expectError(.objectNotFound) {
      try notebook.store.write { tx in try tx.insert(Item(name: "x", note: new.objectID)) }
    }
  }

  @Test func subentitiesAreReadAsWhatTheyInherit() throws {
    let (notebook, note, _) = try filled()
    try notebook.store.read { tx in
      let entries = try tx.fetch(Entry.self, where: #Predicate { $0.title == "Fruit" })
      #expect(entries.map(\.objectID) == [note.objectID.superentityID])
      #expect(try tx.object(Note.ID(entries[0].objectID.objectID)) == note)
    }
  }

  @Test func aValueThatTheTypeDoesNotHaveIsAnError() throws {
    let (notebook, _, items) = try filled()
    try notebook.store.write { tx in try tx.set(items[0].objectID.objectID, "priority", 5) }
    let error = expectError(.wrongType) { _ = try notebook.store.read { tx in try tx.object(items[0].objectID) } }
    #expect(error?.property == "priority" && error?.message.contains("5") == false)
  }

  @Test func structsCrossIsolation() async throws {
    let (notebook, _, items) = try filled()
    let item = items[0]
    let name = await Task.detached { item.name }.value
    #expect(name == "first")
    var context = EditingContext(notebook.store)
    var changed = item
    changed.name = "elsewhere"
    try context.update(changed)
    let sent = context
    let saved = try await Task.detached {
      var context = sent
      try await context.save()
      return context.hasChanges
    }.value
    #expect(!saved)
    #expect(try await notebook.store.read { tx in try tx.object(item.objectID).name } == "elsewhere")
  }
}
