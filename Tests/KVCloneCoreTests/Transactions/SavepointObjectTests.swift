import Foundation
import KVClone
import KVCloneTestSupport
import Testing

@testable import KVCloneCore
@testable import KVCloneOperations
@testable import KVCloneQuery

/// The effects of a rolled-back savepoint on objects, links, indexes, large and computed values, and on the history.
@Suite("Savepoints: rolled-back changes")
struct SavepointObjectTests {
  let test: TestStore
  let made: SavepointFixture
  var store: ObjectStore { test.store }

  init() throws {
    test = try TestStore(savepointModel, options: .tracking())
    made = try SavepointFixture(test.store)
  }

  /// Expects that `body` leaves no trace in a savepoint that is rolled back, in a transaction without other changes and
  /// in one with them.
  private func expectUndone(
    sourceLocation: SourceLocation = #_sourceLocation, _ body: (inout WriteTransaction) throws -> Void
  ) throws {
    let (lines, commit, blobs) = (try store.lines(), try store.info().commit, try store.blobCounts())
    try store.write { tx in try tx.rollingBack(sourceLocation: sourceLocation, body) }
    #expect(try store.lines() == lines, sourceLocation: sourceLocation)
    #expect(try store.info().commit == commit, sourceLocation: sourceLocation)
    #expect(try store.blobCounts() == blobs, sourceLocation: sourceLocation)
    try checked(store, sourceLocation: sourceLocation)
    let label = "\(UInt64.random(in: 0 ... .max))"
    let marker = try store.write { tx in
      let marker = try tx.insert("Marker", ["label": "before"])
      try tx.rollingBack(sourceLocation: sourceLocation, body)
      try tx.set(marker, "label", .string(label))
      return marker
    }
    #expect(try store.found("Marker", "label == '\(label)'") == [marker], sourceLocation: sourceLocation)
    #expect(try store.history().last?.changes() == [.inserted(marker)], sourceLocation: sourceLocation)
    try store.delete([marker])
    #expect(try store.lines() == lines, sourceLocation: sourceLocation)
    #expect(try store.blobCounts() == blobs, sourceLocation: sourceLocation)
    try checked(store, sourceLocation: sourceLocation)
  }

  // MARK: Objects and links

  @Test("inserted objects, and all links and index entries that they brought")
  func inserted() throws {
    try expectUndone { tx in
      let tag = try tx.insert("Tag", ["name": "new"], relationships: ["albums": [made.album, made.other]])
      let album = try tx.insert(
        "Album", ["title": "first", "cover": SavepointFixture.bytes(5)],
        relationships: ["photos": Array(made.photos[3..<9]), "tags": [tag], "owner": [made.people[1]]])
      try tx.insert("Raw", ["code": 500, "camera": "c"], relationships: ["album": [album], "likes": made.tags])
      let moved = try tx.members(album, "photos").count
      #expect(moved == 7)
    }
    #expect(try store.found("Album", "title == 'first'") == [made.album])
  }

  @Test("updated attributes, indexed and unique ones")
  func updated() throws {
    try expectUndone { tx in
      try tx.setAttributes(made.album, ["title": "changed", "tick": 9])
      try tx.set(made.photos[0], "code", 1000)
      try tx.set(made.photos[1], "code", 0)
      for photo in made.photos { try tx.set(photo, "size", 77) }
      try tx.set(made.tags[0], "name", "other")
      let found = try tx.found("Photo", "size == 77").count
      #expect(found == 30)
    }
    #expect(try store.found("Photo", "code == 0") == [made.photos[0]])
    #expect(try store.found("Photo", "size == 77").isEmpty)
    #expect(try store.found("Tag", "name == 'tag 0'") == [made.tags[0]])
  }

