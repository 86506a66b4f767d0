import Foundation
import KVClone
import KVCloneTestSupport
import Testing

/// MOCloner's own eight test cases, on its own model, in a separate transaction and inside a caller's.
@Suite("MOCloner's cases")
struct MOClonerTests {
  /// The two ways to call it (R27).
  enum Way: CaseIterable {
    case alone
    case insideWrite
  }

  let fixture: CloneStore
  let noteID = UUID()
  let createDate = Date(timeIntervalSinceReferenceDate: 1000)

  init() throws { fixture = try CloneStore(MOClonerModel.model) }

  private func clone(_ object: ObjectID, _ way: Way, excluding names: [String] = []) throws -> ObjectID {
    let clone =
      switch way {
      case .alone: try fixture.store.clone(object: object, excludedRelationshipNames: names)
      case .insideWrite:
        try fixture.store.write {
          try $0.clone(object: object, excludedRelationshipNames: names, saveBeforeReturn: false)
        }
      }
    try fixture.expectClean()
    return clone
  }

  private func insertNote() throws -> ObjectID {
    try fixture.insert(
      "Note",
      [
        "name": "note", "data": .binary(Data([1, 2, 3])), "derived": 7, "index": 3, "id": .uuid(noteID),
        "createDate": .date(createDate),
      ])
  }

  private func insertItems(_ count: Int, of note: ObjectID) throws -> [ObjectID] {
    try fixture.store.write { tx in
      try (0..<count).map { index in
        try tx.insert(
          "Item",
          [
            "name": .string("item \(index)"), "index": .integer(Int64(index) + 1), "noteIDBlank": .uuid(noteID),
            "noteIDKeep": .uuid(noteID),
          ], relationships: ["note": [note]])
      }
    }
  }

  @Test(
    "the model written in Swift is the corpus's", .enabled(if: Corpus.root != nil, Comment(rawValue: Corpus.missing)))
  func modelOfTheCorpus() throws {
    let path = try #require(Corpus.modelBundle("fatbobman__MOCloner/Model.xcdatamodeld"))
    let model = try ManagedObjectModel.load(contentsOf: path).model
    #expect(model.modelHash == MOClonerModel.model.modelHash)
    #expect(model.entities.map(\.name) == MOClonerModel.model.entities.map(\.name))
    for (file, swift) in zip(model.entities, MOClonerModel.model.entities) {
      #expect(file.userInfo == swift.userInfo)
      #expect(file.attributes.map(\.userInfo) == swift.attributes.map(\.userInfo), "\(file.name)")
      #expect(file.relationships.map(\.userInfo) == swift.relationships.map(\.userInfo), "\(file.name)")
      #expect(file.attributes.map(\.name) == swift.attributes.map(\.name))
      #expect(file.relationships.map(\.name) == swift.relationships.map(\.name))
    }
  }

  @Test("case 1: a single Note", arguments: Way.allCases)
  func case1(way: Way) throws {
    let note = try insertNote()
    let clone = try clone(note, way)
    #expect(try fixture.count("Note") == 2)
    for name in ["name", "data", "derived", "index"] {
      #expect(try fixture.value(clone, name) == (try fixture.value(note, name)), "\(name)")
    }
    let id = try fixture.value(clone, "id")
    guard case .uuid(let uuid)? = id, case .date(let date)? = try fixture.value(clone, "createDate") else {
      Issue.record("id and createDate are there")
      return
    }
    #expect(uuid != noteID)
    #expect(date != createDate && abs(date.timeIntervalSinceNow) < 3600)
    #expect(try fixture.value(note, "id") == .uuid(noteID))
  }

  @Test("case 1: a live source hands its transient value over (R20)")
  func case1_transient() throws {
    let values = try fixture.store.write { tx in
      let note = try tx.insert("Note", ["name": "live"])
      try tx.set(note, "transient", false)
      let clone = try tx.clone(object: note)
      return [try tx.value(note, "transient"), try tx.value(clone, "transient")]
    }
    #expect(values == [false, false])
    try fixture.expectClean()
  }

  @Test("case 2: a Note with ten Items", arguments: Way.allCases)
  func case2(way: Way) throws {
    let note = try insertNote()
    let items = try insertItems(10, of: note)
    let clone = try clone(note, way)
    #expect(try fixture.count("Note") == 2 && fixture.count("Item") == 20)
    let cloned = try fixture.members(clone, "items")
    #expect(cloned.count == 10 && Set(cloned).isDisjoint(with: items))
    #expect(try fixture.members(note, "items") == items)
    let id = try #require(try fixture.value(clone, "id"))
    for (source, item) in zip(items, cloned) {
      #expect(try fixture.toOne(item, "note") == clone)
      #expect(try fixture.value(item, "noteIDBlank") == id)
      #expect(try fixture.value(item, "noteIDKeep") == id)
      #expect(try fixture.value(item, "name") == (try fixture.value(source, "name")))
      #expect(try fixture.value(item, "index") == 0)
    }
  }

