import Foundation
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore

/// A model with relationships of every kind, and random graphs of it.
enum CloneWays {
  static let model = ManagedObjectModel("Ways") {
    EntityDescription("A") {
      AttributeDescription("name", .string)
      AttributeDescription("number", .integer32, userInfo: ["exclude": ""])
      AttributeDescription("note", .string, userInfo: ["exclude": ""])
      AttributeDescription("flag", .boolean)
      AttributeDescription("data", .binary)
      AttributeDescription("live", .string, transient: true)
      RelationshipDescription("bs", toMany: "B", inverse: "a")
      RelationshipDescription("steps", toMany: "B", inverse: "stepOf", ordered: true)
      RelationshipDescription("ts", toMany: "T", inverse: "as_")
      RelationshipDescription("ots", toMany: "T", inverse: "oas", ordered: true)
      RelationshipDescription("loose", toMany: "T", userInfo: ["clone": "reference"])
      RelationshipDescription("looseB", toMany: "B", ordered: true)
    }
    EntityDescription("B") {
      AttributeDescription("name", .string)
      AttributeDescription("number", .integer64, userInfo: ["exclude": ""])
      AttributeDescription("data", .binary)
      RelationshipDescription("a", toOne: "A", inverse: "bs")
      RelationshipDescription("stepOf", toOne: "A", inverse: "steps")
      RelationshipDescription("t", toOne: "T", inverse: "bs")
      RelationshipDescription("ot", toOne: "T", inverse: "obs")
      RelationshipDescription("kind", toOne: "T", userInfo: ["clone": "reference"])
      RelationshipDescription("friends", toMany: "B", inverse: "friends")
    }
    EntityDescription("SubB", parent: "B") {
      AttributeDescription("extra", .string)
      RelationshipDescription("others", toMany: "A")
    }
    EntityDescription("T") {
      AttributeDescription("name", .string)
      RelationshipDescription("as_", toMany: "A", inverse: "ts")
      RelationshipDescription("oas", toMany: "A", inverse: "ots", ordered: true)
      RelationshipDescription("bs", toMany: "B", inverse: "t")
      RelationshipDescription("obs", toMany: "B", inverse: "ot", ordered: true)
    }
  }

  static func build(_ fixture: CloneStore, _ random: inout SeededGenerator) throws -> [ObjectID] {
    try fixture.store.write { tx in
      let sizes = [2, 9, 14, 18, 40, 131]
      var ts: [ObjectID] = []
      var bs: [ObjectID] = []
      var aa: [ObjectID] = []
      for i in 0..<sizes.randomElement(using: &random)! { ts.append(try tx.insert("T", ["name": .string("\(i)")])) }
      for i in 0..<2 {
        aa.append(
          try tx.insert(
            "A",
            [
              "name": .string("a\(i)"), "number": .integer(7), "note": .string("nnnnnn"), "flag": .boolean(true),
              "data": .binary(Data(count: [0, 10, 3000].randomElement(using: &random)!)),
            ]))
      }
      for i in 0..<sizes.randomElement(using: &random)! {
        var l: [String: [ObjectID]] = [:]
        if Bool.random(using: &random) { l["a"] = [aa.randomElement(using: &random)!] }
        if Bool.random(using: &random) { l["t"] = [ts.randomElement(using: &random)!] }
        if Bool.random(using: &random) { l["ot"] = [ts[0]] }
        if Bool.random(using: &random) { l["kind"] = [ts[0]] }
        let isSub = Int.random(in: 0..<3, using: &random) == 0
        if isSub { l["others"] = aa }
        bs.append(
          try tx.insert(
            isSub ? "SubB" : "B",
            [
              "name": .string("\(i)"), "number": .integer(3),
              "data": .binary(Data(count: [0, 10, 3000].randomElement(using: &random)!)),
            ], relationships: l))
      }
      for a in aa {
        try tx.setMembers(a, "ts", ts)
        try tx.setMembers(a, "ots", ts.shuffled(using: &random))
        try tx.setMembers(a, "loose", ts)
        try tx.setMembers(a, "looseB", bs.shuffled(using: &random))
      }
      try tx.setMembers(aa[0], "steps", bs.shuffled(using: &random))
      try tx.setMembers(bs[0], "friends", bs)
      for a in aa {
        for t in ts where Bool.random(using: &random) {
          for name in ["ts", "ots", "loose"] where Bool.random(using: &random) { try tx.unlink(a, name, [t]) }
        }
        for b in bs where Int.random(in: 0..<4, using: &random) == 0 { try tx.unlink(a, "looseB", [b]) }
      }
      for b in bs where Int.random(in: 0..<4, using: &random) == 0 { try tx.unlink(bs[0], "friends", [b]) }
      var roots = [aa[0]]
      for t in ts where Int.random(in: 0..<6, using: &random) == 0 { roots.append(t) }
      return roots
    }
  }
}

/// Clones by different code paths, which must have equal results.
@Suite struct CloneWaysTests {
  private static let names = [
    "A.bs", "A.steps", "A.ts", "A.ots", "A.loose", "A.looseB", "B.a", "B.stepOf", "B.t", "B.ot", "B.kind", "B.friends",
    "SubB.others", "T.as_", "T.oas", "T.bs", "T.obs",
  ]

  @Test("the direct way, the general way and the way by a hook's answers make the same", arguments: 0..<30)
  func ways(seed: Int) throws {
    var outcomes: [String] = []
    for way in 0..<3 {
      var random = SeededGenerator(seed: UInt64(seed) + 5000)
      let fixture = try CloneStore(CloneWays.model)
      let roots = try CloneWays.build(fixture, &random)
      var options = CloneOptions()
      for name in Self.names where Int.random(in: 0..<4, using: &random) == 0 {
        options.rules[name] = [.follow, .reference, .skip].randomElement(using: &random)!
      }
      if Bool.random(using: &random) { options.excludedRelationshipNames = ["ots", "friends"] }
      options.count = Int.random(in: 1...2, using: &random)
      if Int.random(in: 0..<4, using: &random) == 0 { options.references = .keepOriginal }
      if way == 2 { options.willClone = { edge, _ in edge.rule } }
      var outcome: String
      do {
        let plan = try fixture.store.planClone(roots, options: options)
        let result: CloneResult
        if way == 1 {
          result = try fixture.store.write { tx in
            try tx.set(roots[0], "live", .string("x"))
            return try tx.clone(roots, options: options)
          }
        } else {
          result = try fixture.store.clone(roots, options: options)
        }
        #expect(plan.errors.isEmpty && plan.objectCount == result.objectCount)
        #expect(plan.affectedObjectIDs == result.affectedObjectIDs)
        #expect(plan.bytesWritten == result.bytesWritten, "seed \(seed)")
        #expect(plan.counts == result.counts && plan.blobsShared == result.blobsShared)
        try fixture.expectClean()
        outcome = try fixture.lines().joined(separator: "\n")
      } catch let error as CloneError {
        outcome = "\(error.kind)"
      }
      outcomes.append(outcome)
    }
    #expect(outcomes[0] == outcomes[1], "direct and general")
    #expect(outcomes[0] == outcomes[2], "direct and hook")
  }
}
