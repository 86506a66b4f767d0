import Foundation
import KVClone
import KVCloneRecords
import KVCloneTestSupport
import Testing

@testable import KVCloneCore

private let houseModel = ManagedObjectModel("Houses") {
  EntityDescription("House") {
    RelationshipDescription("rooms", toMany: "Room", inverse: "house", deleteRule: .cascade)
    RelationshipDescription("tenants", toMany: "Tenant", inverse: "house", deleteRule: .deny)
    RelationshipDescription("street", toOne: "Street", inverse: "houses")
    RelationshipDescription("photo", toOne: "Photo", deleteRule: .cascade)
    RelationshipDescription("insurer", toOne: "Street", deleteRule: .noAction)
    RelationshipDescription("neighbours", toMany: "House", inverse: "neighbours", deleteRule: .noAction)
  }
  EntityDescription("Room") {
    AttributeDescription("plan", .binary)
    RelationshipDescription("house", toOne: "House", inverse: "rooms", optional: false)
    RelationshipDescription("door", toOne: "Room", inverse: "doors", deleteRule: .cascade)
    RelationshipDescription("doors", toMany: "Room", inverse: "door", deleteRule: .cascade)
  }
  EntityDescription("Tenant") { RelationshipDescription("house", toOne: "House", inverse: "tenants") }
  EntityDescription("Street") { RelationshipDescription("houses", toMany: "House", inverse: "street", ordered: true) }
  EntityDescription("Photo") { AttributeDescription("data", .binary) }
  EntityDescription("Album") {
    RelationshipDescription("photos", toMany: "Photo", ordered: true)
    RelationshipDescription("cover", toOne: "Photo", optional: false)
  }
}

@Suite("Deleting objects by the delete rules")
struct DeleteTests {
  let test: TestStore
  var store: ObjectStore { test.store }

  init() throws { test = try TestStore(houseModel) }

  @Test("nullify lets the members go")
  func nullify() throws {
    let houses = try store.insert("House", count: 3)
    let street = try store.insert("Street", relationships: ["houses": [houses[2], houses[0], houses[1]]])
    #expect(try store.delete([houses[0]]) == 1)
    #expect(try store.members(street, "houses") == [houses[2], houses[1]])
    #expect(try store.delete([street]) == 1)
    #expect(try store.toOne(houses[1], "street") == nil)
    #expect(try store.objects("House") == [houses[1], houses[2]])
    try checked(store)
  }

