import Foundation
import KVClone
import KVCloneTestSupport
import Testing

/// Clones from snapshots: objects that were changed or deleted afterwards are restored under new ids, linked to current
/// objects.
@Suite("Clone from a snapshot")
struct CloneSnapshotTests {
  static let model = ManagedObjectModel("Archive") {
    EntityDescription("Note", unique: [["code"]]) {
      AttributeDescription("name", .string)
      AttributeDescription("code", .integer64)
      AttributeDescription("image", .binary)
      AttributeDescription("itemCount", .integer32, derivation: "items.@count")
      RelationshipDescription("items", toMany: "Item", inverse: "note", ordered: true, deleteRule: .cascade)
      RelationshipDescription("pages", toMany: "Page", inverse: "note", deleteRule: .cascade)
      RelationshipDescription("cover", toOne: "Photo", userInfo: ["clone": "reference"])
    }
    EntityDescription("Item") {
      AttributeDescription("name", .string)
      AttributeDescription("image", .binary)
      RelationshipDescription("note", toOne: "Note", inverse: "items")
      RelationshipDescription("tags", toMany: "Tag", inverse: "items")
      RelationshipDescription("shelf", toOne: "Shelf", inverse: "items")
      RelationshipDescription("badge", toOne: "Badge", inverse: "item", userInfo: ["clone": "reference"])
    }
    EntityDescription("Page") {
      AttributeDescription("name", .string)
      RelationshipDescription("note", toOne: "Note", inverse: "pages")
    }
    EntityDescription("Tag") {
      AttributeDescription("name", .string)
      AttributeDescription("itemCount", .integer32, derivation: "items.@count")
      RelationshipDescription("items", toMany: "Item", inverse: "tags", max: 12)
    }
    EntityDescription("Shelf") { RelationshipDescription("items", toMany: "Item", inverse: "shelf", ordered: true) }
    EntityDescription("Badge") { RelationshipDescription("item", toOne: "Item", inverse: "badge") }
    EntityDescription("Photo") { AttributeDescription("name", .string) }
    EntityDescription("Person") {
      RelationshipDescription("contracts", toMany: "Contract", inverse: "owner", deleteRule: .nullify)
      RelationshipDescription("teams", toMany: "Contract", inverse: "team", deleteRule: .nullify)
    }
    EntityDescription("Contract") {
      AttributeDescription("name", .string)
      RelationshipDescription("owner", toOne: "Person", inverse: "contracts", optional: false)
      RelationshipDescription("team", toMany: "Person", inverse: "teams", min: 2)
    }
  }

  let test: CloneStore

  init() throws { test = try CloneStore(Self.model) }

