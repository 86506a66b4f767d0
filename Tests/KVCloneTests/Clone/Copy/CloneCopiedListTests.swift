import Foundation
import KVCloneModel
import KVCloneTestSupport
import Synchronization
import Testing

@testable import KVClone
@testable import KVCloneCore

/// Review findings about clones of lists.
@Suite struct CloneCopiedListTests {
  private static let follow = ManagedObjectModel("Follow") {
    EntityDescription("Parent") {
      AttributeDescription("name", .string)
      AttributeDescription("text", .string, userInfo: ["exclude": ""])
      RelationshipDescription("children", toMany: "Child", inverse: "parent")
    }
    EntityDescription("Child") {
      AttributeDescription("parentName", .string, userInfo: ["followParent": "name", "withoutParent": "blank"])
      RelationshipDescription("parent", toOne: "Parent", inverse: "children")
    }
  }

  @Test("R29, R36 maxBytes holds for values that clones take from their parents", .tags(.r29, .r36))
  func followedBytes() throws {
    let fixture = try CloneStore(Self.follow)
    let parent = try fixture.insert("Parent", ["name": .string(String(repeating: "x", count: 1000))])
    try fixture.store.write { tx in
      for _ in 0..<100 { _ = try tx.insert("Child", relationships: ["parent": [parent]]) }
    }
    let limit = CloneOptions.with { $0.maxBytes = 20_000 }
    let plan = try fixture.store.planClone([parent], options: limit)
    let result = Result { try fixture.store.clone([parent], options: limit) }
    if case .success(let result) = result {
      #expect(result.bytesWritten <= 20_000, "plan \(plan.bytesWritten), result \(result.bytesWritten)")
    }
  }

