import Foundation
import KVCloneRecords
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations
@testable import KVCloneQuery

/// Two stores with the same objects run the same transaction, one with savepoints that are rolled back or kept, and one
/// without: the contents are equal afterwards.
///
/// `KVCLONE_SEEDS=7,8 KVCLONE_OPERATIONS=2000` repeats a failure, or tries more combinations.
@Suite("Savepoints: no trace is left")
struct SavepointTraceTests {
  /// A change that a transaction can make, alone or after others.
  struct Change: Sendable {
    let name: String
    /// Whether it takes no serials of objects and blobs, so that later ones are the same without it.
    var keepsSerials = true
    let run: @Sendable (inout WriteTransaction, SavepointFixture) throws -> Void
  }

  /// The changes around the savepoint.
  static let others: [Change] = [
    Change(name: "nothing") { _, _ in },
    Change(name: "updates") { tx, made in
      try tx.setAttributes(made.album, ["title": "around", "tick": 3])
      try tx.set(made.photos[0], "size", 500)
      try tx.set(made.photos[1], "code", 600)
    },
    Change(name: "links") { tx, made in
      try tx.link(made.other, "photos", [made.photos[4], made.photos[5]], at: 0)
      try tx.setMembers(made.other, "tags", Array(made.tags[3..<30]))
      try tx.setToOne(made.other, "owner", made.people[1])
      try tx.setMembers(made.photos[6], "likes", made.tags.reversed())
    },
    Change(name: "markers", keepsSerials: false) { tx, made in
      for number in 0..<3 {
        try tx.insert(
          "Marker", ["label": .string("m\(number)")], relationships: ["album": [number == 1 ? made.other : made.album]])
      }
    },
    Change(name: "deletions") { tx, made in
      try tx.delete(Array(made.photos[20..<28]) + [made.tags[0], made.tags[30]])
    },
    Change(name: "blobs", keepsSerials: false) { tx, made in
      try tx.set(made.photos[2], "image", SavepointFixture.bytes(7))
      try tx.set(made.photos[0], "image", nil)
    },
    Change(name: "author") { tx, made in
      tx.author = "around"
      try tx.set(made.other, "tick", 17)
    },
  ]

