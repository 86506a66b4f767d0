import Foundation
import KVCloneLMDB
import KVCloneRecords
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations
@testable import KVCloneQuery

private let faultModel = ManagedObjectModel("Faults") {
  EntityDescription("Album") {
    AttributeDescription("title", .string)
    AttributeDescription("tick", .integer64, default: 0)
    RelationshipDescription("photos", toMany: "Photo", inverse: "album", ordered: true, deleteRule: .cascade)
    RelationshipDescription("tags", toMany: "Tag", inverse: "albums")
  }
  EntityDescription("Photo", unique: [["code"]]) {
    AttributeDescription("code", .integer64)
    AttributeDescription("image", .binary)
    RelationshipDescription("album", toOne: "Album", inverse: "photos")
    RelationshipDescription("likes", toMany: "Tag")
  }
  EntityDescription("Tag") {
    AttributeDescription("name", .string)
    RelationshipDescription("albums", toMany: "Album", inverse: "tags")
  }
}

/// One call of storage fails, each in turn: every operation of the store then throws, preserves the last committed
/// state, and can be repeated.
@Suite("Storage that fails at any call", .serialized)
struct StorageFaultTests {
  /// One operation of the scenario. Each commits once.
  struct Step: Sendable {
    let name: String
    let run: @Sendable (ObjectStore) throws -> Void
  }

  static let steps: [Step] = [
    Step(name: "insert") { store in
      try store.write { tx in
        let album = try tx.insert("Album", ["title": "first"])
        for code in 0..<3 {
          try tx.insert("Photo", ["code": .integer(Int64(code))], relationships: ["album": [album]])
        }
        for name in 0..<20 { try tx.insert("Tag", ["name": .string("t\(name)")]) }
      }
    },
    Step(name: "long lists") { store in
      let (albums, photos, tags) = try store.cast()
      try store.write { tx in
        try tx.setMembers(albums[0], "tags", tags)
        try tx.setMembers(photos[0], "likes", Array(tags[..<18]))
        var more: [ObjectID] = []
        for code in 100..<118 { more.append(try tx.insert("Photo", ["code": .integer(Int64(code))])) }
        try tx.link(albums[0], "photos", more, at: 1)
      }
    },
    Step(name: "move and unlink") { store in
      let (albums, photos, tags) = try store.cast()
      try store.write { tx in
        try tx.link(albums[0], "photos", [photos[photos.count - 1]], at: 0)
        try tx.unlink(albums[0], "tags", Array(tags[..<15]))
        try tx.set(photos[1], "code", 77)
      }
    },
    Step(name: "images") { store in
      let (_, photos, _) = try store.cast()
      try store.write { tx in
        try tx.set(photos[0], "image", .binary(Data(repeating: 1, count: 5000)))
        try tx.setData(photos[1], "image") { writer in try writer.append(Data(repeating: 2, count: 70_000)) }
      }
    },
    Step(name: "change through lists") { store in
      let (albums, _, _) = try store.cast()
      try store.write { tx in
        for photo in try tx.members(albums[0], "photos") { try tx.set(photo, "code", nil) }
      }
    },
    Step(name: "clone of its own") { store in
      let (albums, _, _) = try store.cast()
      _ = try store.clone([albums[0]])
    },
    Step(name: "clone within a transaction") { store in
      let (albums, _, _) = try store.cast()
      try store.write { tx in
        _ = try tx.clone([albums[0]])
        try tx.set(albums[0], "title", "cloned twice")
      }
    },
    Step(name: "load") { store in
      let lines = [
        #"{"id":"Album/1","attributes":{"title":"loaded"},"relationships":{"photos":["Photo/1","Photo/2"]}}"#,
        #"{"id":"Photo/1","attributes":{"code":900}}"#, #"{"id":"Photo/2","attributes":{"code":901}}"#,
      ]
      var isDone = false
      _ = try store.load { buffer in
        if isDone { return false }
        buffer.append(contentsOf: Array(lines.joined(separator: "\n").utf8))
        isDone = true
        return true
      }
    },
    Step(name: "delete") { store in
      let (albums, _, _) = try store.cast()
      _ = try store.write { tx in try tx.delete([albums[0]]) }
    },
    Step(name: "snapshot") { store in try store.createSnapshot(named: "one") },
    Step(name: "change under a snapshot, and another one") { store in
      let (albums, photos, tags) = try store.cast()
      try store.write { tx in
        try tx.set(albums[0], "title", "changed")
        try tx.setMembers(albums[0], "tags", tags)
        for photo in photos { try tx.setData(photo, "image") { try $0.append(Data(repeating: 3, count: 5000)) } }
        try tx.createSnapshot(named: "two")
        try tx.delete([albums[1], photos[photos.count - 1]])
        try tx.insert("Album", relationships: ["tags": tags])
      }
    },
    Step(name: "clone from a snapshot") { store in
      let one = try store.snapshot(named: "one")
      let albums = try one.read { tx in try tx.fetchIDs(FetchRequest("Album")) }
      _ = try store.clone([albums[1]], from: one)
    },
    Step(name: "rollback of an object") { store in
      let one = try store.snapshot(named: "one")
      let albums = try one.read { tx in try tx.fetchIDs(FetchRequest("Album")) }
      try store.rollback(to: one, objects: [albums[1]])
    },
    Step(name: "rollback") { store in try store.rollback(to: try store.snapshot(named: "one")) },
    Step(name: "delete a snapshot") { store in try store.deleteSnapshot(named: "two") },
    Step(name: "delete the others") { store in try store.deleteSnapshots(named: try store.snapshots().map(\.name)) },
  ]

