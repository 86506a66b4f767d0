import Foundation
import KVClone
import KVCloneTestSupport
import Testing

/// Rules R9 to R14: the targets of the clones' links, and their effects on outside objects.
@Suite("Clone rules: links")
struct CloneRulesEdgeTests {
  /// Albums own photos; photos relate to each other and to tags, which keep them in order.
  static func albums(tagLimit: Int = 0, userInfo: [String: String] = [:]) -> ManagedObjectModel {
    ManagedObjectModel("Albums") {
      EntityDescription("Album") {
        AttributeDescription("name", .string)
        RelationshipDescription("photos", toMany: "Photo", inverse: "album")
        RelationshipDescription("cover", toOne: "Photo", inverse: "coverOf")
      }
      EntityDescription("Photo") {
        AttributeDescription("name", .string)
        RelationshipDescription("album", toOne: "Album", inverse: "photos", userInfo: userInfo)
        RelationshipDescription("coverOf", toMany: "Album", inverse: "cover")
        RelationshipDescription("related", toMany: "Photo", inverse: "relatedBy")
        RelationshipDescription("relatedBy", toMany: "Photo", inverse: "related", ordered: true)
        RelationshipDescription("tags", toMany: "Tag", inverse: "photos", ordered: true)
        RelationshipDescription("place", toOne: "Place", inverse: "photos")
      }
      EntityDescription("Tag") {
        AttributeDescription("name", .string)
        RelationshipDescription("photos", toMany: "Photo", inverse: "tags", ordered: true, max: tagLimit)
      }
      EntityDescription("Place") { RelationshipDescription("photos", toMany: "Photo", inverse: "place", max: 3) }
    }
  }

  let fixture: CloneStore

  init() throws { fixture = try CloneStore(Self.albums()) }

  /// Inserts an album with photos named 0, 1, 2 …
  private func album(_ count: Int) throws -> (album: ObjectID, photos: [ObjectID]) {
    let album = try fixture.insert("Album", ["name": "album"])
    return (album, try fixture.insertMany(count, "Photo", ["album": [album]]))
  }

  // MARK: R9, R10

  @Test("R9 a stopped link inside leads to the clone", .tags(.r9))
  func r9_inside() throws {
    let (album, photos) = try album(3)
    try fixture.set(album, "cover", [photos[2]])
    try fixture.set(photos[0], "related", [photos[1], photos[2]])
    let result = try fixture.clone([album])
    let clones = try fixture.members(result.root, "photos")
    #expect(try fixture.toOne(result.root, "cover") == clones[2])
    #expect(try fixture.members(clones[2], "coverOf") == [result.root])
    #expect(try fixture.members(clones[0], "related") == [clones[1], clones[2]])
    #expect(try fixture.members(clones[1], "relatedBy") == [clones[0]])
    #expect(try fixture.members(photos[1], "relatedBy") == [photos[0]])
    #expect(try fixture.members(photos[2], "coverOf") == [album])
    #expect(result.affectedObjectCount == 0)
  }

  @Test("R9 a stopped link to the outside is shared, and its inverse gains the clone", .tags(.r9))
  func r9_outside() throws {
    let (album, photos) = try album(2)
    let (_, others) = try self.album(1)
    try fixture.set(album, "cover", [others[0]])
    try fixture.set(photos[0], "related", [photos[1], others[0]])
    let result = try fixture.clone([album])
    let clones = try fixture.members(result.root, "photos")
    #expect(try fixture.toOne(result.root, "cover") == others[0])
    #expect(try fixture.members(others[0], "coverOf") == [album, result.root])
    #expect(try fixture.members(clones[0], "related") == [others[0], clones[1]])
    #expect(try fixture.members(others[0], "relatedBy") == [photos[0], clones[0]])
    #expect(result.affectedObjectIDs == [others[0]])
  }

  @Test("R10 with keepOriginal a stopped link keeps its target, and the source gains the clone", .tags(.r10))
  func r10_keepOriginal() throws {
    let (album, photos) = try album(2)
    let place = try fixture.insert("Place", [:], ["photos": [photos[0]]])
    try fixture.set(album, "cover", [photos[1]])
    let result = try fixture.clone([album, place], .with { $0.references = .keepOriginal })
    let clones = try fixture.members(result.root, "photos")
    #expect(try clones.map { try fixture.toOne($0, "album") } == [result.root, result.root])
    // Stopped from the album and from the photo, but followed from their inverses, which are to-one (R7).
    #expect(try fixture.toOne(result.root, "cover") == clones[1])
    #expect(try fixture.toOne(clones[0], "place") == result.roots[1])
    #expect(result.affectedObjectCount == 0)
    // If the inverse is stopped too, the cover's clone would keep the album, which has a cover (R13).
    let keeping = CloneOptions.with {
      $0.references = .keepOriginal
      $0.rules = ["Photo.coverOf": .reference]
    }
    try fixture.expectRefusal(.inverseTaken, [album], keeping, property: "cover")
  }

