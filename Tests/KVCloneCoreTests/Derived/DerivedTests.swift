import Foundation
import KVCloneRecords
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations

@Suite("Derived attributes")
struct DerivedTests {
  let test: TestStore
  var store: ObjectStore { test.store }

  init() throws { test = try TestStore(DerivedModel.model) }

  /// Creates an album of some photos in a library.
  private func makeAlbum(sizes: [Int64]) throws -> (library: ObjectID, album: ObjectID, photos: [ObjectID]) {
    try store.write { tx in
      let library = try tx.insert("Library", ["name": "L"])
      let album = try tx.insert("Album", ["title": "A"], relationships: ["library": [library]])
      var photos: [ObjectID] = []
      for size in sizes {
        photos.append(try tx.insert("Photo", ["size": .integer(size)], relationships: ["album": [album]]))
      }
      return (library, album, photos)
    }
  }

  @Test("sums follow members that come, go, and change, through chains of derived attributes")
  func sums() throws {
    let (library, album, photos) = try makeAlbum(sizes: [5, 7, 9])
    #expect(try store.value(library, "total") == 21)
    try store.set(photos[0], "size", 100)
    #expect(try store.value(album, "total") == 116)
    #expect(try store.value(album, "greatest") == 100)
    try store.delete([photos[0]])
    #expect(try store.value(album, "greatest") == 9)
    #expect(try store.value(library, "total") == 16)
    try store.set(photos[1], "size", nil)
    #expect(try store.value(album, "least") == 9)
    #expect(try store.value(album, "photoCount") == 2)
    try store.setToOne(album, "library", nil)
    #expect(try store.value(library, "total") == 0)
    #expect(try store.value(album, "libraryName") == nil)
    try store.expectDerived()
  }

  @Test("a sum that its type cannot hold is nil, and comes back when it fits again")
  func overflow() throws {
    let (_, album, photos) = try makeAlbum(sizes: [32_000, 700])
    #expect(try store.value(album, "small") == 32_700)
    try store.set(photos[1], "size", 800)
    #expect(try store.value(album, "small") == nil)
    #expect(try store.value(album, "total") == 32_800)
    try store.set(photos[0], "size", 1)
    #expect(try store.value(album, "small") == 801)
    let large = try store.write { tx in
      let photo = try tx.insert("Photo")
      for weight in [Int64.max, 1, -2] {
        try tx.insert("Tag", ["weight": .integer(weight)], relationships: ["photos": [photo]])
      }
      return photo
    }
    // In any order of additions, the sum fits in the end.
    #expect(try store.value(large, "tagWeight") == .integer(.max - 1))
    try store.expectDerived()
  }

  @Test("a change of a to-one target reaches all that refer through it, inverse or not")
  func paths() throws {
    let (library, album, photos) = try makeAlbum(sizes: [1, 2])
    try store.write { tx in
      try tx.setToOne(album, "cover", photos[1])
      try tx.set(photos[1], "name", "é")
      try tx.set(library, "name", "M")
      try tx.set(library, "name", "N")
    }
    #expect(try store.value(album, "coverName") == "É")
    #expect(try store.value(photos[0], "libraryName") == "N")
    #expect(try store.value(photos[0], "albumTitle") == "A")
    try store.set(photos[1], "name", "ö")
    #expect(try store.value(album, "coverName") == "Ö")
    try store.delete([photos[1]])
    #expect(try store.value(album, "coverName") == nil)
    try store.expectDerived()
  }

  @Test("now() is the time of the commit that changed the object, and of no other")
  func now() throws {
    let (_, album, photos) = try makeAlbum(sizes: [1])
    guard case .date(let first)? = try store.value(album, "changed") else {
      Issue.record("no time")
      return
    }
    #expect(abs(first.timeIntervalSinceNow) < 3600)
    // A change of nothing but a derived attribute is no change of the album.
    try store.set(photos[0], "size", 2)
    #expect(try store.value(album, "changed") == .date(first))
    try store.set(album, "title", "B")
    guard case .date(let second)? = try store.value(album, "changed") else { return }
    #expect(second > first)
    let other = try store.write { tx in
      let other = try tx.insert("Album")
      try tx.set(album, "title", "C")
      return other
    }
    #expect(try store.value(album, "changed") == store.value(other, "changed"))
  }