  @Test("each call of each operation, in memory")
  func memory() throws {
    let inner = MemoryStorage()
    let sound = try ObjectStore.create(in: inner, model: faultModel)
    try run(sound, FaultyEngine(inner), every: 1, upTo: 60, then: 29)
  }

  @Test("a sample of the calls, on LMDB")
  func lmdb() throws {
    let root = try temporaryDirectory()
    defer { try? FileManager.default.removeItem(atPath: root) }
    let inner = LMDBEngine(try LMDBEnvironment.create(at: root + "/store", tables: []))
    let sound = try ObjectStore.create(in: inner, model: faultModel)
    defer { sound.close() }
    try run(sound, FaultyEngine(inner, kind: .diskFull), every: 11, upTo: 200, then: 97)
  }

  private func run(_ sound: ObjectStore, _ faulty: FaultyEngine, every: Int, upTo: Int, then: Int) throws {
    let store = try StoreOpening.assemble(faulty, path: "faulty", model: nil, options: StoreOptions())
    var faults: [FaultyEngine.Call: Int] = [:]
    for step in Self.steps {
      var number = 1
      while true {
        let before = try sound.digest()
        faulty.arm(number)
        var thrown: (any Error)?
        do { try step.run(store) } catch { thrown = error }
        let fired = faulty.fired
        faulty.arm(nil)
        let place = "\(step.name), call \(number): \(fired?.rawValue ?? "no fault")"
        guard let fired else {
          if let thrown { Issue.record("\(place): \(thrown)") }
          #expect(try sound.digest() != before, "\(place)")
          break
        }
        faults[fired, default: 0] += 1
        #expect(thrown is any KVCloneError, "\(place): \(String(describing: thrown))")
        #expect(try sound.digest() == before, "\(place): something was committed")
        let damages = try sound.check(CheckOptions(readData: true)).issues
        #expect(damages.isEmpty, "\(place): \(damages.prefix(3).map(\.message))")
        // The next write succeeds, through the same store.
        if let album = try sound.objects("Album").first { try store.set(album, "tick", .integer(Int64(number))) }
        number += number < upTo ? every : then
      }
      try checked(sound)
    }
    let missing = FaultyEngine.Call.allCases.filter { faults[$0] == nil }
    if every == 1 { #expect(missing.isEmpty, "never failed: \(missing)") }
  }
}

extension ObjectStore {
  /// Albums, photos of the first album in order or else all, and tags, by age.
  fileprivate func cast() throws -> (albums: [ObjectID], photos: [ObjectID], tags: [ObjectID]) {
    (try objects("Album"), try objects("Photo"), try objects("Tag"))
  }

  /// A number for the whole committed content.
  fileprivate func digest() throws -> Int {
    let codes = TableCode.fixed + schema.rootCodes.map { TableCode.objects(rootCode: $0) }
    let transaction = StorageTransaction(try engine.beginRead())
    var hasher = Hasher()
    for table in try engine.openTables(codes, create: false) {
      for entry in try transaction.entries(table) {
        hasher.combine(table.code)
        hasher.combine(entry.key)
        hasher.combine(entry.value)
      }
    }
    return hasher.finalize()
  }
}
