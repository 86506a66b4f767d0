import Foundation
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneQuery

/// Fetch indexes that are added and removed while the store has snapshots.
@Suite("Snapshots and fetch indexes")
struct SnapshotIndexTests {
  private static func model(_ indexes: FetchIndexDescription...) -> ManagedObjectModel {
    ManagedObjectModel("Shelf") {
      EntityDescription("Item", unique: [["code"]], indexes: indexes) {
        AttributeDescription("name", .string)
        AttributeDescription("code", .integer64)
        AttributeDescription("size", .integer64)
      }
    }
  }

  private static let byName = model(fetchIndex("name"))
  private static let byBoth = model(fetchIndex("name"), fetchIndex("size"))

  /// Runs the request with and without indexes, and checks its plan.
  private func expect(
    _ snapshot: Snapshot, _ format: String, _ wanted: [ObjectID], looksUp: Bool,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let request = FetchRequest("Item", predicate: try QueryPredicate(format: format))
    let (found, scanned, plan) = try snapshot.read { tx in
      (try tx.ids(request, .always).sorted(), try tx.ids(request, .never).sorted(), try tx.plan(request, .always)[0])
    }
    #expect(found == wanted && scanned == wanted, "\(snapshot.name), \(format)", sourceLocation: sourceLocation)
    #expect(plan.hasPrefix("search the ") == looksUp, "\(snapshot.name): \(plan)", sourceLocation: sourceLocation)
  }

  @Test("one that is younger than the snapshot, one that goes, and one that comes back")
  func youngerAndDeleted() throws {
    let test = try TestStore(Self.byName)
    let ids = try test.store.write { tx in
      try (0..<10).map { number in
        try tx.insert(
          "Item", ["name": .string("n\(number % 2)"), "size": .integer(1), "code": .integer(Int64(number))])
      }
    }
    try test.store.createSnapshot(named: "old")
    // The index over sizes is added with entries of objects that the snapshot shows, by their current values.
    try test.store.set(ids[0], "size", .integer(2))
    try test.reopen(model: Self.byBoth)
    try checked(test.store)
    try test.store.set(ids[1], "size", .integer(2))
    try test.store.set(ids[2], "name", "other")
    try test.store.createSnapshot(named: "young")
    try test.store.set(ids[3], "size", .integer(2))
    try test.store.delete([ids[4]])
    try test.store.insert("Item", ["name": .string("n1"), "size": .integer(2)])
    func expectBoth(byName: Bool, bySize: Bool) throws {
      try checked(test.store)
      let (old, young) = (try test.store.snapshot(named: "old"), try test.store.snapshot(named: "young"))
      try expect(old, "name == 'n0'", [0, 2, 4, 6, 8].map { ids[$0] }, looksUp: byName)
      try expect(old, "size == 2", [], looksUp: false)
      try expect(old, "code == 4", [ids[4]], looksUp: true)
      try expect(young, "name == 'n0'", [0, 4, 6, 8].map { ids[$0] }, looksUp: byName)
      try expect(young, "size == 2", [ids[0], ids[1]], looksUp: bySize)
      try expect(young, "code == 4", [ids[4]], looksUp: true)
    }
    try expectBoth(byName: true, bySize: true)
    // The entries of a removed index are not maintained, and adding it again creates another index.
    try test.reopen(model: Self.model(fetchIndex("size")))
    try expectBoth(byName: false, bySize: true)
    try test.store.set(ids[6], "name", "gone")
    try test.reopen(model: Self.byBoth)
    try expectBoth(byName: false, bySize: true)
    try test.store.set(ids[8], "name", "gone")
    try expectBoth(byName: false, bySize: true)
    try test.store.deleteSnapshots(named: ["young", "old"])
    try test.store.expectNoPreviousStates()
    try checked(test.store)
  }
}