  @Test("R10 many-to-many between sources: each clone joins the other's source", .tags(.r10))
  func r10_bothEnds() throws {
    let (album, photos) = try album(2)
    try fixture.set(photos[0], "related", [photos[1]])
    let result = try fixture.clone([album], .with { $0.references = .keepOriginal })
    let clones = try fixture.members(result.root, "photos")
    #expect(try fixture.members(photos[0], "related") == [photos[1], clones[1]])
    #expect(try fixture.members(clones[1], "relatedBy") == [photos[0]])
    #expect(try fixture.members(clones[1], "related") == [])
    #expect(result.affectedObjectIDs == photos)
  }

  // MARK: R11

  @Test("R11 an excluded link is not made, unless it is followed from its other end", .tags(.r11))
  func r11_excluded() throws {
    let fixture = try CloneStore(Self.albums(userInfo: ["exclude": ""]))
    let album = try fixture.insert("Album")
    let photos = try fixture.insertMany(2, "Photo", ["album": [album]])
    let alone = try fixture.clone([photos[0]]).root
    #expect(try fixture.toOne(alone, "album") == nil)
    #expect(try fixture.members(album, "photos") == photos)
    let clone = try fixture.clone([album]).root
    let clones = try fixture.members(clone, "photos")
    #expect(clones.count == 2)
    #expect(try clones.map { try fixture.toOne($0, "album") } == [clone, clone])
  }

  @Test("R11 exclusion is stronger than a stop from the other end", .tags(.r11))
  func r11_overStopped() throws {
    let (album, photos) = try album(2)
    try fixture.set(photos[0], "related", [photos[1]])
    // Seen from photos[0] the link is excluded, from photos[1] it is stopped: it is not created.
    let clone = try fixture.clone([album], .excluding("Photo.related")).root
    let clones = try fixture.members(clone, "photos")
    #expect(try fixture.members(clones[0], "related") == [])
    #expect(try fixture.members(clones[1], "relatedBy") == [])
    // Only relationships of sources are considered: photos[1] is outside here, and has no influence.
    let alone = try fixture.clone([photos[0]], .excluding("Photo.relatedBy")).root
    #expect(try fixture.members(alone, "related") == [photos[1]])
    #expect(try fixture.members(photos[1], "relatedBy") == [photos[0], alone])
  }

  // MARK: R12

  @Test("R12 an ordered to-many keeps its order, position by position", .tags(.r12))
  func r12_order() throws {
    let tags = try fixture.insertMany(5, "Tag")
    let order = [3, 0, 4, 1, 2].map { tags[$0] }
    let photo = try fixture.insert("Photo", ["name": "p"])
    try fixture.set(photo, "tags", order)
    let clone = try fixture.clone([photo]).root
    #expect(try fixture.members(clone, "tags") == order)
    // If followed, the clones have the same order.
    let second = try fixture.clone([photo], .rules(["Photo.tags": .follow, "Tag.photos": .skip])).root
    #expect(try fixture.names(second, "tags") == ["3", "0", "4", "1", "2"])
    #expect(Set(try fixture.members(second, "tags")).isDisjoint(with: tags))
  }

  @Test("R12 in an outside object's ordered inverse, clones are at the end in their sources' order", .tags(.r12))
  func r12_outsideInverse() throws {
    let (album, photos) = try album(4)
    let stranger = try fixture.insert("Photo", ["name": "stranger"])
    let tag = try fixture.insert("Tag")
    let order = [photos[2], stranger, photos[0], photos[3], photos[1]]
    try fixture.set(tag, "photos", order)
    let result = try fixture.clone([album])
    #expect(try Array(fixture.members(tag, "photos").prefix(5)) == order)
    #expect(try fixture.names(tag, "photos") == ["2", "stranger", "0", "3", "1", "2", "0", "3", "1"])
    let clones = try fixture.members(result.root, "photos")
    #expect(try Array(fixture.members(tag, "photos").dropFirst(5)) == [2, 0, 3, 1].map { clones[$0] })
  }

  // MARK: R13

  @Test("R13 objects that the operation changes are reported", .tags(.r13))
  func r13_touched() throws {
    let (album, photos) = try album(2)
    let tags = try fixture.insertMany(3, "Tag")
    try fixture.set(photos[0], "tags", [tags[2], tags[0]])
    try fixture.set(photos[1], "tags", [tags[2]])
    let place = try fixture.insert("Place", [:], ["photos": [photos[1]]])
    let before = try fixture.store.read { tx in try tx.object(tags[1]).commit }
    let result = try fixture.clone([album])
    #expect(result.affectedObjectCount == 3)
    #expect(result.affectedObjectIDs == [tags[0], tags[2], place].sorted())
    #expect(try fixture.store.planClone([album]).affectedObjectIDs == result.affectedObjectIDs)
    #expect(try fixture.store.read { tx in try tx.object(tags[1]).commit } == before)
  }

