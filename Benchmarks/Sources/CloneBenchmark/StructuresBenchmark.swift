import BenchmarkSupport
import Foundation
import KVClone
import KVCloneOperations

/// Long and deep structures: the time and memory of operations at any position.
///
/// Every operation uses the public interface in one write transaction; validation and commit are measured separately.
enum StructuresBenchmark {
  static let model = ManagedObjectModel("Structures") {
    EntityDescription("Owner") {
      RelationshipDescription("track", toMany: "Item", inverse: "album", ordered: true)
      RelationshipDescription("items", toMany: "Item", inverse: "owner")
      RelationshipDescription("parts", toMany: "Item", inverse: "whole", deleteRule: .cascade)
    }
    EntityDescription("Item") {
      AttributeDescription("number", .integer64)
      RelationshipDescription("album", toOne: "Owner", inverse: "track")
      RelationshipDescription("owner", toOne: "Owner", inverse: "items")
      RelationshipDescription("whole", toOne: "Owner", inverse: "parts")
      RelationshipDescription("parent", toOne: "Item", inverse: "children")
      RelationshipDescription("children", toMany: "Item", inverse: "parent", deleteRule: .cascade)
    }
  }

  static func run(in directory: String, quick: Bool) throws {
    let (ordered, unordered, cascade) = quick ? (100_000, 500_000, 100_000) : (1_000_000, 10_000_000, 1_000_000)
    try orderedList(of: ordered, quick ? 2_000 : 10_000, directory)
    try inverseList(of: unordered, quick ? 2_000 : 10_000, directory)
    try cascades(of: cascade, directory)
  }

  // MARK: - Ordered

  private static func orderedList(of count: Int, _ operations: Int, _ directory: String) throws {
    report("structures: an ordered list of \(count) members, \(operations) operations of each kind at random places")
    try withStore(directory) { store in
      var ids: [ObjectID] = []
      let owner = try store.write { tx in try tx.insert("Owner") }
      var meter = Meter()
      try meter.commit("insert them and write the list", count) {
        try store.write { tx in
          for number in 0..<count + operations {
            ids.append(try tx.insert("Item", ["number": .integer(Int64(number))]))
          }
          try tx.setMembers(owner, "track", Array(ids[..<count]))
        }
      }
      var random = SeededGenerator(seed: 1)
      try meter.commit("all of the following, commit included", 4 * operations) {
        try store.write { tx in
          var timer = OperationTimer()
          for item in ids[count...] {
            let place = Int.random(in: 0...count, using: &random)
            try timer.time { try tx.link(owner, "track", [item], at: place) }
          }
          timer.report("insert")
          for _ in 0..<operations {
            let item = ids[Int.random(in: 0..<ids.count, using: &random)]
            let place = Int.random(in: 0..<count, using: &random)
            try timer.time { try tx.link(owner, "track", [item], at: place) }
          }
          timer.report("move")
          for item in ids[count...] { try timer.time { try tx.unlink(owner, "track", [item]) } }
          timer.report("remove")
          for item in ids[count...] { try timer.time { try tx.link(owner, "track", [item]) } }
          timer.report("append")
          for _ in 0..<operations {
            let item = ids[Int.random(in: 0..<count, using: &random)]
            try timer.time { _ = try tx.toOne(item, "album") }
          }
          timer.report("(look at one member's to-one)")
        }
      }
      try meter.commit("insert in a transaction of its own, 100 times", 100) {
        for item in ids[..<100] {
          try store.write { tx in
            let place = Int.random(in: 0..<count, using: &random)
            try tx.link(owner, "track", [item], at: place)
          }
        }
      }
      guard try store.read({ tx in try tx.count(owner, "track") }) == count + operations else { throw Wrong() }
      try checked(store)
    }
  }

  // MARK: - Unordered

  private static func inverseList(of count: Int, _ operations: Int, _ directory: String) throws {
    report("structures: an unordered inverse list of \(count) members")
    try withStore(directory) { store in
      var meter = Meter()
      var owner = ObjectID(rawValue: 0)
      var first = ObjectID(rawValue: 0)
      try meter.commit("insert them, each linked to its owner", count) {
        owner = try store.write { tx in
          let owner = try tx.insert("Owner")
          first = try tx.insert("Item", ["number": 0], relationships: ["owner": [owner]])
          for number in 1..<count {
            try tx.insert("Item", ["number": .integer(Int64(number))], relationships: ["owner": [owner]])
          }
          return owner
        }
      }
      var random = SeededGenerator(seed: 2)
      func anyone() -> ObjectID {
        ObjectID(rawValue: first.rawValue + UInt64(Int.random(in: 0..<count, using: &random)))
      }
      try meter.commit("all of the following, commit included", 4 * operations) {
        try store.write { tx in
          var timer = OperationTimer()
          var picked: Set<ObjectID> = []
          while picked.count < operations { picked.insert(anyone()) }
          for item in picked { try timer.time { try tx.unlink(owner, "items", [item]) } }
          timer.report("remove from the list")
          for item in picked { try timer.time { try tx.setToOne(item, "owner", owner) } }
          timer.report("add by the other side")
          for _ in 0..<operations { try timer.time { _ = try tx.count(owner, "items") } }
          timer.report("count")
          for item in picked { try timer.time { _ = try tx.toOne(item, "owner") } }
          timer.report("contains (the member's to-one)")
          for item in picked { try timer.time { _ = try tx.delete([item]) } }
          timer.report("delete a member")
        }
      }
      try meter.commit("read all members, a batch at a time", count) {
        var found = 0
        try store.read { tx in
          try tx.forEachMember(owner, "items") { _ in
            found += 1
            return true
          }
        }
        guard found == count - operations else { throw Wrong() }
      }
      try checked(store)
      try meter.commit("delete the owner (nullify)", count - operations) {
        try store.write { tx in _ = try tx.delete([owner]) }
      }
      try checked(store)
    }
  }

