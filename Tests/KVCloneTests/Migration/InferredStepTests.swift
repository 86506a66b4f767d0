import Foundation
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations
@testable import KVCloneQuery

/// One inferred step, independently of the versions in a bundle: it keeps the properties that both ends have, and lists
/// those that it removes.
@Suite("Inferred steps")
struct InferredStepTests {
  private static let full = ManagedObjectModel("Steps", version: "1") {
    EntityDescription("Note") {
      AttributeDescription("text", .string)
      AttributeDescription("rank", .boolean)
    }
    EntityDescription("Tag") { AttributeDescription("label", .string) }
  }
  /// Lacks properties that both ends have.
  private static let bare = full.next("2") { draft in
    draft.remove("rank", from: "Note")
    draft.remove(entity: "Tag")
  }

  private static func filled(_ model: ManagedObjectModel = full) throws -> TestStore {
    let test = try TestStore(model)
    try test.store.write { tx in
      for number in 0..<5 {
        try tx.insert("Note", ["text": .string("note \(number)"), "rank": .boolean(number % 2 == 0)])
        try tx.insert("Tag", ["label": .string("tag \(number)")])
      }
    }
    return test
  }

  @Test("a version in between that lacks something takes nothing away", arguments: [0, 1, 2])
  func nothingIsLostBetween(order: Int) throws {
    let test = try Self.filled()
    let last = Self.full.next("3") { $0["Note"].attributes.append(AttributeDescription("size", .integer64)) }
    var versions = [Self.full, Self.bare, last]
    versions.swapAt(1, order)
    let before = try test.store.read { tx in try tx.fetch(FetchRequest("Note")).map { [$0["text"], $0["rank"]] } }
    test.store.close()
    let options = MigrationOptions(versions: versions)
    let plan = try test.planMigration(to: last, migration: options)
    #expect(plan.steps.map(\.to) == ["3"] && plan.steps[0].removals.isEmpty)
    let report = try test.migrate(to: last, migration: options)
    #expect(report.versions == ["1", "3"] && report.deletedCount == 0)
    try test.reopen()
    let after = try test.store.read { tx in try tx.fetch(FetchRequest("Note")).map { [$0["text"], $0["rank"]] } }
    #expect(after == before)
    #expect(try test.store.info().counts == ["Note": 5, "Tag": 5])
    try checked(test.store)
  }

  @Test("names that lead through a version in between keep objects, values and links, with a snapshot that reads")
  func renamedTwice() throws {
    let first = ManagedObjectModel("Music", version: "1") {
      EntityDescription("Track") {
        AttributeDescription("title", .string)
        RelationshipDescription("album", toOne: "Album", inverse: "tracks")
      }
      EntityDescription("Album") {
        RelationshipDescription("tracks", toMany: "Track", inverse: "album", ordered: true)
      }
    }
    func renamed(_ model: ManagedObjectModel, _ version: String, _ names: [String: String]) -> ManagedObjectModel {
      // Each version refers to the previous one, and not to the first.
      model.next(version) { draft in
        for place in draft.entities.indices { draft.entities[place].renamingIdentifier = nil }
        for (name, later) in names.sorted(by: { $0.key < $1.key })
        where draft[name].name == name && model.entity(named: name) != nil {
          draft.rename(entity: name, to: later)
        }
        if let title = names["title"], let entity = draft.entities.first(where: { !$0.attributes.isEmpty })?.name {
          let old = draft[entity].attributes[0].name
          draft.attribute(entity, old) { ($0.renamingIdentifier, $0.name) = (old, title) }
        }
      }
    }
    let second = renamed(first, "2", ["Track": "Song", "Album": "Record", "title": "name"])
    let third = renamed(second, "3", ["Song": "Piece", "Record": "Disc", "title": "heading"])
    #expect(third.entity(named: "Piece")?.renamingIdentifier == "Song")
    let migrated = try MigratedStore(first, seed: 7, size: 6)
    #expect(try migrated.migrate(to: third, through: [second], "a to b to c"))
    #expect(try migrated.store.info().objectCount > 6)
    try migrated.workOn(seed: 8, "a to b to c")
    try migrated.deleteSnapshots("a to b to c")
    // Also back in one step.
    let back = try MigratedStore(third, seed: 9, size: 6)
    #expect(try back.migrate(to: first, through: [second], "c to b to a"))
    // Without the intermediate version, the plan lists removed properties and identifiers without a target.
    let lost = try MigratedStore(first, seed: 10, size: 3)
    let count = Int(try lost.store.info().objectCount)
    lost.store.close()
    let step = try #require(try lost.test.planMigration(to: third).steps.first)
    #expect(step.deletedCount == count && step.removals.map(\.objectCount).reduce(0, +) == count)
    #expect(step.warnings.compactMap(\.entity).sorted() == ["Disc", "Piece"])
    let report = try lost.test.migrate(to: third)
    #expect(report.warnings == step.warnings && report.snapshot != nil)
    try lost.test.reopen()
  }