  @Test("cascade takes members along, and theirs")
  func cascade() throws {
    let house = try store.insert("House")
    let rooms = try store.write { tx in
      var rooms: [ObjectID] = []
      for _ in 0..<40 { rooms.append(try tx.insert("Room", relationships: ["house": [house]])) }
      return rooms
    }
    let photo = try store.insert("Photo")
    try store.setToOne(house, "photo", photo)
    let other = try store.insert("House")
    let kept = try store.insert("Room", relationships: ["house": [other]])
    #expect(try store.delete([house]) == 42)
    #expect(try !store.exists(house) && !store.exists(photo))
    for room in rooms { #expect(try !store.exists(room)) }
    #expect(try store.objects("Room") == [kept])
    try checked(store)
  }

  @Test("cascades go round in rings without end")
  func cascadeRing() throws {
    let house = try store.insert("House")
    let rooms = try store.write { tx in
      var rooms: [ObjectID] = []
      for _ in 0..<5 { rooms.append(try tx.insert("Room", relationships: ["house": [house]])) }
      for (index, room) in rooms.enumerated() { try tx.setToOne(room, "door", rooms[(index + 1) % 5]) }
      return rooms
    }
    #expect(try store.delete([rooms[3]]) == 5)
    #expect(try store.members(house, "rooms").isEmpty)
    let loop = try store.insert("Room", relationships: ["house": [house]])
    try store.setToOne(loop, "door", loop)
    #expect(try store.delete([loop]) == 1)
    try checked(store)
  }

  @Test("deny refuses while there are members, and nothing is deleted")
  func deny() throws {
    let house = try store.insert("House")
    let tenants = try store.insert("Tenant", count: 2)
    let room = try store.insert("Room", relationships: ["house": [house]])
    try store.setMembers(house, "tenants", tenants)
    let error = expectError(.deleteDenied) { try store.delete([room, house]) }
    #expect(error?.entity == "House" && error?.property == "tenants" && error?.object == "House/1")
    #expect(try store.exists(room) && store.exists(house))
    expectError(.deleteDenied) { try store.delete([house, tenants[0]]) }
    // Members that are deleted in the same call do not deny the delete.
    #expect(try store.delete([house] + tenants) == 4)
    try checked(store)
  }

  @Test("a refused delete leaves the transaction good")
  func denyInTransaction() throws {
    let house = try store.insert("House")
    let tenant = try store.insert("Tenant", relationships: ["house": [house]])
    try store.write { tx in
      expectError(.deleteDenied) { try tx.delete([house]) }
      try tx.unlink(house, "tenants")
      try tx.delete([house])
    }
    #expect(try store.exists(tenant) && !store.exists(house))
    try checked(store)
  }

  @Test("no action leaves no dangling link either, with an inverse or without")
  func noAction() throws {
    let houses = try store.insert("House", count: 3)
    let street = try store.insert("Street")
    try store.setToOne(houses[0], "insurer", street)
    try store.setMembers(houses[0], "neighbours", [houses[1], houses[2], houses[0]])
    #expect(try store.delete([houses[0]]) == 1)
    #expect(try store.members(houses[1], "neighbours").isEmpty)
    #expect(try store.delete([street, houses[1]]) == 2)
    try checked(store)
  }

  @Test("deleting the target of relationships without an inverse leaves no dangling link")
  func withoutInverse() throws {
    let photos = try store.insert("Photo", count: 30)
    let albums = try store.write { tx in
      var albums: [ObjectID] = []
      for _ in 0..<20 {
        albums.append(
          try tx.insert("Album", relationships: ["photos": photos.reversed(), "cover": [photos[29]]]))
      }
      return albums
    }
    let house = try store.insert("House", relationships: ["photo": [photos[3]]])
    #expect(try store.delete([photos[3], photos[5]]) == 2)
    let left = photos.enumerated().filter { $0.offset != 3 && $0.offset != 5 }.map(\.element)
    for album in albums { #expect(try store.members(album, "photos") == left.reversed()) }
    #expect(try store.toOne(house, "photo") == nil)
    // Deleted albums leave nothing behind at their photos.
    try store.delete(Array(albums[1...]))
    try store.setMembers(albums[0], "photos", [])
    try store.delete(Array(left[..<20]))
    try checked(store)
  }

  @Test("a commit validates an object whose required partner is deleted")
  func requiredPartner() throws {
    let photo = try store.insert("Photo")
    let album = try store.insert("Album", relationships: ["cover": [photo]])
    #expect(expectIssues { try store.delete([photo]) } == ["requiredRelationshipMissing Album.cover"])
    #expect(try store.exists(photo))
    #expect(try store.delete([photo, album]) == 2)
    try checked(store)
  }

  @Test("deleting missing objects, twice, or nothing")
  func edges() throws {
    let photos = try store.insert("Photo", count: 2)
    #expect(try store.delete([]) == 0)
    #expect(try store.delete([photos[0], photos[0]]) == 1)
    expectError(.objectNotFound) { try store.delete([photos[1], photos[0]]) }
    #expect(try store.exists(photos[1]))
    expectError(.objectNotFound) { try store.set(photos[0], "data", nil) }
    expectError(.objectNotFound) { _ = try store.members(photos[0], "data") }
    try checked(store)
  }

  @Test("an object inserted and deleted in one transaction leaves nothing")
  func insertedAndDeleted() throws {
    let house = try store.insert("House")
    try store.write { tx in
      // Never valid: its house is required.
      let room = try tx.insert("Room", ["plan": .binary(Data(repeating: 3, count: 3000))])
      try tx.delete([room])
      let photo = try tx.insert("Photo", ["data": .binary(Data(repeating: 4, count: 3000))])
      try tx.setToOne(house, "photo", photo)
      try tx.delete([photo])
    }
    #expect(try store.toOne(house, "photo") == nil)
    #expect(try store.blobCount() == 0)
    #expect(try store.info().objectCount == 1)
    try checked(store)
  }

  @Test("deleting everything leaves empty tables of links, blobs and indexes")
  func everything() throws {
    let test = try TestStore(societyModel)
    let store = test.store
    let people = try store.insert("Person", count: 60)
    let clubs = try store.insert("Club", count: 20)
    let tags = try store.insert("Tag", count: 30)
    try store.write { tx in
      for club in clubs { try tx.setMembers(club, "members", people) }
      for tag in tags { try tx.setMembers(tag, "people", people) }
      for person in people {
        try tx.setMembers(person, "friends", people)
        try tx.setMembers(person, "favourites", people + clubs)
      }
    }
    #expect(try store.linkCount() > 0)
    #expect(try store.delete(people + clubs + tags) == 110)
    #expect(try store.linkCount() == 0)
    #expect(try store.info().objectCount == 0)
    try checked(store)
  }
}

extension ObjectStore {
  /// The number of entries in the table of long lists and of hidden referrers.
  fileprivate func linkCount() throws -> Int {
    try read { tx in
      try tx._withSession { (session) throws(StoreError) in
        var count = 0
        let key = ShortKey.linkPrefix(owner: ObjectID(rawValue: 0))
        try session.storage.scanToEnd(of: session.schema.tables.links, from: key.bytes) { (_, _) throws(StoreError) in
          count += 1
          return true
        }
        return count
      }
    }
  }
}