  // MARK: - Cascades

  private static func cascades(of count: Int, _ directory: String) throws {
    let stack = DeepBenchmark.stackBytes / 1024
    report("structures: cascading deletes of \(count) objects on a thread with a stack of \(stack) KiB")
    for shape in CascadeShape.allCases {
      try withStore(directory) { store in
        let root = try store.write { tx in try shape.make(count, &tx) }
        var meter = Meter()
        try meter.commit("delete a \(shape.rawValue)", count) {
          try onSmallStack {
            try store.write { tx in
              guard try tx.delete([root]).deletedCount == count else { throw Wrong() }
            }
          }
        }
        try checked(store)
      }
    }
  }

  // MARK: - Tools

  /// Runs `body` with a store of this model, and removes the store afterwards.
  private static func withStore(_ directory: String, _ body: (ObjectStore) throws -> Void) throws {
    let workspace = try Workspace(in: directory)
    defer { workspace.remove() }
    let store = try ObjectStore.create(at: workspace.path + "/store", model: model)
    defer { store.close() }
    try body(store)
  }

  private static func checked(_ store: ObjectStore) throws {
    var meter = Meter()
    try meter.commit("check of the whole store", try store.info().objectCount) {
      guard try store.check().issues.isEmpty else { throw Wrong() }
    }
  }

  struct Wrong: Error {}
}

/// The structure of the objects in a cascading delete.
enum CascadeShape: String, CaseIterable {
  case chain, tree, star

  /// Creates `count` objects that are deleted by cascade with the returned one.
  func make(_ count: Int, _ transaction: inout WriteTransaction) throws -> ObjectID {
    if self == .star {
      let owner = try transaction.insert("Owner")
      for number in 1..<count {
        try transaction.insert("Item", ["number": .integer(Int64(number))], relationships: ["whole": [owner]])
      }
      return owner
    }
    let root = try transaction.insert("Item")
    for number in 1..<count {
      let parent = UInt64(self == .chain ? number - 1 : (number - 1) / 2)
      try transaction.insert(
        "Item", ["number": .integer(Int64(number))],
        relationships: ["parent": [ObjectID(rawValue: root.rawValue + parent)]])
    }
    return root
  }
}

/// Measures the time and memory of whole steps.
struct Meter {
  mutating func commit(_ what: String, _ count: Int, _ body: () throws -> Void) throws {
    let clock = ContinuousClock()
    var seconds = 0.0
    let (_, bytes) = try Measuring.peakAnonymousBytes { seconds = try clock.measure { try body() }.seconds }
    let each = fixed(seconds * 1e6 / Double(max(1, count)), 2)
    report("  \(what): \(fixed(seconds, 2)) s, \(each) µs each, peak growth \(mebibytes(bytes)) MiB")
  }
}

/// Measures the processor time of single operations.
struct OperationTimer {
  private var seconds: [Double] = []

  mutating func time(_ body: () throws -> Void) rethrows {
    let start = Measuring.threadSeconds()
    try body()
    seconds.append(Measuring.threadSeconds() - start)
  }

  mutating func report(_ what: String) {
    let sorted = seconds.sorted()
    guard let last = sorted.last else { return }
    let figures = [Measuring.median(seconds), sorted[sorted.count * 99 / 100], last].map { fixed($0 * 1e6, 1) }
    CloneBenchmarkReport.line(
      "    \(what): median \(figures[0]) µs, 99 % below \(figures[1]) µs, longest \(figures[2]) µs")
    seconds.removeAll()
  }
}

/// The function `report` under a name that a method `report` does not shadow.
enum CloneBenchmarkReport {
  static func line(_ text: String) { report(text) }
}

/// Runs `body` on a thread with the stack size of `DeepBenchmark`, and waits for it.
func onSmallStack<R>(_ body: @escaping () throws -> R) throws -> R {
  let outcome = Outcome<R>()
  nonisolated(unsafe) let work = body
  let thread = Thread { outcome.set(Result { try work() }) }
  thread.stackSize = DeepBenchmark.stackBytes
  thread.start()
  return try outcome.wait().get()
}