  @Test("R13 a maximum count that would be exceeded", .tags(.r13), arguments: [1, 2])
  func r13_maxCount(photosHere: Int) throws {
    let (album, photos) = try album(2)
    let (_, others) = try self.album(1)
    let place = try fixture.insert("Place", [:], ["photos": photosHere == 1 ? [photos[0]] : photos + others])
    if photosHere == 1 {
      // 1 + 1 of 3.
      try fixture.clone([album])
      #expect(try fixture.members(place, "photos").count == 2)
    } else {
      // 3 + 2 of 3.
      try fixture.expectRefusal(.maxCountExceeded, [album], property: "photos")
    }
  }

  @Test("R13 a maximum count is checked for ordered inverses too", .tags(.r13))
  func r13_maxCountOrdered() throws {
    let fixture = try CloneStore(Self.albums(tagLimit: 5))
    let album = try fixture.insert("Album")
    let photos = try fixture.insertMany(3, "Photo", ["album": [album]])
    let tag = try fixture.insert("Tag", [:], ["photos": Array(photos.prefix(2))])
    try fixture.clone([album])
    #expect(try fixture.members(tag, "photos").count == 4)
    try fixture.expectRefusal(.maxCountExceeded, [album], property: "photos")
  }

  @Test("R13 a to-one inverse that would be taken away", .tags(.r13))
  func r13_inverseTaken() throws {
    let (album, _) = try album(2)
    try fixture.expectRefusal(.inverseTaken, [album], .rules(["Album.photos": .reference]))
    // Without members nothing would be taken over.
    let empty = try fixture.insert("Album")
    #expect(try fixture.clone([empty], .rules(["Album.photos": .reference])).objectCount == 1)
  }

  // MARK: R14

  private static func required(optional: Bool, min: Int) -> ManagedObjectModel {
    ManagedObjectModel("Required") {
      EntityDescription("Team") {
        RelationshipDescription("members", toMany: "Member", inverse: "team", optional: optional, min: min)
        RelationshipDescription("captain", toOne: "Member", inverse: "captainOf", optional: optional)
      }
      EntityDescription("Member") {
        RelationshipDescription("team", toOne: "Team", inverse: "members")
        RelationshipDescription("captainOf", toMany: "Team", inverse: "captain")
      }
    }
  }

  private func team(in fixture: CloneStore) throws -> (team: ObjectID, members: [ObjectID]) {
    try fixture.store.write { tx in
      let members = [try tx.insert("Member"), try tx.insert("Member")]
      return (try tx.insert("Team", relationships: ["members": members, "captain": [members[0]]]), members)
    }
  }

  @Test("R14 exclusions that leave a required relationship or a minimum count unmet", .tags(.r14))
  func r14_required() throws {
    let fixture = try CloneStore(Self.required(optional: false, min: 2))
    let (team, members) = try team(in: fixture)
    try fixture.expectRefusal(
      .requiredRelationshipExcluded, [team], .excluding("members"), entity: "Team", property: "members", object: team)
    try fixture.expectRefusal(
      .requiredRelationshipExcluded, [team], .rules(["Team.captain": .skip, "Member.captainOf": .skip]), entity: "Team",
      property: "captain", object: team)
    // The captain is cloned as a member, and follows the link from its inverse, so R11 creates it.
    let clone = try fixture.clone([team], .excluding("captain")).root
    #expect(try fixture.toOne(clone, "captain") == fixture.members(clone, "members")[0])
    // A member may be cloned without its team.
    #expect(try fixture.clone([members[1]], .excluding("team")).objectCount == 1)
    try fixture.clone([team])
  }

  @Test("R14 an optional relationship may be empty whatever its minimum", .tags(.r14))
  func r14_optional() throws {
    let fixture = try CloneStore(Self.required(optional: true, min: 2))
    let (team, _) = try team(in: fixture)
    let clone = try fixture.clone([team], .excluding("members", "captain")).root
    #expect(try fixture.members(clone, "members") == [] && fixture.toOne(clone, "captain") == nil)
  }

  @Test("R14 but not have fewer members than the minimum", .tags(.r14))
  func r14_tooFew() throws {
    let fixture = try CloneStore(Self.required(optional: true, min: 2))
    let (team, members) = try team(in: fixture)
    // The link to the first member is followed from its inverse, that to the second one excluded.
    let options = CloneOptions.with {
      $0.excludedRelationshipNames = ["members", "captain"]
      $0.rules = ["Member.team": .follow]
    }
    try fixture.expectRefusal(.requiredRelationshipExcluded, [team, members[0]], options, property: "members")
    let both = try fixture.clone([team] + members, options)
    #expect(try fixture.members(both.root, "members") == Array(both.roots.dropFirst()))
  }
}
