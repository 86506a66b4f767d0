import Foundation
import KVClone
import Testing

/// Every kind of expression, and its translation to the predicate language.
struct PredicateTranslationTests {
  /// Returns the translation, which the store must accept and which must parse to the same predicate.
  private func format(
    _ predicate: Foundation.Predicate<Item.Fields>, sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> String {
    let request = try FetchRequest(Item.self, where: predicate)
    let notebook = try Notebook()
    _ = try notebook.store.read { tx in try tx.explain(request) }
    let translated = try #require(request.predicate, sourceLocation: sourceLocation)
    let text = translated.predicateFormat
    #expect(try QueryPredicate(format: text).predicateFormat == text, sourceLocation: sourceLocation)
    return text
  }

  @Test func comparisons() throws {
    #expect(try format(#Predicate { $0.name == "a" }) == "name == \"a\"")
    #expect(try format(#Predicate { $0.name != "a" }) == "name != \"a\"")
    #expect(try format(#Predicate { $0.stock < 3 }) == "stock < 3")
    #expect(try format(#Predicate { $0.stock <= 3 }) == "stock <= 3")
    #expect(try format(#Predicate { 3 > $0.stock }) == "3 > stock")
    #expect(try format(#Predicate { $0.weight >= 2.5 }) == "weight >= 2.5")
    #expect(try format(#Predicate { $0.isDone }) == "isDone == TRUE")
    #expect(try format(#Predicate { !$0.isDone }) == "NOT isDone == TRUE")
    #expect(try format(#Predicate { $0.default == false }) == "default == FALSE")
  }

  @Test func logic() throws {
    #expect(
      try format(#Predicate { $0.stock == 1 && $0.stock == 2 && $0.stock == 3 })
        == "stock == 1 AND stock == 2 AND stock == 3"
    )
    #expect(
      try format(#Predicate { $0.stock == 1 || ($0.stock == 2 && $0.isDone) })
        == "stock == 1 OR (stock == 2 AND isDone == TRUE)")
    #expect(
      try format(#Predicate { $0.isDone ? $0.stock == 1 : $0.stock == 2 })
        == "(isDone == TRUE AND stock == 1) OR (NOT isDone == TRUE AND stock == 2)")
    #expect(try format(#Predicate { ($0.isDone ? $0.stock : 7) == 2 }) == "TERNARY(isDone == TRUE, stock, 7) == 2")
    #expect(try format(#Predicate { _ in true }) == "TRUEPREDICATE")
  }

  @Test func optionals() throws {
    #expect(try format(#Predicate { $0.due == nil }) == "due == nil")
    #expect(try format(#Predicate { $0.due != nil }) == "due != nil")
    #expect(try format(#Predicate { ($0.rating ?? 0) > 3 }) == "TERNARY(rating == nil, 0, rating) > 3")
    #expect(try format(#Predicate { $0.rating! > 3 }) == "rating > 3")
    #expect(try format(#Predicate { $0.default ?? false }) == "default == TRUE")
    #expect(try format(#Predicate { $0.note?.title == "x" }) == "note.title == \"x\"")
    #expect(try format(#Predicate { $0.note?.subtitle?.starts(with: "x") == true }) == "note.subtitle BEGINSWITH \"x\"")
    #expect(try format(#Predicate { $0.note?.title.contains("x") ?? false }) == "note.title CONTAINS \"x\"")
    #expect(
      try format(#Predicate { $0.note?.title.contains("x") ?? true }) == "note == nil OR note.title CONTAINS \"x\"")
    #expect(
      try format(#Predicate { $0.note?.title.contains("x") == false })
        == "NOT note == nil AND NOT note.title CONTAINS \"x\"")
    #expect(
      try format(
        #Predicate {
          if let note = $0.note { note.title != "x" } else { false }
        }) == "NOT note == nil AND note.title != \"x\"")
  }

  @Test func texts() throws {
    #expect(try format(#Predicate { $0.name.starts(with: "A") }) == "name BEGINSWITH \"A\"")
    #expect(try format(#Predicate { $0.name.contains("bc") }) == "name CONTAINS \"bc\"")
    #expect(try format(#Predicate { $0.name.count > 3 }) == "length(name) > 3")
    #expect(try format(#Predicate { $0.name.isEmpty }) == "length(name) == 0")
  }

  @Test func arithmetic() throws {
    #expect(try format(#Predicate { $0.stock + 1 == 3 }) == "stock + 1 == 3")
    #expect(try format(#Predicate { $0.stock - 1 == 3 }) == "stock - 1 == 3")
    #expect(try format(#Predicate { $0.stock * 2 / 3 == 4 }) == "stock * 2 / 3 == 4")
    #expect(try format(#Predicate { $0.stock % 2 == 0 }) == "modulus:by:(stock, 2) == 0")
    #expect(try format(#Predicate { $0.weight / 2 == 0.5 }) == "weight / 2.0 == 0.5")
    #expect(try format(#Predicate { -$0.stock == 1 }) == "-stock == 1")
  }

