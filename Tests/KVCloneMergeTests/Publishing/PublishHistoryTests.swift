import KVClone
import KVCloneMerge
import KVCloneTestSupport
import Testing

/// The changes that a publish makes on the branch, in its history.
@Suite("Publish: the history of the branch") struct PublishHistoryTests {
  private let library: Library
  private var store: ObjectStore { library.store }
  private let branch: ObjectStore

  init() throws {
    library = try Library(.lmdb)
    try library.store.setTracksHistory(true)
    branch = try library.store.branches.create("draft")
  }

  /// Publishes the branch, and returns what its history has of that.
  private func publish(_ options: MergeOptions = MergeOptions()) throws -> HistoryTransaction {
    let token = try branch.currentToken()
    let before = try library.text(branch)
    try store.branches.publish("draft", options: options)
    #expect(try library.text(branch) == library.text(store))
    #expect(try library.text(branch) != before)
    let heard = try branch.history(after: token)
    #expect(heard.count == 1)
    try library.check()
    return try #require(heard.first)
  }

  @Test("B7, M7: a value that the branch loses to a rule is a change of the branch") func b7Skip() throws {
    try library.setTitle("mine", in: branch)
    var options = MergeOptions()
    options.rules = ["Book.title": .skip]
    let heard = try publish(options)
    #expect(heard.insertedCount == 0 && heard.updatedCount == 1 && heard.deletedCount == 0)
    #expect(try library.title(branch) == .string("A"))
  }

  @Test("B7, M5: an object of the branch that was united with one of the store is deleted on the branch")
  func b7United() throws {
    let own = try branch.write { tx in try tx.insert("Book", ["number": .integer(9), "title": .string("mine")]) }
    let kept = try store.write { tx in try tx.insert("Book", ["number": .integer(9), "title": .string("yours")]) }
    let heard = try publish(MergeOptions(policy: .ours))
    #expect(heard.insertedCount == 1 && heard.updatedCount == 0 && heard.deletedCount == 1)
    try branch.read { tx throws in #expect(try tx.exists(kept) && !tx.exists(own)) }
  }

  @Test("B7, M8: what hooks change in a publish is a change of the branch") func b7Hooks() throws {
    try library.setTitle("mine", in: branch)
    var hooks = ObjectLifecycle()
    hooks.willSave = { [other = library.other] tx, _ in
      if try tx.value(other, "title") == .string("checked") { return }
      try tx.set(other, "title", .string("checked"))
    }
    try store.register(hooks, for: "Book")
    let heard = try publish()
    #expect(heard.insertedCount == 0 && heard.updatedCount == 1 && heard.deletedCount == 0)
    #expect(try branch.read { tx in try tx.object(library.other)["title"] } == .string("checked"))
  }

  @Test("B7, M10: changes of a long list by both sides are one update of its owner") func b7LongLists() throws {
    try store.write { tx in
      for number in 0..<3_000 {
        try tx.insert("Page", ["text": .string("\(number)")], relationships: ["book": [library.other]])
      }
    }
    try store.branches.update("draft")
    let page = try store.write { tx in
      try tx.insert("Page", ["text": .string("yours")], relationships: ["book": [library.other]])
    }
    let first = try #require(try branch.read { tx in try tx.members(library.other, "pages") }.first)
    try branch.write { tx in _ = try tx.delete(first) }
    let heard = try publish()
    #expect(heard.insertedCount == 1 && heard.updatedCount == 1 && heard.deletedCount == 0)
    try branch.read { tx throws in
      let pages = try tx.members(library.other, "pages")
      #expect(pages.count == 3_000 && pages.last == page)
    }
  }

  /// The hooks number books by their serials.
  private func numberBooks() throws {
    var hooks = ObjectLifecycle()
    hooks.willSave = { tx, id in
      let number = AttributeValue.integer(100 + Int64(id.serial))
      if try tx.value(id, "number") != number { try tx.set(id, "number", number) }
    }
    try store.register(hooks, for: "Book")
  }

  /// Publishes the book alone, and returns what the history of the branch has of that.
  private func publishBook() throws -> [HistoryTransaction] {
    let token = try branch.currentToken()
    try store.branches.publish("draft", only: [library.book])
    let heard = try branch.history(after: token)
    try library.check()
    return heard
  }

  @Test("B7, M13: what hooks change in a publish of chosen objects is in the one entry of the branch")
  func b7ChosenHooks() throws {
    try library.setTitle("mine", in: branch)
    let (page, doomed) = (library.pages[0], library.pages[1])
    let new = try store.write { tx in
      try tx.set(library.tag, "name", .string("yours"))
      try tx.set(page, "text", .string("yours"))
      _ = try tx.delete(doomed)
      return try tx.insert("Tag", ["name": .string("new")])
    }
    try numberBooks()
    let heard = try #require(try publishBook().first)
    #expect(try heard.insertedIDs() == [new] && heard.deletedIDs() == [doomed])
    let properties = try heard.updatedProperties()
    #expect(Set(properties.keys) == [library.book, library.tag, page])
    #expect(properties[library.book]?.sorted() == ["number", "pages"] && properties[library.tag] == ["name"])
    let number = AttributeValue.integer(100 + Int64(library.book.serial))
    for side in [store, branch] { #expect(try side.read { tx in try tx.value(library.book, "number") } == number) }
    #expect(try heard.operation == "publish" && branch.history().filter { $0.commit == heard.commit }.count == 1)
  }

  @Test("B7, M13: a publish of chosen objects without an update tells what hooks changed, or nothing")
  func b7ChosenAlone() throws {
    try library.setTitle("mine", in: branch)
    #expect(try publishBook().isEmpty)
    try library.setTitle("later", in: branch)
    try numberBooks()
    let heard = try publishBook()
    #expect(heard.count == 1)
    #expect(try heard.first?.updatedProperties() == [library.book: ["number"]])
  }

  @Test("B7, M13: an object that hooks of the update and of the publish change has one entry")
  func b7ChosenTwice() throws {
    try library.setTitle("mine", in: branch)
    try store.write { tx in try tx.set(library.book, "cover", nil) }
    try numberBooks()
    let heard = try publishBook()
    #expect(heard.count == 1)
    #expect(try heard.first?.updatedProperties().mapValues { $0.sorted() } == [library.book: ["cover", "number"]])
  }
}