  @Test("case 3: one-to-one", arguments: Way.allCases)
  func case3(way: Way) throws {
    let note = try insertNote()
    let text = try fixture.insert("NoteDescription", ["content": "text"], ["note": [note]])
    let clone = try clone(note, way)
    let cloned = try #require(try fixture.toOne(clone, "noteDescription"))
    #expect(cloned != text)
    #expect(try fixture.toOne(cloned, "note") == clone)
    #expect(try fixture.toOne(text, "note") == note)
    #expect(try fixture.value(cloned, "content") == "text")
    #expect(try fixture.count("NoteDescription") == 2)
  }

  @Test("case 4: an Item with a tag that many items share", arguments: Way.allCases)
  func case4(way: Way) throws {
    let tag = try fixture.insert("ToOneTag", ["name": "tag"])
    let item = try fixture.insert("Item", [:], ["toOneTag": [tag]])
    let clone = try clone(item, way)
    #expect(try fixture.toOne(clone, "toOneTag") == tag)
    #expect(try fixture.count("ToOneTag") == 1)
    #expect(try fixture.members(tag, "items") == [item, clone])
  }

  @Test("case 5: twenty Items on two tags", arguments: Way.allCases)
  func case5(way: Way) throws {
    let note = try insertNote()
    let items = try insertItems(20, of: note)
    let tags = [try fixture.insert("ToOneTag"), try fixture.insert("ToOneTag")]
    for (index, tag) in tags.enumerated() {
      try fixture.set(tag, "items", items.enumerated().filter { $0.offset % 2 == index }.map(\.element))
    }
    let clone = try clone(note, way)
    for tag in tags { #expect(try fixture.members(tag, "items").count == 20) }
    let cloned = try fixture.members(clone, "items").map { try fixture.toOne($0, "toOneTag") }
    #expect(cloned == (0..<20).map { tags[$0 % 2] })
  }

  @Test("case 6: fifteen Items, many-to-many with two tags", arguments: Way.allCases)
  func case6(way: Way) throws {
    let note = try insertNote()
    let items = try insertItems(15, of: note)
    let tags = [try fixture.insert("ToManyTag"), try fixture.insert("ToManyTag")]
    try fixture.set(tags[0], "items", Array(items[0..<10]))
    try fixture.set(tags[1], "items", Array(items[5..<15]))
    let clone = try clone(note, way)
    for tag in tags { #expect(try fixture.members(tag, "items").count == 20) }
    let cloned = try fixture.members(clone, "items").map { try fixture.members($0, "toManyTags") }
    #expect(cloned.filter { $0 == [tags[0]] }.count == 5)
    #expect(cloned.filter { $0 == [tags[1]] }.count == 5)
    #expect(cloned.filter { $0 == tags }.count == 5)
    #expect(try fixture.count("ToManyTag") == 2)
  }

  @Test("case 7: ten ordered Memos", arguments: Way.allCases)
  func case7(way: Way) throws {
    let note = try insertNote()
    let memos = try fixture.store.write { tx in
      try (0..<10).map { try tx.insert("Memo", ["text": .string("\($0)")]) }
    }
    let order = [3, 1, 4, 0, 5, 9, 2, 6, 8, 7]
    try fixture.set(note, "memos", order.map { memos[$0] })
    let clone = try clone(note, way)
    let cloned = try fixture.members(clone, "memos")
    #expect(try cloned.map { try fixture.value($0, "text") } == order.map { .string("\($0)") })
    #expect(Set(cloned).isDisjoint(with: memos))
    #expect(try fixture.members(note, "memos") == order.map { memos[$0] })
  }

  @Test("case 8: an Item cloned without its Note", arguments: Way.allCases)
  func case8(way: Way) throws {
    let note = try insertNote()
    let item = try insertItems(1, of: note)[0]
    let clone = try clone(item, way, excluding: ["note"])
    #expect(try fixture.toOne(clone, "note") == nil)
    #expect(try fixture.value(clone, "noteIDBlank") == nil)
    #expect(try fixture.value(clone, "noteIDKeep") == .uuid(noteID))
    #expect(try fixture.members(note, "items") == [item])
    #expect(try fixture.count("Note") == 1)
  }

  @Test("R8 an Item cloned with its Note joins it as a sibling", .tags(.r8), arguments: Way.allCases)
  func r8_sibling(way: Way) throws {
    let note = try insertNote()
    let item = try insertItems(1, of: note)[0]
    let clone = try clone(item, way)
    #expect(try fixture.toOne(clone, "note") == note)
    #expect(try fixture.members(note, "items") == [item, clone])
    #expect(try fixture.count("Note") == 1)
  }
}