  @Test("R19 clones' derived attributes are their own, and those of outside objects follow", .tags(.r19))
  func clones() throws {
    let (library, album, photos) = try makeAlbum(sizes: [3, 4])
    let tag = try store.insert("Tag", ["weight": 5], relationships: ["photos": photos])
    try store.setToOne(album, "cover", photos[0])
    let result = try store.clone([photos[0]], options: .excluding("album"))
    #expect(try store.value(result.root, "tagWeight") == 5)
    #expect(try store.value(result.root, "albumTitle") == nil)
    #expect(try store.value(tag, "photoCount") == 3)
    let copies = try store.clone([album], options: .with { $0.count = 40 })
    #expect(try store.value(copies.root, "total") == 7)
    #expect(try store.value(tag, "photoCount") == 83)
    #expect(try store.value(library, "albumCount") == store.count(library, "albums").asValue)
    try store.expectDerived()
    // In a caller's transaction, with changes before and after.
    try store.write { tx in
      try tx.set(photos[1], "size", 1000)
      let copy = try tx.clone(object: album)
      try tx.set(photos[1], "size", 1001)
      try tx.unlink(copy, "photos", [try tx.members(copy, "photos")[0]])
    }
    try store.expectDerived()
  }

  @Test("R19 R35 a clone into another store computes there", .tags(.r19, .r35))
  func cloneInto() throws {
    let other = try TestStore(DerivedModel.model)
    let (_, album, _) = try makeAlbum(sizes: [3, 4])
    let result = try store.clone([album], into: other.store, options: .excluding("library"))
    #expect(try other.store.value(result.root, "total") == 7)
    try other.store.expectDerived()
  }