  private static func image(_ count: Int, _ seed: Int) -> AttributeValue {
    .binary(Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ seed) }))
  }

  /// Inserts a note with pages and items, which have tags and a shelf.
  private func note(items: Int, pages: Int) throws -> ObjectID {
    try test.store.write { tx in
      let note = try tx.insert("Note", ["name": "n", "code": 7, "image": Self.image(2_500_000, 1)])
      let tags = try (0..<3).map { try tx.insert("Tag", ["name": .string("\($0)")]) }
      let shelf = try tx.insert("Shelf")
      var ids: [ObjectID] = []
      for index in 0..<items {
        let values: [String: AttributeValue?] = [
          "name": .string("\(index)"), "image": index % 4 == 0 ? Self.image(3000, index % 8) : nil,
        ]
        ids.append(try tx.insert("Item", values, relationships: index < 12 ? ["tags": [tags[index % 3]]] : [:]))
      }
      // In another order than that of the ids.
      let order = ids.indices.sorted { $0 * 7 % 11 < $1 * 7 % 11 }
      try tx.setMembers(note, "items", order.map { ids[$0] })
      try tx.setMembers(shelf, "items", ids.reversed())
      for index in 0..<pages {
        try tx.insert("Page", ["name": .string("\(index)")], relationships: ["note": [note]])
      }
      return note
    }
  }

  @Test("a deleted graph comes back, with images and lists of every form", arguments: [(3, 5), (20, 30), (300, 700)])
  func deleted(items: Int, pages: Int) throws {
    let note = try note(items: items, pages: pages)
    let (before, label) = (try test.graph(), try test.label(note))
    let snapshot = try test.snapshot()
    try test.delete([note])
    #expect(try test.count("Item") == 0)
    let result = try test.clone([note], from: snapshot)
    #expect(result.objectCount == 1 + items + pages && result.bytesCopied == 0)
    #expect(result.root != note)
    #expect(result.affectedObjectCount == 4)
    let differences = GraphComparison.compare(
      expected: before, actual: try test.graph(), ids: [label: try test.label(result.root)], model: test.view)
    #expect(differences.isEmpty, "\(differences.prefix(5))")
    #expect(try test.value(result.root, "itemCount") == .integer(Int64(items)))
    // Data that only the snapshot kept now belongs to the store.
    try test.store.deleteSnapshot(named: "before")
    try test.expectClean()
    #expect(try GraphComparison.compare(expected: before, actual: test.graph(), model: test.view).isEmpty)
    try test.delete([result.root])
    try test.expectClean()
  }

  @Test("a changed graph is restored unchanged, next to its current state")
  func changed() throws {
    let note = try note(items: 20, pages: 20)
    let names = (try test.names(note, "items"), try test.names(note, "pages"))
    let snapshot = try test.snapshot()
    try test.store.write { tx in
      try tx.set(note, "name", "changed")
      try tx.set(note, "code", nil)
      try tx.set(note, "image", nil)
      let items = try tx.members(note, "items")
      try tx.delete(Array(items[3..<9]))
      try tx.setMembers(note, "items", try tx.members(note, "items").reversed())
      try tx.insert("Item", ["name": "new"], relationships: ["note": [note]])
      for page in try tx.members(note, "pages") { try tx.set(page, "name", "changed") }
    }
    let now = try test.names(note, "items")
    let result = try test.clone([note], from: snapshot)
    #expect(result.objectCount == 41)
    #expect(try test.names(result.root, "items") == names.0)
    #expect(try test.names(result.root, "pages") == names.1)
    #expect(try test.value(result.root, "name") == "n")
    #expect(try test.store.read { try $0.data(result.root, "image") }?.count == 2_500_000)
    #expect(try test.names(note, "items") == now && test.value(note, "name") == "changed")
  }

  @Test("outside objects: linked if they exist, omitted if they do not")
  func outside() throws {
    let ids = try test.store.write { tx in
      let photo = try tx.insert("Photo")
      let note = try tx.insert("Note", relationships: ["cover": [photo]])
      let tags = [try tx.insert("Tag"), try tx.insert("Tag")]
      let shelf = try tx.insert("Shelf")
      let items = try (0..<3).map { _ in try tx.insert("Item", relationships: ["tags": tags]) }
      try tx.setMembers(note, "items", items)
      try tx.setMembers(shelf, "items", items.reversed())
      return (note: note, photo: photo, tags: tags, shelf: shelf, items: items)
    }
    let snapshot = try test.snapshot()
    let other = try test.store.write { tx in
      try tx.delete([ids.tags[0], ids.photo])
      let other = try tx.insert("Item")
      // In another order now, and with an additional member.
      try tx.setMembers(ids.shelf, "items", [ids.items[0], other])
      return other
    }
    let result = try test.clone([ids.note], from: snapshot)
    let clones = try test.members(result.root, "items")
    #expect(result.affectedObjectIDs == [ids.tags[1], ids.shelf].sorted())
    #expect(try test.toOne(result.root, "cover") == nil)
    for clone in clones { #expect(try test.members(clone, "tags") == [ids.tags[1]]) }
    #expect(try test.members(ids.tags[1], "items") == ids.items + clones)
    #expect(try test.value(ids.tags[1], "itemCount") == 6)
    // In the former order of the sources in the list (R12).
    #expect(try test.members(ids.shelf, "items") == [ids.items[0], other] + clones.reversed())

    let two = try test.clone([ids.note], from: snapshot, .with { $0.count = 2 })
    #expect(two.roots.count == 2 && two.objectCount == 8)
    #expect(try test.members(ids.tags[1], "items").count == 12)
    try test.expectRefusal(
      .maxCountExceeded, [ids.note], from: snapshot, entity: "Tag", property: "items",
      object: try test.name(ids.tags[1]))
    // A kept link (R10) leads to the source if it still exists.
    let kept = try test.clone(
      [ids.items[1]], from: snapshot,
      .with {
        $0.rules = ["Item.note": .skip, "Item.tags": .skip]
        $0.references = .keepOriginal
      })
    #expect(try test.toOne(kept.root, "shelf") == ids.shelf)
  }

  @Test("a to-one inverse that is free is taken, and one that is not is not")
  func badges() throws {
    let badge = try test.insert("Badge")
    let item = try test.insert("Item", [:], ["badge": [badge]])
    let snapshot = try test.snapshot()
    let name = try test.name(badge)
    try test.expectRefusal(
      .inverseTaken, [item], from: snapshot, entity: "Badge", property: "item", object: name)
    try test.delete([item])
    try test.expectRefusal(.inverseTaken, [item], from: snapshot, .with { $0.count = 2 }, object: name)
    let clone = try test.clone([item], from: snapshot)
    #expect(clone.affectedObjectIDs == [badge])
    #expect(try test.toOne(badge, "item") == clone.root && test.toOne(clone.root, "badge") == badge)
    try test.expectRefusal(.inverseTaken, [item], from: snapshot, object: name)
    #expect(try test.clone([item], from: snapshot, .excluding("badge")).affectedObjectCount == 0)
  }

  @Test("a required link to a deleted object, and a minimum count")
  func required() throws {
    let people = try (0..<3).map { _ in try test.insert("Person") }
    let contract = try test.insert("Contract", [:], ["owner": [people[0]], "team": people])
    let snapshot = try test.snapshot()
    try test.delete([contract, people[2]])
    let first = try test.clone([contract], from: snapshot)
    #expect(try test.members(first.root, "team") == Array(people[..<2]))
    try test.delete([first.root, people[1]])
    try test.expectRefusal(
      .requiredRelationshipExcluded, [contract], from: snapshot, entity: "Contract", property: "team",
      object: "Contract/1")
    try test.delete([people[0]])
    try test.expectRefusal(
      .requiredRelationshipExcluded, [contract], from: snapshot, .excluding("team"), entity: "Contract",
      property: "owner", object: "Contract/1")
    let errors = try test.store.planClone([contract], from: snapshot, options: .excluding("team")).errors
    #expect(errors.first?.message.contains("Person/1, which no longer exists") == true)
  }

  @Test("unique values are those of now")
  func unique() throws {
    let note = try note(items: 1, pages: 0)
    let snapshot = try test.snapshot()
    try test.expectRefusal(
      .uniquenessConflict, [note], from: snapshot, entity: "Note", property: "code", object: "Note/1")
    try test.delete([note])
    try test.expectRefusal(.uniquenessConflict, [note], from: snapshot, .with { $0.count = 2 })
    let other = try test.insert("Note", ["code": 7])
    try test.expectRefusal(.uniquenessConflict, [note], from: snapshot, object: "Note/1")
    try test.delete([other])
    try test.clone([note], from: snapshot)
    try test.expectRefusal(.uniquenessConflict, [note], from: snapshot)
  }

  @Test("what the snapshot does not show, and other stores' snapshots")
  func refusals() throws {
    let note = try note(items: 1, pages: 0)
    let snapshot = try test.snapshot()
    let later = try test.insert("Note")
    try test.expectRefusal(.objectNotFound, [later], from: snapshot, object: "Note/2", isPlanned: false)
    let other = try CloneStore(Self.model)
    let foreign = try other.snapshot()
    try test.expectRefusal(.invalidConfiguration, [note], from: foreign, isPlanned: false)
    try test.expectRefusal(.unknownRelationship, [note], from: snapshot, .excluding("nothing"))
    try test.expectRefusal(
      .limitExceeded, [note], from: snapshot,
      .with {
        $0.maxObjects = 1
        $0.userInfoKeys.exclude = "x"
      })
    try test.store.deleteSnapshot(named: "before")
    try test.snapshot()
    // Another snapshot has its name by now.
    expectError(.snapshotNotFound) { _ = try test.store.clone([note], from: snapshot) }
    expectError(.snapshotNotFound) { _ = try test.store.planClone([note], from: snapshot) }
  }
}