  /// The changes inside the savepoint.
  static let changes: [Change] = [
    Change(name: "insert", keepsSerials: false) { tx, made in
      let tag = try tx.insert("Tag", ["name": "new"], relationships: ["albums": [made.album, made.other]])
      try tx.insert(
        "Album", ["title": "new", "cover": SavepointFixture.bytes(3)],
        relationships: ["photos": Array(made.photos[2..<9]), "tags": [tag, made.tags[1]], "owner": [made.people[2]]])
      try tx.insert("Raw", ["code": 900], relationships: ["album": [made.album], "likes": [tag]])
    },
    Change(name: "invalid insert", keepsSerials: false) { tx, made in
      try tx.insert("Tag", relationships: ["albums": [made.album]])
      try tx.insert("Photo", ["code": 0], relationships: ["album": [made.other]])
    },
    Change(name: "update") { tx, made in
      try tx.setAttributes(made.album, ["title": "inside", "tick": 9, "cover": nil])
      for photo in made.photos where try tx.exists(photo) { try tx.set(photo, "size", 2) }
      try tx.set(made.photos[0], "code", 1)
      try tx.set(made.photos[1], "code", 0)
    },
    Change(name: "move") { tx, made in
      try tx.link(made.album, "photos", [made.photos[9], made.photos[2]], at: 1)
      try tx.setMembers(made.album, "photos", Array(try tx.members(made.album, "photos").reversed()))
      try tx.link(made.other, "photos", Array(made.photos[7..<15]))
    },
    Change(name: "long lists") { tx, made in
      let tags = try made.tags.filter { try tx.exists($0) }
      try tx.setMembers(made.other, "tags", tags)
      try tx.setMembers(made.album, "tags", [])
      try tx.setMembers(made.photos[3], "likes", tags)
    },
    Change(name: "to-one") { tx, made in
      try tx.setToOne(made.album, "owner", made.people[1])
      try tx.setToOne(made.people[2], "next", made.people[1])
      try tx.setToOne(made.photos[9], "album", nil)
    },
    Change(name: "cascade") { tx, made in try tx.delete([made.album]) },
    Change(name: "nullify") { tx, made in
      try tx.delete(try made.tags[1..<33].filter { try tx.exists($0) })
      try tx.delete([made.people[1]])
    },
    Change(name: "blobs", keepsSerials: false) { tx, made in
      try tx.set(made.other, "cover", try tx.value(made.album, "cover"))
      try tx.set(made.album, "cover", SavepointFixture.bytes(4, count: 9000))
      try tx.setData(made.photos[3], "image") { try $0.append(Data(repeating: 5, count: 70_000)) }
      try tx.set(made.photos[1], "image", nil)
    },
    Change(name: "delete what was there before", keepsSerials: false) { tx, made in
      let markers = try tx.members(made.album, "markers") + tx.members(made.other, "markers")
      try tx.delete(markers)
      try tx.insert("Photo", ["code": 910], relationships: ["album": [made.album]])
    },
    Change(name: "batches", keepsSerials: false) { tx, made in
      _ = try tx.batchInsert("Person", (0..<20).map { ["name": .string("batch \($0)")] })
      _ = try tx.batchUpdate(FetchRequest("Photo"), propertiesToUpdate: ["size": 3])
      _ = try tx.batchDelete(FetchRequest("Tag"))
    },
    Change(name: "clone", keepsSerials: false) { tx, made in
      var options = CloneOptions()
      options.recordsProvenance = true
      options.rules = ["Album.photos": .skip]
      _ = try tx.clone([made.album], options: options)
    },
    Change(name: "clone, and delete the source", keepsSerials: false) { tx, made in
      let id = try tx.clone(made.other)
      try tx.set(id, "title", "clone")
      try tx.delete([made.other])
    },
    Change(name: "snapshot") { tx, made in
      try tx.createSnapshot(named: "inside")
      try tx.set(made.album, "title", "after the snapshot")
      try tx.delete([made.photos[11]])
    },
    Change(name: "insert and delete", keepsSerials: false) { tx, made in
      let id = try tx.insert(
        "Album", ["cover": SavepointFixture.bytes(6)], relationships: ["tags": made.tags.filter { try tx.exists($0) }])
      try tx.link(id, "photos", [made.photos[8]])
      try tx.delete([id])
    },
    Change(name: "look") { tx, made in
      let titles = try tx.fetch(FetchRequest("Album")).count
      #expect(titles >= 1)
      _ = try tx.members(made.other, "markers")
      _ = try tx.value(made.album, "total")
    },
  ]

  /// Changes that fail after their first write.
  static let failures: [Change] = [
    Change(name: "stream", keepsSerials: false) { tx, made in
      try tx.setData(made.album, "cover") { writer in
        try writer.append(Data(repeating: 7, count: 3 << 20))
        throw SavepointRefusal()
      }
    },
    Change(name: "clone", keepsSerials: false) { tx, made in
      var options = CloneOptions()
      options.didClone = { tx, _, clone in
        try tx.set(clone, "title", "half")
        throw SavepointRefusal()
      }
      _ = try tx.clone([made.other], options: options)
    },
    Change(name: "refused clone", keepsSerials: false) { tx, made in _ = try tx.clone([made.photos[0]]) },
    Change(name: "denied", keepsSerials: false) { tx, made in
      try tx.setToOne(made.other, "owner", made.people[2])
      try tx.delete([made.people[2]])
    },
  ]

  /// The nesting of savepoints around a change.
  enum Shape: CaseIterable {
    case once, nestedKept, nestedRolledBack, twice, looking

