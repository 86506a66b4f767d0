import Foundation
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore

@Suite("Derived values of clones: transactions, copies, other stores")
struct CloneDerivedChangeTests {
  private static let timed = ManagedObjectModel("Timed") {
    EntityDescription("Note") {
      AttributeDescription("changed", .date, derivation: "now()")
      RelationshipDescription("lines", toMany: "Line", inverse: "note")
    }
    EntityDescription("Line") {
      AttributeDescription("at", .date, userInfo: ["followParent": "changed", "withoutParent": "keep"])
      RelationshipDescription("note", toOne: "Note", inverse: "lines")
    }
  }

  @Test("R17, R35: a followed now() is the one of the commit in another store too", .tags(.r17, .r35))
  func timeElsewhere() throws {
    let (fixture, other) = (try CloneStore(Self.timed), try CloneStore(Self.timed))
    let note = try fixture.insert("Note")
    try fixture.insert("Line", [:], ["note": [note]])
    let result = try fixture.clone([note], into: other)
    let line = try #require(try other.members(result.root, "lines").first)
    #expect(try other.value(line, "at") == other.value(result.root, "changed"))
  }

  @Test("followed now() here, in a caller's transaction, twice")
  func timeHere() throws {
    let fixture = try CloneStore(Self.timed)
    let note = try fixture.insert("Note")
    try fixture.insert("Line", [:], ["note": [note]])
    let roots = try fixture.store.write { tx in
      let a = try tx.clone([note]).root
      try tx.insert("Note")
      let b = try tx.clone([a], options: .with { $0.count = 2 }).roots
      return [a] + b
    }
    for root in roots {
      let line = try #require(try fixture.members(root, "lines").first)
      #expect(try fixture.value(line, "at") == fixture.value(root, "changed"))
    }
  }

  private static let users = ManagedObjectModel("Users") {
    EntityDescription("User", unique: [["folded"]]) {
      AttributeDescription("name", .string, default: "none", userInfo: ["exclude": ""])
      AttributeDescription("folded", .string, derivation: "canonical:(name)")
    }
  }

  @Test("R24: the transaction's changes count, not what was stored before", .tags(.r24))
  func staleHolder() throws {
    let fixture = try CloneStore(Self.users)
    let none = try fixture.insert("User", ["name": "none"])
    let other = try fixture.insert("User", ["name": "other"])
    try fixture.store.write { tx in
      try tx.set(none, "name", "x")
      _ = try tx.clone([other])
    }
    #expect(try fixture.count("User") == 3)
    try fixture.expectClean()
  }