  @Test("R29, R36 into: bytes of excluded values are not written", .tags(.r29, .r36))
  func intoExcludedBytes() throws {
    let fixture = try CloneStore(Self.follow)
    let other = try CloneStore(Self.follow)
    let parent = try fixture.insert("Parent", ["text": .string(String(repeating: "x", count: 100_000))])
    let plan = try fixture.store.planClone([parent], into: other.store)
    let result = try fixture.store.clone([parent], into: other.store)
    #expect(plan.bytesWritten < 2 * result.bytesWritten, "plan \(plan.bytesWritten), result \(result.bytesWritten)")
    #expect(throws: Never.self) {
      try fixture.store.clone([parent], into: other.store, options: .with { $0.maxBytes = 10_000 })
    }
  }

  @Test("progress of several copies: totals are of all copies in every phase")
  func progressTotals() throws {
    let fixture = try CloneStore(Self.follow)
    let parent = try fixture.insert("Parent")
    try fixture.store.write { tx in
      for _ in 0..<2999 { _ = try tx.insert("Child", relationships: ["parent": [parent]]) }
    }
    let seen = Mutex<[OperationProgress]>([])
    _ = try fixture.store.clone(
      [parent],
      options: .with {
        $0.count = 3
        $0.progress = { value in seen.withLock { $0.append(value) } }
      })
    for value in seen.withLock({ $0 }) where value.total != nil { #expect(value.total == 9000, "\(value)") }
  }

  private static let web = ManagedObjectModel("Web") {
    EntityDescription("A") {
      AttributeDescription("name", .string)
      RelationshipDescription("bs", toMany: "B", inverse: "a")
      RelationshipDescription("steps", toMany: "B", inverse: "stepOf", ordered: true)
      RelationshipDescription("ts", toMany: "T", inverse: "as_")
      RelationshipDescription("ots", toMany: "T", inverse: "oas", ordered: true)
      RelationshipDescription("loose", toMany: "T", userInfo: ["clone": "reference"])
    }
    EntityDescription("B") {
      AttributeDescription("name", .string)
      RelationshipDescription("a", toOne: "A", inverse: "bs")
      RelationshipDescription("stepOf", toOne: "A", inverse: "steps")
      RelationshipDescription("t", toOne: "T", inverse: "bs")
      RelationshipDescription("ot", toOne: "T", inverse: "obs")
      RelationshipDescription("kind", toOne: "T", userInfo: ["clone": "reference"])
      RelationshipDescription("friends", toMany: "B", inverse: "friends")
    }
    EntityDescription("T", unique: [["code"]]) {
      AttributeDescription("name", .string)
      AttributeDescription("code", .integer32, userInfo: ["exclude": ""])
      RelationshipDescription("as_", toMany: "A", inverse: "ts")
      RelationshipDescription("oas", toMany: "A", inverse: "ots", ordered: true)
      RelationshipDescription("bs", toMany: "B", inverse: "t")
      RelationshipDescription("obs", toMany: "B", inverse: "ot", ordered: true)
    }
  }
  private static let relationships: [String: [(String, Bool, Bool)]] = [
    "A": [
      ("bs", true, false), ("steps", true, true), ("ts", true, false), ("ots", true, true), ("loose", true, false),
    ],
    "B": [
      ("a", false, false), ("stepOf", false, false), ("t", false, false), ("ot", false, false),
      ("kind", false, false), ("friends", true, false),
    ],
    "T": [("as_", true, false), ("oas", true, true), ("bs", true, false), ("obs", true, true)],
  ]

  private func links(_ store: ObjectStore) throws -> [ObjectID: [String: [ObjectID]]] {
    try store.read { tx in
      var all: [ObjectID: [String: [ObjectID]]] = [:]
      for (entity, list) in Self.relationships {
        var ids: [ObjectID] = []
        try tx.forEachObject(of: entity) { object in
          ids.append(object.id)
          return true
        }
        for id in ids {
          for (name, isMany, _) in list {
            all[id, default: [:]][name] = isMany ? try tx.members(id, name) : try tx.toOne(id, name).map { [$0] } ?? []
          }
        }
      }
      return all
    }
  }

  @Test("random lists with irregular chunks, several copies", arguments: 0..<10)
  func randomLists(seed: Int) throws {
    var random = SeededGenerator(seed: UInt64(seed) + 100)
    let fixture = try CloneStore(Self.web)
    var ts: [ObjectID] = []
    var bs: [ObjectID] = []
    var a = ObjectID(rawValue: 0)
    try fixture.store.write { tx in
      let tCount = [5, 40, 150, 400].randomElement(using: &random)!
      for i in 0..<tCount { ts.append(try tx.insert("T", ["name": .string("\(i)"), "code": .integer(Int64(i))])) }
      a = try tx.insert("A", ["name": "a"])
      let bCount = [5, 40, 150, 1100].randomElement(using: &random)!
      for i in 0..<bCount {
        var l: [String: [ObjectID]] = ["a": [a]]
        let t = ts[0]
        if Bool.random(using: &random) { l["t"] = [t] }
        if Bool.random(using: &random) { l["ot"] = [Bool.random(using: &random) ? t : ts[1]] }
        if Bool.random(using: &random) { l["kind"] = [t] }
        bs.append(try tx.insert("B", ["name": .string("\(i)")], relationships: l))
      }
      let others = try (0..<200).map { try tx.insert("B", ["name": .string("x\($0)")]) }
      try tx.setMembers(a, "steps", bs.shuffled(using: &random))
      try tx.setMembers(a, "ts", ts)
      try tx.setMembers(a, "ots", ts.shuffled(using: &random))
      try tx.setMembers(a, "loose", ts)
      let hub = bs[0]
      try tx.setMembers(hub, "friends", bs + others)
      try tx.setMembers(ts[0], "obs", (try tx.members(ts[0], "obs") + others.prefix(100)).shuffled(using: &random))
      for t in ts where Int.random(in: 0..<7, using: &random) == 0 {
        for name in ["ts", "ots", "loose"] where Bool.random(using: &random) { try tx.unlink(a, name, [t]) }
      }
      for b in bs.shuffled(using: &random).prefix(bCount / 5) { try tx.unlink(hub, "friends", [b]) }
      for _ in 0..<20 {
        let step = bs.randomElement(using: &random)!
        try tx.link(a, "steps", [step], at: Int.random(in: 0..<bCount, using: &random))
      }
    }
    let count = Int.random(in: 1...3, using: &random)
    let extra =
      seed % 3 == 0 ? [] : Array(ts.shuffled(using: &random).prefix(Int.random(in: 0...ts.count, using: &random)))
    let before = try links(fixture.store)
    let pairs = Mutex<[ObjectID: [ObjectID]]>([:])
    var options = CloneOptions()
    options.count = count
    options.recordsProvenance = true
    if seed % 2 == 0 { options.willClone = { edge, _ in edge.rule } }
    options.didClone = { _, source, clone in pairs.withLock { $0[source, default: []].append(clone) } }
    let plan = try fixture.store.planClone([a] + extra, options: options)
    let result = try fixture.store.clone([a] + extra, options: options)
    #expect(plan.errors.isEmpty && plan.objectCount == result.objectCount)
    #expect(plan.affectedObjectIDs == result.affectedObjectIDs)
    #expect(plan.bytesWritten == result.bytesWritten, "seed \(seed)")
    #expect(plan.affectedObjectCount == result.affectedObjectCount)
    try fixture.expectClean()
    let after = try links(fixture.store)
    let map = pairs.withLock { $0 }
    let copyOf = map
    var wrong = 0
    for (source, clones) in copyOf {
      for (copy, clone) in clones.enumerated() {
        for (name, isMany, isOrdered) in Self.relationships[String(try fixture.name(source).prefix(1))]! {
          var wanted = before[source]![name]!.map { copyOf[$0]?[copy] ?? $0 }
          if isMany, !isOrdered { wanted.sort() }
          if after[clone]![name]! != wanted { wrong += 1 }
        }
      }
    }
    #expect(wrong == 0)
    // Outside objects.
    for (id, all) in before where copyOf[id] == nil {
      for (name, old) in all {
        var wanted = old
        for copy in 0..<count { wanted += old.compactMap { copyOf[$0]?[copy] } }
        let entity = String(try fixture.name(id).prefix(1))
        if !Self.relationships[entity]!.first(where: { $0.0 == name })!.2 { wanted.sort() }
        #expect(after[id]![name]! == wanted, "\(id) \(name)")
      }
    }
  }

  @Test("a store that was cloned in leaves nothing behind when it is closed")
  func ruleCacheLeak() throws {
    weak var schema: Schema?
    do {
      let fixture = try CloneStore(Self.follow)
      let parent = try fixture.insert("Parent")
      _ = try fixture.store.clone([parent])
      schema = fixture.store.schema
    }
    #expect(schema == nil)
  }

  private func build(_ fixture: CloneStore, _ random: inout SeededGenerator) throws
    -> (a: ObjectID, bs: [ObjectID], ts: [ObjectID])
  {
    var ts: [ObjectID] = []
    var bs: [ObjectID] = []
    var a = ObjectID(rawValue: 0)
    try fixture.store.write { tx in
      let tCount = [5, 40, 150, 300].randomElement(using: &random)!
      for i in 0..<tCount { ts.append(try tx.insert("T", ["name": .string("\(i)"), "code": .integer(Int64(i))])) }
      a = try tx.insert("A", ["name": "a"])
      let bCount = [5, 40, 150, 1100].randomElement(using: &random)!
      for i in 0..<bCount {
        var l: [String: [ObjectID]] = ["a": [a]]
        if Bool.random(using: &random) { l["t"] = [ts[0]] }
        if Bool.random(using: &random) { l["ot"] = [Bool.random(using: &random) ? ts[0] : ts[1]] }
        if Bool.random(using: &random) { l["kind"] = [ts[0]] }
        bs.append(try tx.insert("B", ["name": .string("\(i)")], relationships: l))
      }
      try tx.setMembers(a, "steps", bs.shuffled(using: &random))
      try tx.setMembers(a, "ts", ts)
      try tx.setMembers(a, "ots", ts.shuffled(using: &random))
      try tx.setMembers(a, "loose", ts)
      let hub = bs[0]
      try tx.setMembers(hub, "friends", bs)
      try tx.setMembers(ts[0], "obs", try tx.members(ts[0], "obs").shuffled(using: &random))
      for t in ts where Int.random(in: 0..<7, using: &random) == 0 {
        for name in ["ts", "ots", "loose"] where Bool.random(using: &random) { try tx.unlink(a, name, [t]) }
      }
      for b in bs.shuffled(using: &random).prefix(bCount / 5) { try tx.unlink(hub, "friends", [b]) }
    }
    return (a, bs, ts)
  }

  @Test("R10 random lists, several copies", .tags(.r10), arguments: 0..<8)
  func randomKeep(seed: Int) throws {
    var random = SeededGenerator(seed: UInt64(seed) + 1000)
    let fixture = try CloneStore(Self.web)
    let (a, _, ts) = try build(fixture, &random)
    let count = Int.random(in: 1...3, using: &random)
    let extra = Array(ts.shuffled(using: &random).prefix(Int.random(in: 0...ts.count, using: &random)))
    let before = try links(fixture.store)
    let pairs = Mutex<[ObjectID: [ObjectID]]>([:])
    var options = CloneOptions()
    options.count = count
    options.references = .keepOriginal
    options.didClone = { _, source, clone in pairs.withLock { $0[source, default: []].append(clone) } }
    let plan = try fixture.store.planClone([a] + extra, options: options)
    let result = try fixture.store.clone([a] + extra, options: options)
    #expect(plan.errors.isEmpty && plan.objectCount == result.objectCount)
    #expect(plan.affectedObjectIDs == result.affectedObjectIDs)
    #expect(plan.bytesWritten == result.bytesWritten, "seed \(seed)")
    #expect(plan.affectedObjectCount == result.affectedObjectCount)
    try fixture.expectClean()
    let after = try links(fixture.store)
    let copyOf = pairs.withLock { $0 }
    let kept: Set<String> = ["ts", "ots", "loose", "as_", "oas", "friends", "kind"]
    var wrong: [String] = []
    for (source, clones) in copyOf {
      let entity = String(try fixture.name(source).prefix(1))
      for (copy, clone) in clones.enumerated() {
        for (name, isMany, isOrdered) in Self.relationships[entity]! {
          var wanted = before[source]![name]!.map { kept.contains(name) ? $0 : copyOf[$0]?[copy] ?? $0 }
          if isMany, !isOrdered { wanted.sort() }
          if after[clone]![name]! != wanted { wrong.append("clone \(entity).\(name)") }
        }
      }
    }
    for (id, all) in before {
      let entity = String(try fixture.name(id).prefix(1))
      for (name, isMany, isOrdered) in Self.relationships[entity]! where isMany && name != "loose" {
        let old = all[name]!
        var wanted = old
        if copyOf[id] == nil || kept.contains(name) {
          for copy in 0..<count { wanted += old.compactMap { copyOf[$0]?[copy] } }
        }
        if !isOrdered { wanted.sort() }
        if after[id]![name]! != wanted { wrong.append("original \(entity).\(name)") }
      }
    }
    #expect(wrong.isEmpty, "\(Set(wrong))")
  }

  @Test("R35 random lists, several copies", .tags(.r35), arguments: 0..<8)
  func randomInto(seed: Int) throws {
    var random = SeededGenerator(seed: UInt64(seed) + 2000)
    let fixture = try CloneStore(Self.web)
    let other = try CloneStore(seed % 2 == 0 ? Self.web : Self.web.rearranged)
    let (a, _, ts) = try build(fixture, &random)
    var match: [ObjectID: ObjectID] = [:]
    for (i, t) in ts.enumerated().shuffled(using: &random) where Int.random(in: 0..<5, using: &random) > 0 {
      match[t] = try other.insert("T", ["name": "there", "code": .integer(Int64(i))])
    }
    let old = try other.insert("A")
    let oldB = try other.insert("B")
    try other.set(old, "ots", Array(match.values.sorted().prefix(30)))
    try other.set(old, "ts", Array(match.values.sorted().prefix(30)))
    if let first = match[ts[0]] { try other.set(first, "obs", [oldB]) }
    let count = Int.random(in: 1...3, using: &random)
    let extra = Array(ts.shuffled(using: &random).prefix(Int.random(in: 0...ts.count / 2, using: &random)))
    let before = try links(fixture.store)
    let theirs = try links(other.store)
    let pairs = Mutex<[ObjectID: [ObjectID]]>([:])
    var options = CloneOptions()
    options.count = count
    options.outsideObjects = .matchOrLeaveEmpty
    options.recordsProvenance = true
    options.didClone = { _, source, clone in pairs.withLock { $0[source, default: []].append(clone) } }
    let plan = try fixture.store.planClone([a] + extra, into: other.store, options: options)
    let result = try fixture.clone([a] + extra, into: other, options)
    #expect(plan.objectCount == result.objectCount && plan.affectedObjectIDs == result.affectedObjectIDs)
    let after = try links(other.store)
    let copyOf = pairs.withLock { $0 }
    var wrong: [String] = []
    for (source, clones) in copyOf {
      let entity = String(try fixture.name(source).prefix(1))
      for (copy, clone) in clones.enumerated() {
        for (name, isMany, isOrdered) in Self.relationships[entity]! {
          var wanted = before[source]![name]!.compactMap { copyOf[$0]?[copy] ?? match[$0] }
          if isMany, !isOrdered { wanted.sort() }
          if after[clone]![name]! != wanted { wrong.append("clone \(entity).\(name)") }
        }
      }
    }
    for (t, there) in match {
      for (name, _, isOrdered) in Self.relationships["T"]! {
        var wanted = theirs[there]![name]!
        if copyOf[t] == nil {
          for copy in 0..<count { wanted += before[t]![name]!.compactMap { copyOf[$0]?[copy] } }
        }
        if !isOrdered { wanted.sort() }
        if after[there]![name]! != wanted { wrong.append("there T.\(name)") }
      }
    }
    #expect(wrong.isEmpty, "\(Set(wrong))")
  }
}