    func run(_ tx: inout WriteTransaction, _ body: (inout WriteTransaction) throws -> Void) throws {
      switch self {
      case .once: try tx.rollingBack(body)
      case .nestedKept: try tx.rollingBack { tx in try tx.savepoint(body) }
      case .nestedRolledBack:
        try tx.rollingBack { tx in
          try tx.rollingBack(body)
          try body(&tx)
        }
      case .twice:
        try tx.rollingBack(body)
        try tx.rollingBack(body)
      case .looking:
        try tx.rollingBack { tx in
          try body(&tx)
          for entity in ["Album", "Photo", "Tag", "Marker"] { _ = try tx.fetch(FetchRequest(entity)) }
        }
      }
    }
  }

  private static let count = Int(ProcessInfo.processInfo.environment["KVCLONE_OPERATIONS"] ?? "") ?? 40

  /// A change that may follow a rolled-back one: none that needs serials if the rolled-back one has taken some.
  private static func other(after change: Change, _ random: inout SeededGenerator) -> Change {
    let suitable = others.filter { $0.keepsSerials || change.keepsSerials }
    return suitable[random.below(suitable.count)]
  }

  @Test("rolled back", arguments: PropertySeeds.seeds)
  func rolledBack(_ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    for number in 0..<Self.count {
      let twins = try SavepointTwins(random.next())
      let before = Self.others[random.below(Self.others.count)]
      let inside = Self.changes[random.below(Self.changes.count)]
      let after = Self.other(after: inside, &random)
      let shape = Shape.allCases[random.below(Shape.allCases.count)]
      try twins.compare("seed \(seed), \(number): \(before.name), \(inside.name) \(shape), \(after.name)") { tx, made in
        try before.run(&tx, made)
        try after.run(&tx, made)
      } and: { tx, made in
        try before.run(&tx, made)
        // Some changes are rejected after others; the savepoint is then rolled back, too.
        do {
          try shape.run(&tx) { tx in try inside.run(&tx, made) }
        } catch is any KVCloneError {}
        try after.run(&tx, made)
      }
    }
  }

  @Test("rolled back after a failure in the middle of a change", arguments: PropertySeeds.seeds)
  func failed(_ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    for number in 0..<(Self.count / 2) {
      let twins = try SavepointTwins(random.next())
      let before = Self.others[random.below(Self.others.count)]
      let inside = Self.changes[random.below(Self.changes.count)]
      let failure = Self.failures[random.below(Self.failures.count)]
      let after = Self.other(after: failure, &random)
      let place = "seed \(seed), \(number): \(before.name), \(inside.name), \(failure.name), \(after.name)"
      try twins.compare(place) { tx, made in
        try before.run(&tx, made)
        try after.run(&tx, made)
      } and: { tx, made in
        try before.run(&tx, made)
        do {
          try tx.savepoint { tx in
            try inside.run(&tx, made)
            // A change of a deleted object fails in another way than expected, which is an error as well.
            try failure.run(&tx, made)
            throw SavepointRefusal()
          }
          Issue.record("no error, \(place)")
        } catch {}
        try after.run(&tx, made)
      }
    }
  }

  @Test("kept", arguments: PropertySeeds.seeds)
  func kept(_ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    for number in 0..<Self.count {
      let twins = try SavepointTwins(random.next())
      let first = Self.others[random.below(Self.others.count)]
      let second = Self.changes[random.below(Self.changes.count)]
      let lost = Self.changes[random.below(Self.changes.count)]
      let isNested = random.chance(in: 2)
      let place = "seed \(seed), \(number): \(first.name), \(second.name), lost \(lost.name), nested \(isNested)"
      try twins.compare(place) { tx, made in
        try first.run(&tx, made)
        try second.run(&tx, made)
      } and: { tx, made in
        try tx.savepoint { tx in
          try first.run(&tx, made)
          if isNested {
            try tx.savepoint { tx in try second.run(&tx, made) }
            try? tx.rollingBack { tx in try lost.run(&tx, made) }
          }
        }
        if !isNested { try tx.savepoint { tx in try second.run(&tx, made) } }
      }
    }
  }
}