  @Test("a load computes derived attributes, regardless of the text")
  func load() throws {
    _ = try store.load(
      text: #"{"id":"Album/1","attributes":{"title":"A","total":99,"photoCount":7}}"# + "\n"
        + #"{"id":"Photo/1","attributes":{"size":4,"name":"Ä"},"relationships":{"album":"Album/1"}}"# + "\n")
    let album = try #require(try store.objects("Album").first)
    #expect(try store.value(album, "total") == 4)
    #expect(try store.value(album, "lastName") == "a")
    try store.expectDerived()
  }

  @Test("long lists: one member more or less, sums, counts and extremes stay true")
  func longLists() throws {
    let (_, album, photos) = try makeAlbum(sizes: (0..<300).map { $0 })
    try store.unlink(album, "photos", [photos[0], photos[299]])
    #expect(try store.value(album, "greatest") == 298)
    try store.setMembers(album, "photos", Array(photos[10..<20]))
    #expect(try store.value(album, "total") == .integer((10..<20).reduce(0, +)))
    try store.insert("Photo", ["size": -5], relationships: ["album": [album]])
    #expect(try store.value(album, "least") == -5)
    try store.expectDerived()
  }

  @Test("a store whose derived attributes were never computed computes them when it is opened for writing")
  func build() throws {
    let (_, album, photos) = try makeAlbum(sizes: [3, 4])
    // As an older version of the library left it.
    var session = try store.writeSession(label: "plant")
    let entity = try session.load(album)
    for attribute in entity.attributes where attribute.description.isDerived {
      if let field = attribute.field { session.scratch.setNull(field) }
    }
    try session.store(album, entity)
    let key = MetadataKey.bytes(MetadataKey.derivations)
    let wasMarked = try session.storage.delete(store.schema.tables.metadata, key.span.bytes)
    #expect(wasMarked)
    session.changes.isEmpty = false
    try WriteTransaction(session).commit(store)
    #expect(try store.check().isClean, "what was never computed is no damage")
    var options = StoreOptions()
    options.isReadOnly = true
    try test.reopen(options: options)
    #expect(try store.value(album, "total") == nil)
    try test.reopen()
    #expect(try store.value(album, "total") == 7)
    let commit = try store.info().commit
    try test.reopen()
    #expect(try store.info().commit == commit, "once is enough")
    try store.set(photos[0], "size", 5)
    try store.expectDerived()
  }

  @Test("check reports derived attributes that differ from their sources")
  func damage() throws {
    let (_, album, _) = try makeAlbum(sizes: [3, 4])
    var session = try store.writeSession(label: "plant")
    let entity = try session.load(album)
    let index = try #require(entity.attributeIndex["total"])
    session.scratch.setInteger64(try #require(entity.attributes[index].field), 8)
    try session.store(album, entity)
    session.changes.isEmpty = false
    try WriteTransaction(session).commit(store)
    let damages = try store.check().issues
    #expect(damages.contains { $0.kind == .derivedMismatch && $0.property == "total" && $0.object == "Album/1" })
  }

  @Test("a derived attribute can be unique, and is validated then")
  func unique() throws {
    let test = try TestStore(
      ManagedObjectModel("Unique") {
        EntityDescription("User", unique: [["folded"]]) {
          AttributeDescription("name", .string)
          AttributeDescription("folded", .string, derivation: "canonical:(name)")
        }
      })
    let user = try test.store.insert("User", ["name": "Zoë"])
    #expect(expectIssues { try test.store.insert("User", ["name": "zoe"]) } == ["uniquenessConflict User.folded"])
    // R24: reported by the plan.
    #expect(throws: CloneError.self) { _ = try test.store.clone([user]) }
    try test.store.set(user, "name", "Ann")
    try test.store.insert("User", ["name": "zoe"])
    try checked(test.store)
  }
}

@Suite("Derivation expressions")
struct DerivationModelTests {
  private func model(_ type: AttributeType, _ expression: String) -> ManagedObjectModel {
    ManagedObjectModel("Expressions") {
      EntityDescription("A") {
        AttributeDescription("text", .string)
        AttributeDescription("number", .integer32)
        AttributeDescription("bytes", .binary)
        AttributeDescription("live", .string, transient: true)
        AttributeDescription("derived", type, derivation: expression)
        RelationshipDescription("items", toMany: "A", inverse: "owner")
        RelationshipDescription("owner", toOne: "A", inverse: "items")
      }
    }
  }

  @Test(
    "what cannot be computed is told, stays nil, and keeps no store from being opened",
    arguments: [
      (AttributeType.integer64, "number + 1"), (.string, "canonical:(number)"), (.string, "missing"),
      (.string, "owner.missing"), (.binary, "bytes"), (.string, "live"), (.integer32, "owner.@count"),
      (.integer32, "items"), (.integer32, "items.@sum.text"), (.string, "items.@count"), (.date, "items.@max.number"),
      (.string, "items.text"), (.integer32, "items.@sum"), (.string, "(("), (.string, "now()"),
      (.integer32, "items.@distinctUnionOfObjects.number"), (.integer32, "items.@count.number"),
    ])
  func unusable(_ type: AttributeType, _ expression: String) throws {
    let model = self.model(type, expression)
    let warnings = try model.validate()
    #expect(warnings.filter { $0.kind == .unusableDerivation }.map(\.property) == ["derived"])
    let test = try TestStore(model)
    let object = try test.store.insert("A", ["text": "x", "number": 1])
    #expect(try test.store.value(object, "derived") == nil)
    try checked(test.store)
  }

  @Test(
    "all forms of Core Data are understood",
    arguments: [
      (AttributeType.string, "text"), (.string, "canonical:(text)"), (.string, "owner.owner.text"), (.date, "now()"),
      (.integer16, "items.@count"), (.double, "items.@sum.number"), (.decimal, "items.number.@sum"),
      (.integer32, "items.@min.number"), (.float, "items.@avg.number"), (.string, "items.@max.text"),
      (.integer64, "max:(items.text)"), (.double, "number"),
    ])
  func usable(_ type: AttributeType, _ expression: String) throws {
    let isWrong = expression == "max:(items.text)"
    let warnings = try model(type, expression).validate()
    #expect(warnings.contains { $0.kind == .unusableDerivation } == isWrong)
  }

  @Test("cyclic derivations of any length are rejected")
  func cycles() throws {
    let direct = model(.string, "owner.derived")
    #expect(throws: ModelError.cyclicDerivation(entity: "A", property: "derived")) { try direct.validate() }
    let indirect = ManagedObjectModel("Circle") {
      EntityDescription("A") {
        AttributeDescription("a", .integer32, derivation: "bs.@sum.b")
        RelationshipDescription("bs", toMany: "B", inverse: "owner")
      }
      EntityDescription("B") {
        AttributeDescription("b", .integer32, derivation: "owner.a")
        RelationshipDescription("owner", toOne: "A", inverse: "bs")
      }
    }
    #expect(throws: ModelError.self) { try indirect.validate() }
    expectError(.invalidModel) { _ = try TestStore(indirect) }
  }

  @Test("lists of a sub-entity whose records have them at another offset")
  func subentityLists() throws {
    let test = try TestStore(
      ManagedObjectModel("Lists") {
        EntityDescription("Owner") {
          AttributeDescription("count", .integer64, derivation: "parts.@count")
          AttributeDescription("sum", .integer64, derivation: "parts.@sum.weight")
          RelationshipDescription("parts", toMany: "Part", inverse: "owner")
          RelationshipDescription("others", toMany: "Part")
        }
        // A uuid precedes all lists in a record.
        EntityDescription("Below", parent: "Owner") {
          AttributeDescription("key", .uuid)
          RelationshipDescription("more", toMany: "Part")
        }
        EntityDescription("Part") {
          AttributeDescription("weight", .integer64)
          RelationshipDescription("owner", toOne: "Owner", inverse: "parts")
        }
      })
    for entity in ["Owner", "Below"] {
      let parts = try test.store.write { tx in try (1...5).map { try tx.insert("Part", ["weight": $0.asValue]) } }
      let links = ["parts": Array(parts[..<2]), "others": Array(parts[1...])]
      let owner = try test.store.insert(entity, relationships: links)
      #expect(try test.store.value(owner, "count") == 2.asValue)
      #expect(try test.store.value(owner, "sum") == 3.asValue)
      try test.store.unlink(owner, "parts", [parts[0]])
      #expect(try test.store.value(owner, "count") == 1.asValue)
      #expect(try test.store.value(owner, "sum") == 2.asValue)
    }
    try checked(test.store)
  }

  @Test("a sub-entity may derive an inherited attribute in another way")
  func redeclared() throws {
    let test = try TestStore(
      ManagedObjectModel("Above") {
        EntityDescription("Above") {
          AttributeDescription("one", .string)
          AttributeDescription("two", .string)
          AttributeDescription("shown", .string, derivation: "one")
        }
        EntityDescription("Below", parent: "Above") {
          AttributeDescription("shown", .string, derivation: "uppercase:(two)")
        }
        EntityDescription("Same", parent: "Above") {}
      })
    for (entity, wanted) in [("Above", "a"), ("Below", "B"), ("Same", "a")] {
      let object = try test.store.insert(entity, ["one": "a", "two": "b"])
      #expect(try test.store.value(object, "shown") == .string(wanted))
    }
    try checked(test.store)
  }
}

extension Int {
  fileprivate var asValue: AttributeValue { .integer(Int64(self)) }
}

extension ObjectStore {
  /// Loads NDJSON text.
  fileprivate func load(text: String) throws -> LoadResult {
    var rest = Array(text.utf8)[...]
    return try load { buffer in
      if rest.isEmpty { return false }
      buffer.append(contentsOf: rest)
      rest = []
      return true
    }
  }
}