  @Test("R24: and the other way round it is an error of the plan", .tags(.r24))
  func staleComer() throws {
    let fixture = try CloneStore(Self.users)
    let one = try fixture.insert("User", ["name": "x"])
    let other = try fixture.insert("User", ["name": "other"])
    #expect(throws: (any Error).self) {
      try fixture.store.write { tx in
        try tx.set(one, "name", "none")
        do { _ = try tx.clone([other]); Issue.record("not refused by the plan") } catch let error as CloneError {
          #expect(error.kind == .uniquenessConflict); throw error
        }
      }
    }
    try fixture.expectClean()
  }

  private static let averages = ManagedObjectModel("Averages") {
    EntityDescription("Album") {
      AttributeDescription("average", .double, derivation: "photos.@avg.size")
      RelationshipDescription("photos", toMany: "Photo", inverse: "album")
    }
    EntityDescription("Photo") {
      AttributeDescription("size", .integer64)
      AttributeDescription("title", .string)
      AttributeDescription("folded", .string, derivation: "canonical:(title)")
      RelationshipDescription("album", toOne: "Album", inverse: "photos")
    }
  }

  @Test("where no constraint names a derived attribute, they wait for the commit, not for every clone")
  func notRefreshed() throws {
    let fixture = try CloneStore(Self.averages)
    let album = try fixture.insert("Album")
    let photo = try fixture.insert("Photo", ["size": 2, "title": "Zoë"], ["album": [album]])
    let (clones, early) = try fixture.store.write { tx in
      try tx.setAttributes(photo, ["size": 4, "title": "Ägypten"])
      let options = CloneOptions.with { $0.rules = ["Photo.album": .reference] }
      var clones: [ObjectID] = []
      for _ in 0..<3 { clones.append(try tx.clone([photo], options: options).root) }
      try tx.set(photo, "size", 8)
      #expect(try tx.members(album, "photos") == [photo] + clones)
      return (clones, try tx.value(album, "average"))
    }
    #expect(early == .double(2))
    #expect(try fixture.value(album, "average") == .double(5))
    for clone in clones { #expect(try fixture.value(clone, "folded") == "agypten") }
    try fixture.expectClean()
  }

  @Test("values that are used repeatedly are cached")
  func kept() {
    var futures = FutureValues()
    func key(_ serial: UInt64) -> FutureValues.Key {
      FutureValues.Key(object: .init(id: ObjectID(rootCode: 1, serial: serial), isClone: true), derivation: 0)
    }
    futures.note(key(1), "x")
    for serial in 2..<20_000 {
      let known = futures.value(key(1))
      #expect(known != nil)
      if known == nil { break }
      futures.note(key(UInt64(serial)), nil)
    }
  }

  @Test("a derived uuid with a rule of its own is not unique by it")
  func ruleOnDerived() throws {
    let model = ManagedObjectModel("Rule") {
      EntityDescription("User", unique: [["key"]]) {
        AttributeDescription("id", .uuid)
        AttributeDescription("key", .uuid, derivation: "id", userInfo: ["rebuild": "uuid"])
      }
    }
    let fixture = try CloneStore(model)
    let user = try fixture.insert("User", ["id": .uuid(UUID())])
    try fixture.expectRefusal(.uniquenessConflict, [user], entity: "User", property: "key", object: user)
  }

  @Test("a derived attribute that follows its parent by userInfo is derived")
  func followOnDerived() throws {
    let model = ManagedObjectModel("Rule2") {
      EntityDescription("Note") {
        AttributeDescription("title", .string)
        RelationshipDescription("lines", toMany: "Line", inverse: "note")
      }
      EntityDescription("Line") {
        AttributeDescription("title", .string)
        AttributeDescription("up", .string, derivation: "uppercase:(title)", userInfo: ["followParent": "title"])
        AttributeDescription("down", .string, derivation: "lowercase:(title)", userInfo: ["exclude": ""])
        RelationshipDescription("note", toOne: "Note", inverse: "lines")
      }
    }
    let fixture = try CloneStore(model)
    let note = try fixture.insert("Note", ["title": "N"])
    let line = try fixture.insert("Line", ["title": "Line"], ["note": [note]])
    let result = try fixture.clone([note])
    let copy = try #require(try fixture.members(result.root, "lines").first)
    #expect(try fixture.value(copy, "up") == "LINE")
    #expect(try fixture.value(copy, "down") == "line")
    _ = try fixture.clone([line])
  }

  @Test("many copies and a big outside list")
  func copies() throws {
    let model = ManagedObjectModel("Copies") {
      EntityDescription("Note", indexes: [FetchIndexDescription("bySize", [.init("tagSize")])]) {
        AttributeDescription("tagSize", .integer64, derivation: "tag.size")
        RelationshipDescription("tag", toOne: "Tag", inverse: "notes")
      }
      EntityDescription("Tag") {
        AttributeDescription("size", .integer64, derivation: "notes.@count")
        RelationshipDescription("notes", toMany: "Note", inverse: "tag")
      }
    }
    let fixture = try CloneStore(model)
    let tag = try fixture.insert("Tag")
    let notes = try fixture.store.write { tx in
      try (0..<2_000).map { _ in try tx.insert("Note", [:], relationships: ["tag": [tag]]) }
    }
    for count in [1, 10, 100] {
      let result = try fixture.store.clone([notes[0]], options: .with { $0.count = count })
      #expect(try fixture.value(result.root, "tagSize") == fixture.value(tag, "size"))
    }
    try fixture.expectClean()
  }
}
