import Foundation
import KVClone
import KVCloneTestSupport
import Testing

@testable import KVCloneCore
@testable import KVCloneOperations
@testable import KVCloneQuery

let savepointModel = ManagedObjectModel("Savepoints") {
  EntityDescription("Album", indexes: [fetchIndex("title"), fetchIndex("owner", "-tick")]) {
    AttributeDescription("title", .string)
    AttributeDescription("tick", .integer64, default: 0)
    AttributeDescription("cover", .binary)
    AttributeDescription("draft", .string, transient: true)
    AttributeDescription("photoCount", .integer64, derivation: "photos.@count")
    AttributeDescription("total", .integer64, derivation: "photos.@sum.size")
    RelationshipDescription("photos", toMany: "Photo", inverse: "album", ordered: true, deleteRule: .cascade)
    RelationshipDescription("tags", toMany: "Tag", inverse: "albums")
    RelationshipDescription("owner", toOne: "Person", inverse: "albums")
    RelationshipDescription("markers", toMany: "Marker", inverse: "album", ordered: true)
  }
  EntityDescription("Photo", unique: [["code"]], indexes: [fetchIndex("size"), fetchIndex("albumTitle")]) {
    AttributeDescription("code", .integer64)
    AttributeDescription("size", .integer32)
    AttributeDescription("image", .binary)
    AttributeDescription("albumTitle", .string, derivation: "album.title")
    RelationshipDescription("album", toOne: "Album", inverse: "photos")
    RelationshipDescription("likes", toMany: "Tag", ordered: true)
  }
  EntityDescription("Raw", parent: "Photo") { AttributeDescription("camera", .string) }
  EntityDescription("Tag", unique: [["name"]]) {
    AttributeDescription("name", .string, optional: false)
    RelationshipDescription("albums", toMany: "Album", inverse: "tags")
  }
  EntityDescription("Person") {
    AttributeDescription("name", .string)
    RelationshipDescription("albums", toMany: "Album", inverse: "owner", deleteRule: .deny)
    RelationshipDescription("next", toOne: "Person", inverse: "previous", deleteRule: .noAction)
    RelationshipDescription("previous", toOne: "Person", inverse: "next")
  }
  EntityDescription("Marker", indexes: [fetchIndex("label")]) {
    AttributeDescription("label", .string)
    RelationshipDescription("album", toOne: "Album", inverse: "markers")
  }
}

struct SavepointRefusal: Error {}

extension WriteTransaction {
  /// Runs `body` in a savepoint that is rolled back at its end.
  mutating func rollingBack(
    sourceLocation: SourceLocation = #_sourceLocation, _ body: (inout WriteTransaction) throws -> Void
  ) throws {
    do {
      try savepoint { tx in
        try body(&tx)
        throw SavepointRefusal()
      }
      Issue.record("the savepoint swallowed the error of its body", sourceLocation: sourceLocation)
    } catch is SavepointRefusal {}
  }

  /// Begins a savepoint with a body that must not run.
  ///
  /// - Returns: the kind of the error; nil without an error.
  mutating func refusalOfSavepoint(sourceLocation: SourceLocation = #_sourceLocation) -> StoreError.Kind? {
    do {
      try savepoint { _ in Issue.record("the body ran", sourceLocation: sourceLocation) }
      return nil
    } catch {
      return (error as? StoreError)?.kind
    }
  }
}

/// The objects of a store of `savepointModel`: lists of several chunks, a large value, links without an inverse.
struct SavepointFixture: Sendable {
  /// Has all photos and 20 tags; the first person owns it.
  let album: ObjectID
  /// Has two tags and no photo.
  let other: ObjectID
  let photos: [ObjectID]
  let tags: [ObjectID]
  /// Each is followed by the next one.
  let people: [ObjectID]

  static let coverSize = 5000

  static func bytes(_ byte: UInt8, count: Int = coverSize) -> AttributeValue {
    .binary(Data(repeating: byte, count: count))
  }

  init(_ store: ObjectStore) throws {
    (album, other, photos, tags, people) = try store.write { tx in
      let people = try (0..<3).map { try tx.insert("Person", ["name": .string("person \($0)")]) }
      for (person, next) in zip(people, people.dropFirst()) { try tx.setToOne(person, "next", next) }
      let tags = try (0..<40).map { try tx.insert("Tag", ["name": .string("tag \($0)")]) }
      let album = try tx.insert(
        "Album", ["title": "first", "cover": Self.bytes(1)],
        relationships: ["tags": Array(tags[..<20]), "owner": [people[0]]])
      let other = try tx.insert("Album", ["title": "second"], relationships: ["tags": Array(tags[..<2])])
      var photos: [ObjectID] = []
      for number in 0..<30 {
        let value = AttributeValue.integer(Int64(number))
        let likes = number < 3 ? [tags[30], tags[31]] : []
        photos.append(
          try tx.insert(
            number % 5 == 4 ? "Raw" : "Photo", ["code": value, "size": value],
            relationships: ["album": [album], "likes": likes]))
      }
      try tx.set(photos[0], "image", Self.bytes(2))
      try tx.set(photos[1], "image", try tx.value(photos[0], "image"))
      try tx.insert("Marker", ["label": "old"], relationships: ["album": [album]])
      return (album, other, photos, tags, people)
    }
  }
}

extension ObjectStore {
  /// The objects that match a predicate, read from an index if possible.
  func found(_ entity: String, _ format: String) throws -> [ObjectID] {
    try read { tx in try tx.found(entity, format) }
  }

  /// The last transaction of the history.
  func lastTransaction() throws -> HistoryTransaction { try #require(try history().last) }

  /// The whole content of the store, a line for each object.
  func lines() throws -> [String] {
    var bytes: [UInt8] = []
    _ = try dump { span in span.withUnsafeBytes { bytes.append(contentsOf: $0) } }
    let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    return lines.filter { !$0.hasPrefix(#"{"kvclone""#) }
  }
}

extension ObjectReading where Self: ~Copyable {
  /// The objects that match a predicate; an index and a scan must return the same.
  borrowing func found(_ entity: String, _ format: String) throws -> [ObjectID] {
    let request = FetchRequest(entity, predicate: try QueryPredicate(format: format))
    let ids = try self.ids(request, .always).sorted()
    let scanned = try self.ids(request, .never).sorted()
    #expect(ids == scanned, "\(entity) where \(format)")
    return ids
  }
}