  @Test("ordered lists: appended, inserted, moved, cut and replaced members, with their inverses")
  func orderedLists() throws {
    let photos = made.photos
    try expectUndone { tx in
      try tx.link(made.other, "photos", [photos[4], photos[2]])
      try tx.link(made.album, "photos", [photos[20], photos[3]], at: 1)
      try tx.unlink(made.album, "photos", Array(photos[10..<25]))
      try tx.setMembers(made.album, "photos", photos.reversed())
      try tx.setMembers(made.other, "photos", photos)
      try tx.setMembers(made.album, "photos", [])
    }
    #expect(try store.members(made.album, "photos") == photos)
    for photo in photos { #expect(try store.toOne(photo, "album") == made.album) }
  }

  @Test("unordered lists that grow into chunks, shrink and vanish, from either side")
  func unorderedLists() throws {
    try expectUndone { tx in try tx.setMembers(made.other, "tags", made.tags) }
    try expectUndone { tx in try tx.setMembers(made.album, "tags", []) }
    try expectUndone { tx in
      for tag in made.tags { try tx.setMembers(tag, "albums", [made.other]) }
      try tx.unlink(made.other, "tags")
      try tx.link(made.album, "tags", Array(made.tags[5..<35]))
    }
    #expect(try store.members(made.album, "tags") == Array(made.tags[..<20]).sorted())
  }

  @Test("a list that grows by hundreds of members and back")
  func longLists() throws {
    let photos = try store.write { tx in
      var photos: [ObjectID] = []
      for number in 0..<600 {
        photos.append(
          try tx.insert("Photo", ["code": .integer(Int64(9000 + number))], relationships: ["album": [made.other]]))
      }
      return photos
    }
    try expectUndone { tx in
      for (place, photo) in photos.enumerated() where place % 3 == 0 {
        try tx.link(made.album, "photos", [photo], at: 7)
      }
      try tx.delete(photos.enumerated().filter { $0.offset % 3 == 1 }.map(\.element))
      for number in 0..<200 {
        try tx.insert("Photo", ["code": .integer(Int64(19_000 + number))], relationships: ["album": [made.other]])
      }
    }
    #expect(try store.members(made.other, "photos") == photos)
  }

  @Test("to-one links, those whose old owner loses them, and chains of one-to-one")
  func toOneLinks() throws {
    try expectUndone { tx in
      try tx.setToOne(made.album, "owner", made.people[2])
      try tx.setToOne(made.other, "owner", made.people[2])
      try tx.setToOne(made.people[2], "next", made.people[1])
      try tx.setToOne(made.people[0], "previous", made.people[0])
      try tx.setToOne(made.photos[0], "album", nil)
    }
    #expect(try store.toOne(made.people[0], "next") == made.people[1])
  }

  @Test("links without an inverse, whose hidden lists have to follow")
  func withoutInverse() throws {
    try expectUndone { tx in
      try tx.setMembers(made.photos[0], "likes", made.tags)
      try tx.setMembers(made.photos[1], "likes", [])
      try tx.delete([made.tags[30]])
    }
    // The hidden lists are correct: no link dangles after the target is deleted.
    try store.delete([made.tags[30], made.tags[39]])
    #expect(try store.members(made.photos[0], "likes") == [made.tags[31]])
    try checked(store)
  }

  // MARK: Deletions

  @Test("deletions that cascade, nullify and take no action")
  func deleted() throws {
    try expectUndone { tx in
      let result = try tx.delete([made.album])
      #expect(result.deletedCount == 31)
    }
    try expectUndone { tx in try tx.delete(Array(made.tags[..<35])) }
    try expectUndone { tx in try tx.delete([made.people[1]]) }
    try expectUndone { tx in try tx.delete(made.photos + [made.other]) }
    #expect(try store.found("Photo", "albumTitle == 'first'").count == 30)
  }

  @Test("a deletion that was denied, and then done after what stood in its way was removed")
  func denied() throws {
    try expectUndone { tx in
      expectError(.deleteDenied) { try tx.delete([made.people[0]]) }
      try tx.setToOne(made.album, "owner", nil)
      try tx.delete([made.people[0]])
    }
    // Its rule denies the delete, the savepoint is rolled back, and the transaction continues.
    let marker = try store.write { tx in
      expectError(.deleteDenied) {
        try tx.savepoint { tx in
          try tx.set(made.other, "title", "lost")
          try tx.delete([made.people[0]])
        }
      }
      return try tx.insert("Marker")
    }
    #expect(try store.exists(marker) && store.value(made.other, "title") == "second")
    // The link that denied the delete was removed in a savepoint that is rolled back, so it denies the delete again.
    expectError(.deleteDenied) {
      try store.write { tx in
        try tx.rollingBack { tx in try tx.setToOne(made.album, "owner", nil) }
        try tx.delete([made.people[0]])
      }
    }
    try checked(store)
  }

  @Test("an object that the transaction inserted, and a savepoint deleted, is there again")
  func deletedAgain() throws {
    let (marker, photo) = try store.write { tx in
      let marker = try tx.insert("Marker", ["label": "mine"], relationships: ["album": [made.other]])
      let photo = try tx.insert(
        "Photo", ["code": 800, "image": SavepointFixture.bytes(8)], relationships: ["album": [made.other]])
      try tx.rollingBack { tx in try tx.delete([marker, photo]) }
      try tx.set(marker, "label", "still mine")
      return (marker, photo)
    }
    #expect(try store.value(marker, "label") == "still mine" && store.members(made.other, "markers") == [marker])
    #expect(try store.data(photo, "image") == Data(repeating: 8, count: 5000))
    #expect(try store.found("Photo", "code == 800") == [photo])
    #expect(try Set(store.lastTransaction().insertedIDs()) == [marker, photo])
    try checked(store)
  }

  @Test("an object that the transaction deleted before the savepoint stays deleted")
  func deletedBefore() throws {
    try store.write { tx in
      try tx.delete([made.photos[0]])
      try tx.rollingBack { tx in
        expectError(.objectNotFound) { try tx.set(made.photos[0], "code", 1) }
        try tx.delete([made.photos[1]])
        try tx.insert("Photo", ["code": 0])
      }
    }
    #expect(try !store.exists(made.photos[0]) && store.exists(made.photos[1]))
    #expect(try store.members(made.album, "photos") == Array(made.photos.dropFirst()))
    #expect(try store.found("Photo", "code == 0").isEmpty)
    #expect(try store.history().last?.deletedIDs() == [made.photos[0]])
    try checked(store)
  }

  // MARK: Deferred changes

  @Test("links and index entries that inserted objects still owe, at both ends of a savepoint", arguments: [1, 3, 40])
  func deferredInserts(_ count: Int) throws {
    func insert(_ tx: inout WriteTransaction, _ label: String) throws -> [ObjectID] {
      try (0..<count).map { _ in
        try tx.insert("Marker", ["label": .string(label)], relationships: ["album": [made.other]])
      }
    }
    let (before, inside, after) = try store.write { tx in
      let before = try insert(&tx, "before")
      try tx.rollingBack { tx in _ = try insert(&tx, "lost") }
      let inside = try tx.savepoint { tx in try insert(&tx, "inside") }
      try tx.rollingBack { tx in
        _ = try insert(&tx, "lost")
        let members = try tx.members(made.other, "markers")
        #expect(members.count == 3 * count)
      }
      let members = try tx.members(made.other, "markers")
      #expect(members == before + inside)
      return (before, inside, try insert(&tx, "after"))
    }
    #expect(try store.members(made.other, "markers") == before + inside + after)
    #expect(try store.found("Marker", "label == 'before'") == before)
    #expect(try store.found("Marker", "label == 'inside'") == inside)
    #expect(try store.found("Marker", "label == 'after'") == after)
    #expect(try store.found("Marker", "label == 'lost'").isEmpty)
    try checked(store)
  }

  @Test("what an insert before the savepoint owes is written in the savepoint, and is there after its rollback")
  func owedBefore() throws {
    let album = try store.write { tx in
      let album = try tx.insert("Album", ["title": "new"], relationships: ["photos": made.photos, "tags": made.tags])
      try tx.rollingBack { tx in
        let albums = try tx.members(made.tags[0], "albums")
        #expect(albums.count == 3)
        let found = try tx.found("Album", "title == 'new'")
        #expect(found == [album])
        try tx.setMembers(album, "photos", [])
        try tx.set(album, "title", "gone")
      }
      return album
    }
    #expect(try store.members(album, "photos") == made.photos && store.members(made.album, "photos").isEmpty)
    #expect(try store.members(made.tags[0], "albums") == [made.album, made.other, album])
    #expect(try store.found("Album", "title == 'new'") == [album])
    #expect(try store.found("Photo", "albumTitle == 'new'") == made.photos)
    try checked(store)
  }

  // MARK: Large values

  @Test("blobs that were set, replaced, shared, streamed and removed")
  func blobs() throws {
    try expectUndone { tx in
      try tx.set(made.other, "cover", SavepointFixture.bytes(3, count: 3 << 20))
      try tx.set(made.album, "cover", SavepointFixture.bytes(4))
      try tx.set(made.photos[2], "image", try tx.value(made.photos[0], "image"))
      try tx.setData(made.photos[3], "image") { try $0.append(Data(repeating: 5, count: 2 << 20)) }
    }
    // The last reference of one blob, and one of two of another.
    try expectUndone { tx in
      try tx.set(made.album, "cover", nil)
      try tx.set(made.photos[0], "image", nil)
      let cover = try tx.data(made.album, "cover")
      #expect(cover == nil)
    }
    try expectUndone { tx in try tx.delete([made.album]) }
    #expect(try store.data(made.album, "cover") == Data(repeating: 1, count: 5000))
    #expect(try store.data(made.photos[0], "image") == Data(repeating: 2, count: 5000))
    // The counts are correct: the last delete frees the bytes.
    try store.delete([made.album])
    #expect(try store.blobCount() == 0)
    try checked(store)
  }

  @Test("a blob that the transaction wrote before the savepoint, which replaces it")
  func ownBlobs() throws {
    try store.write { tx in
      try tx.set(made.other, "cover", SavepointFixture.bytes(3))
      try tx.rollingBack { tx in
        try tx.set(made.other, "cover", SavepointFixture.bytes(4))
        try tx.set(made.album, "cover", SavepointFixture.bytes(5))
      }
      let cover = try tx.data(made.other, "cover")
      #expect(cover?.first == 3 && cover?.count == 5000)
      try tx.savepoint { tx in try tx.set(made.album, "cover", try tx.value(made.other, "cover")) }
      try tx.rollingBack { tx in try tx.set(made.other, "cover", nil) }
    }
    #expect(try store.data(made.album, "cover")?.first == 3 && store.data(made.other, "cover")?.first == 3)
    #expect(try store.blobCount() == 2)
    try checked(store)
  }

  @Test("a staged upload is usable after a rollback, in the same transaction and in later ones, and again")
  func stagedBlobs() throws {
    let data = Data((0..<3 << 20).map { UInt8(truncatingIfNeeded: $0 / 7) })
    let staged = try store.stageBlob { writer in try writer.append(data) }
    let before = try store.blobCounts()
    #expect(before.pending == 1 && before.staged == 1)
    try expectUndone { tx in
      try tx.setData(made.other, "cover", staged)
      let cover = try tx.data(made.other, "cover")
      #expect(cover == data)
    }
    try store.write { tx in
      try tx.rollingBack { tx in try tx.setData(made.other, "cover", staged) }
      try tx.savepoint { tx in try tx.setData(made.photos[5], "image", staged) }
      try tx.rollingBack { tx in
        try tx.setData(made.photos[6], "image", staged)
        try tx.set(made.photos[5], "image", nil)
      }
    }
    #expect(try store.data(made.photos[5], "image") == data && store.data(made.photos[6], "image") == nil)
    #expect(try store.blobCounts().pending == 0 && store.blobCounts().staged == 0)
    try checked(store)
    try store.write { tx in try tx.setData(made.other, "cover", staged) }
    try store.delete([made.photos[5]])
    #expect(try store.data(made.other, "cover") == data)
    try checked(store)
    // Its last reference is removed in a savepoint that is rolled back; it can still be used.
    try store.write { tx in
      try tx.rollingBack { tx in try tx.set(made.other, "cover", nil) }
      try tx.setData(made.photos[7], "image", staged)
    }
    #expect(try store.data(made.photos[7], "image") == data)
    try checked(store)
  }

  @Test("a staged upload that only a rolled-back savepoint used is swept like one that nothing used")
  func sweptBlobs() throws {
    let none = try store.blobCounts()
    do {
      let staged = try store.stageBlob { writer in try writer.append(Data(repeating: 1, count: 2 << 20)) }
      try store.write { tx in try tx.rollingBack { tx in try tx.setData(made.other, "cover", staged) } }
    }
    try test.reopen(options: .tracking())
    #expect(try store.blobCounts() == none)
    try checked(store)
  }

  // MARK: Derived and transient values

  @Test("derived attributes and counts are computed from the remaining changes")
  func derived() throws {
    let sum = AttributeValue.integer(Int64((0..<30).reduce(0, +)))
    try expectUndone { tx in
      try tx.set(made.photos[0], "size", 1000)
      try tx.delete(Array(made.photos[1..<4]))
      try tx.set(made.album, "title", "other")
      try tx.link(made.other, "photos", [made.photos[10]])
      let total = try tx.value(made.other, "total")
      #expect(total == 10 || total == 0)
    }
    #expect(try store.value(made.album, "total") == sum && store.value(made.album, "photoCount") == 30)
    try store.write { tx in
      try tx.set(made.photos[0], "size", 100)
      try tx.rollingBack { tx in
        try tx.set(made.photos[0], "size", 1000)
        try tx.set(made.photos[1], "size", 1000)
        try tx.set(made.album, "title", "lost")
      }
      try tx.savepoint { tx in try tx.set(made.other, "title", "third") }
      try tx.rollingBack { tx in try tx.link(made.other, "photos", made.photos) }
      try tx.link(made.other, "photos", [made.photos[29]])
    }
    #expect(try store.value(made.album, "total") == .integer(Int64((0..<29).reduce(100, +))))
    #expect(try store.value(made.other, "total") == 29 && store.value(made.other, "photoCount") == 1)
    #expect(try store.value(made.photos[29], "albumTitle") == "third")
    #expect(try store.found("Photo", "albumTitle == 'third'") == [made.photos[29]])
    #expect(try store.found("Photo", "albumTitle == 'lost'").isEmpty)
    #expect(try store.count(made.album, "photos") == 29)
    try checked(store)
  }

  @Test("transient values: those from before are there again, those of the savepoint are not")
  func transients() throws {
    try store.write { tx in
      try tx.set(made.album, "draft", "before")
      try tx.rollingBack { tx in
        let draft = try tx.value(made.album, "draft")
        #expect(draft == "before")
        try tx.set(made.album, "draft", "inside")
        try tx.set(made.other, "draft", "inside")
      }
      let drafts = [try tx.value(made.album, "draft"), try tx.value(made.other, "draft")]
      #expect(drafts == ["before", nil])
      try tx.savepoint { tx in try tx.set(made.other, "draft", "kept") }
      let kept = try tx.value(made.other, "draft")
      #expect(kept == "kept")
      // A savepoint that changes none of them.
      try tx.rollingBack { _ in }
      let after = [try tx.value(made.album, "draft"), try tx.value(made.other, "draft")]
      #expect(after == ["before", "kept"])
    }
  }

  // MARK: History

  @Test("the history contains what was kept, and nothing that was rolled back")
  func history() throws {
    let (kept, last) = try store.write { tx in
      tx.author = "importer"
      tx.operation = "lines"
      let kept = try tx.insert("Marker", ["label": "kept"])
      try tx.rollingBack { tx in
        try tx.insert("Marker")
        try tx.set(kept, "label", "lost")
        try tx.set(made.other, "title", "lost")
        try tx.delete([made.photos[0], made.tags[0]])
      }
      try tx.savepoint { tx in
        try tx.set(made.album, "tick", 4)
        try tx.delete([made.photos[29]])
      }
      return (kept, try tx.insert("Marker", ["label": "last"]))
    }
    let told = try #require(try store.history().last)
    #expect(told.author == "importer" && told.operation == "lines")
    #expect(told.insertedCount == 2 && told.updatedCount == 1 && told.deletedCount == 1)
    #expect(try Set(told.insertedIDs()) == [kept, last] && told.deletedIDs() == [made.photos[29]])
    let properties = try told.updatedProperties()
    #expect(Set(properties.keys) == [made.album])
    #expect(properties[made.album].map { Set($0).isSuperset(of: ["tick", "photos"]) } == true)
    try checked(store)
  }

  @Test("a property that was changed before the savepoint is in the history, also if the savepoint changed it again")
  func historyOfChangedTwice() throws {
    try store.write { tx in
      try tx.set(made.album, "tick", 1)
      try tx.rollingBack { tx in try tx.setAttributes(made.album, ["tick": 2, "title": "lost"]) }
      try tx.delete([made.photos[0]])
      try tx.rollingBack { tx in try tx.delete([made.photos[1]]) }
    }
    let told = try #require(try store.history().last)
    #expect(try told.deletedIDs() == [made.photos[0]])
    #expect(try told.updatedProperties()[made.album].map(Set.init)?.contains("title") == false)
    #expect(try told.updatedProperties()[made.album].map(Set.init)?.contains("tick") == true)
    try checked(store)
  }

  @Test("deletions so many that the history writes them as they come")
  func manyDeletions() throws {
    let ids = try store.insert("Marker", count: 10_000)
    try expectUndone { tx in try tx.delete(ids) }
    try store.write { tx in
      try tx.delete(Array(ids[..<5000]))
      try tx.rollingBack { tx in try tx.delete(Array(ids[5000...])) }
      try tx.delete([ids[9999]])
    }
    #expect(try Set(store.lastTransaction().deletedIDs()) == Set(ids[..<5000] + [ids[9999]]))
    try checked(store)
  }

  @Test("batches")
  func batches() throws {
    try expectUndone { tx in
      _ = try tx.batchInsert("Marker", (0..<50).map { ["label": .string("\($0)")] })
      _ = try tx.batchUpdate(FetchRequest("Photo"), propertiesToUpdate: ["size": 3])
      _ = try tx.batchDelete(FetchRequest("Tag"))
      _ = try tx.batchDelete(FetchRequest("Album"))
    }
  }
}