  @Test("a clone from a snapshot never lacks a value that was renamed through a version that the store never had")
  func clonesAfterChain() throws {
    func version(_ number: String, _ name: String, _ identifier: String?, _ type: AttributeType) -> ManagedObjectModel {
      ManagedObjectModel("Steps", version: number) {
        EntityDescription("Note") { AttributeDescription(name, type, renamingIdentifier: identifier) }
      }
    }
    let first = version("1", "a", nil, .integer16)
    let second = version("2", "b", "a", .integer16)
    for type in [AttributeType.integer16, .integer64] {
      let third = version("3", "c", "b", type)
      let test = try TestStore(first)
      let note = try test.store.insert("Note", ["a": 7])
      test.store.close()
      let report = try test.migrate(
        to: third, migration: MigrationOptions(versions: [first, second, third]))
      try test.reopen()
      let kept = try test.store.value(note, "c")
      #expect(kept == 7)
      let snapshot = try test.store.snapshot(named: try #require(report.snapshot))
      if type == .integer16 {
        let copy = try test.store.clone([note], from: snapshot, options: CloneOptions())
        let value = try test.store.value(try #require(copy.roots.first), "c")
        #expect(value == 7)
      } else {
        let error = expectError(.incompatibleModel) {
          _ = try test.store.clone([note], from: snapshot, options: CloneOptions())
        }
        #expect(error?.property == "c")
      }
      try checked(test.store)
    }
  }

  @Test("a refusal suggests a chain that can be inferred, with its losses")
  func chain() throws {
    let test = try Self.filled()
    // Boolean to String is no conversion; a path through a version without the attribute would lose the values.
    let last = Self.full.next("3") { $0.attribute("Note", "rank") { $0.type = .string } }
    test.store.close()
    let options = MigrationOptions(versions: [Self.full, Self.bare, last])
    let plan = try test.planMigration(to: last, migration: options)
    let step = try #require(plan.steps.first)
    #expect(plan.steps.count == 1 && !plan.isPossible && step.refusals.map(\.property) == ["rank"])
    let chain = try #require(step.chain)
    #expect(chain.versions == ["1", "2", "3"])
    #expect(
      Set(chain.losses) == [
        .init(version: "2", entity: "Note", property: "rank"), .init(version: "2", entity: "Tag", property: nil),
      ])
    expectError(.mappingRequired) { _ = try test.migrate(to: last, migration: options) }
    let alone = try test.planMigration(to: last).steps.first
    #expect(alone?.chain == nil && alone?.refusals.isEmpty == false)
    try test.reopen()
    #expect(try test.store.info().counts == ["Note": 5, "Tag": 5])
  }

  @Test("an entity that another replaces goes with the links to it, and the plan says so", arguments: [true, false])
  func replacedEntity(isOrdered: Bool) throws {
    func model(_ version: String, _ event: String) -> ManagedObjectModel {
      ManagedObjectModel("Garage", version: version) {
        EntityDescription("Vehicle") {
          AttributeDescription("name", .string)
          AttributeDescription("count", .integer64, derivation: "events.@count")
          RelationshipDescription("events", toMany: event, inverse: "vehicle", ordered: isOrdered)
          RelationshipDescription("last", toOne: event)
        }
        EntityDescription(event) {
          AttributeDescription("note", .string)
          RelationshipDescription("vehicle", toOne: "Vehicle", inverse: "events")
        }
      }
    }
    let (old, new) = (model("1", "MaintenaceEvent"), model("2", "MaintenanceEvent"))
    let test = try TestStore(old)
    try test.store.write { tx in
      for number in 0..<3 {
        let events = try (0..<200).map { try tx.insert("MaintenaceEvent", ["note": .string("\($0)")]) }
        try tx.insert(
          "Vehicle", ["name": .string("v\(number)")], relationships: ["events": events, "last": [events[5]]])
      }
    }
    let migrated = MigratedStore(test)
    test.store.close()
    let step = try #require(try test.planMigration(to: new).steps.first)
    #expect(step.refusals.isEmpty && step.deletedCount == 600)
    #expect(
      step.removals == [
        .init(entity: "MaintenaceEvent", objectCount: 600, links: ["Vehicle.events", "Vehicle.last"])
      ])
    try test.reopen()
    #expect(try migrated.migrate(to: new, "replaced"))
    let vehicles = try test.store.read { tx in
      try tx.fetch(FetchRequest("Vehicle")).map { vehicle in
        [
          vehicle["count"], .integer(Int64(try tx.members(vehicle.id, "events").count)),
          .integer(Int64(try tx.members(vehicle.id, "last").count)),
        ]
      }
    }
    #expect(vehicles == Array(repeating: [0, 0, 0], count: 3))
    // New events are linked as before.
    try test.store.write { tx in
      let vehicle = try tx.fetchIDs(FetchRequest("Vehicle"))[0]
      let event = try tx.insert("MaintenanceEvent", relationships: ["vehicle": [vehicle]])
      try tx.setToOne(vehicle, "last", event)
    }
    try migrated.check("replaced, linked again")
    try migrated.workOn(seed: 3, "replaced")
    try migrated.deleteSnapshots("replaced")
  }
}