/// Two stores in memory with the same content, with or without a snapshot and a history.
private final class SavepointTwins {
  private let stores: [ObjectStore]
  private let made: SavepointFixture
  private let label: String

  init(_ seed: UInt64) throws {
    var options = StoreOptions()
    options.tracksHistory = seed & 1 != 0
    let hasSnapshot = seed & 2 != 0
    let engine = MemoryStorage()
    let first = try ObjectStore.create(in: engine, model: savepointModel)
    made = try SavepointFixture(first)
    if hasSnapshot {
      try first.createSnapshot(named: "old")
      try first.write { [made] tx in
        try tx.set(made.photos[5], "size", 55)
        try tx.set(made.photos[6], "image", SavepointFixture.bytes(9))
      }
    }
    let image = engine.snapshot()
    let second = MemoryStorage()
    second.restore(image)
    stores = try [engine, second].map { engine in
      try StoreOpening.assemble(engine, path: "engine", model: nil, options: options)
    }
    label = "history \(options.tracksHistory == true), snapshot \(hasSnapshot)"
  }

  /// Runs a transaction in each, and then one that changes everything in both; the stores are equal after either.
  func compare(
    _ place: String, _ plain: (inout WriteTransaction, SavepointFixture) throws -> Void,
    and other: (inout WriteTransaction, SavepointFixture) throws -> Void
  ) throws {
    let errors = [
      Self.error { try stores[0].write { tx in try plain(&tx, made) } },
      Self.error { try stores[1].write { tx in try other(&tx, made) } },
    ]
    #expect(errors[0] == errors[1], "\(place), \(label)")
    try expectEqual("\(place), \(label)")
    for store in stores { try store.write { tx in try Self.changeAll(&tx, made) } }
    try expectEqual("afterwards, \(place), \(label)")
    for store in stores where store.snapshotNames.contains("old") { try store.deleteSnapshot(named: "old") }
    for store in stores where store.snapshotNames.contains("inside") { try store.deleteSnapshot(named: "inside") }
    try expectEqual("without snapshots, \(place), \(label)")
    try stores[1].expectNoPreviousStates()
  }

  private static func error(_ body: () throws -> Void) -> String {
    do { try body() } catch let error as ValidationError {
      return "\(Set(error.issues.map { "\($0.kind) \($0.entity) \($0.property)" }).sorted())"
    } catch { return "\((error as? any KVCloneError)?.kindName ?? "\(error)")" }
    return ""
  }

  private static func changeAll(_ tx: inout WriteTransaction, _ made: SavepointFixture) throws {
    for object in try tx.fetch(FetchRequest("Photo")) { try tx.set(object.id, "size", 12) }
    for object in try tx.fetch(FetchRequest("Album")) {
      try tx.set(object.id, "cover", nil)
      try tx.unlink(object.id, "tags", try Array(tx.members(object.id, "tags").prefix(3)))
    }
    for object in try tx.fetch(FetchRequest("Tag")).prefix(5) { try tx.delete([object.id]) }
  }

  private func expectEqual(_ place: String) throws {
    let differences = try StoreImage(stores[1]).differences(to: StoreImage(stores[0]))
    if !differences.isEmpty { Issue.record("\(differences.count): \(differences.prefix(3)), \(place)") }
    let damages = try stores[1].check(CheckOptions(readData: true)).issues
    #expect(damages.isEmpty, "\(damages.prefix(3).map(\.message)), \(place)")
  }
}

extension ObjectStore {
  fileprivate var snapshotNames: [String] { (try? snapshots().map(\.name)) ?? [] }
}