  @Test func members() throws {
    #expect(
      try format(#Predicate { $0.tags.contains { $0.name.starts(with: "A") } }) == "ANY tags.name BEGINSWITH \"A\"")
    #expect(
      try format(#Predicate { $0.tags.contains { $0.name.starts(with: "A") && $0.name.count > 1 } })
        == "SUBQUERY(tags, $x1, $x1.name BEGINSWITH \"A\" AND length($x1.name) > 1).@count > 0")
    #expect(
      try format(#Predicate { $0.tags.contains { $0.name != "A" } })
        == "SUBQUERY(tags, $x1, $x1.name != \"A\").@count > 0")
    #expect(
      try format(#Predicate { $0.tags.allSatisfy { $0.name == "A" } })
        == "SUBQUERY(tags, $x1, NOT $x1.name == \"A\").@count == 0")
    #expect(
      try format(#Predicate { $0.tags.filter { $0.name == "A" }.count == 2 })
        == "SUBQUERY(tags, $x1, $x1.name == \"A\").@count == 2")
    #expect(try format(#Predicate { $0.tags.count == 2 }) == "tags.@count == 2")
    #expect(try format(#Predicate { $0.tags.isEmpty }) == "tags.@count == 0")
    #expect(
      try format(#Predicate { $0.tags.contains { $0.items.contains { $0.tags.count > 1 } } })
        == "SUBQUERY(tags, $x1, SUBQUERY($x1.items, $x2, $x2.tags.@count > 1).@count > 0).@count > 0")
    let tag = Tag.ID(ObjectID(rootCode: 3, serial: 5))
    #expect(
      try format(#Predicate { $0.tags.contains { $0.objectID == tag } })
        == "ANY tags == CAST(\"3/5\", \"NSManagedObjectID\")")
    let note = try FetchRequest(Note.self, where: #Predicate { $0.items.first?.name == "x" && $0.items.count > 2 })
    #expect(note.predicate?.predicateFormat == "items[FIRST].name == \"x\" AND items.@count > 2")
    let last = try FetchRequest(Note.self, where: #Predicate { $0.items.last?.name == "x" || $0.items[1].name == "y" })
    #expect(last.predicate?.predicateFormat == "items[LAST].name == \"x\" OR items[1].name == \"y\"")
  }

  @Test func rangesAndLists() throws {
    #expect(try format(#Predicate { (1...3).contains($0.stock) }) == "stock BETWEEN {1, 3}")
    #expect(try format(#Predicate { (1..<3).contains($0.stock) }) == "stock >= 1 AND stock < 3")
    let (from, through, below) = (Int64(2)..., ...Int64(4), ..<Int64(6))
    #expect(
      try format(#Predicate { from.contains($0.stock) && through.contains($0.stock) && below.contains($0.stock) })
        == "stock >= 2 AND stock <= 4 AND stock < 6")
    let closed = Int64(1)...2
    #expect(try format(#Predicate { closed.contains($0.stock) }) == "stock BETWEEN {1, 2}")
    let names = ["a", "b"]
    #expect(
      try format(#Predicate { names.contains($0.name) }) == "name IN CAST({\"a\", \"b\"}, \"NSArray\")")
  }

  @Test func values() throws {
    let (date, uuid) = (Date(timeIntervalSinceReferenceDate: 12.5), UUID())
    let (decimal, high) = (Decimal(sign: .plus, exponent: -1, significand: 15), Item.Priority.high)
    #expect(try format(#Predicate { $0.due! > date }) == "due > CAST(12.5, \"NSDate\")")
    #expect(try format(#Predicate { $0.id == uuid }) == "id == CAST(\"\(uuid.uuidString)\", \"NSUUID\")")
    #expect(try format(#Predicate { $0.amount == decimal }) == "amount == CAST(\"1.5\", \"NSDecimalNumber\")")
    #expect(try format(#Predicate { $0.priority == high }) == "priority == 10")
    #expect(try format(#Predicate { $0.priority.rawValue > 3 }) == "priority > 3")
    #expect(try format(#Predicate { $0.photo == nil }) == "photo == nil")
    #expect(try format(#Predicate { $0.place?.latitude == 1.5 }) == "place.latitude == 1.5")
  }

  @Test func objects() throws {
    let note = Note.ID(ObjectID(rootCode: 2, serial: 5))
    #expect(try format(#Predicate { $0.note?.objectID == note }) == "note == CAST(\"2/5\", \"NSManagedObjectID\")")
    let ids = [Item.ID(ObjectID(rootCode: 1, serial: 1))]
    #expect(
      try format(#Predicate { ids.contains($0.objectID) })
        == "SELF IN CAST({CAST(\"1/1\", \"NSManagedObjectID\")}, \"NSArray\")")
  }

  @Test func whatTheStoreCannotBeAsked() throws {
    func refused(
      _ predicate: Foundation.Predicate<Item.Fields>, sourceLocation: SourceLocation = #_sourceLocation
    ) {
      let error = expectError(.invalidPredicate, sourceLocation: sourceLocation) {
        _ = try FetchRequest(Item.self, where: predicate)
      }
      #expect(error?.entity == "Item", sourceLocation: sourceLocation)
    }
    let sizes = [Int64(1), 2]
    refused(#Predicate { sizes.min()! == $0.stock })
    refused(#Predicate { $0.photo?.count == 1 })
    refused(#Predicate { ($0.name as Any) is String })
    let regex = /a+/
    refused(#Predicate { $0.name.contains(regex) })
  }

  @Test func sortDescriptors() throws {
    let request = try FetchRequest(
      Item.self,
      sortedBy: [
        SortDescriptor(\.name), SortDescriptor(\.due, order: .reverse), SortDescriptor(\.tags.count),
        SortDescriptor(\.name, comparator: .lexical, order: .reverse),
      ])
    #expect(request.sortDescriptors.map(\.key.expressionFormat) == ["name", "due", "tags.@count", "name"])
    #expect(request.sortDescriptors.map(\.ascending) == [true, false, true, false])
    expectError(.invalidPredicate) { _ = try FetchRequest(Item.self, sortedBy: [SortDescriptor(\.note?.title)]) }
    expectError(.invalidPredicate) { _ = try FetchRequest(Item.self, sortedBy: [SortDescriptor(\.name.count)]) }
  }
}
