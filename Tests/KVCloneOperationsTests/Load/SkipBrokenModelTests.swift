import Foundation
import KVClone
import KVCloneOperations
import KVCloneTestSupport
import Testing

/// Random texts with broken lines, compared with a simple model of the remaining lines.
@Suite("Load: broken lines are skipped, random texts")
struct SkipBrokenModelTests {
  private static let model = ManagedObjectModel("Random") {
    EntityDescription("List", unique: [["key"]]) {
      AttributeDescription("key", .string, optional: false)
      AttributeDescription("rank", .integer32, min: .integer(0), max: .integer(9))
      RelationshipDescription("tasks", toMany: "Task", inverse: "list", max: 3)
      RelationshipDescription("hints", toMany: "Node", inverse: "hint", ordered: true)
    }
    EntityDescription("Task") {
      RelationshipDescription("list", toOne: "List", inverse: "tasks", optional: false)
    }
    EntityDescription("Node") {
      RelationshipDescription("next", toOne: "Node", inverse: "previous", optional: false)
      RelationshipDescription("previous", toMany: "Node", inverse: "next")
      RelationshipDescription("hint", toOne: "List", inverse: "hints")
    }
  }

  private enum Fault: CaseIterable {
    case malformed, unknownEntity, unknownProperty, wrongType, rank, noKey
  }

  private struct Line {
    let label: String
    let fault: Fault?
    let key: String
    /// Ids by relationship.
    let links: [String: String]

    var isList: Bool { label.hasPrefix("List/") }

    var required: String? { label.hasPrefix("Task/") ? "list" : label.hasPrefix("Node/") ? "next" : nil }

    var text: String {
      if fault == .malformed { return #"{"id":"\#(label)","attributes":{"# }
      var attributes = isList && fault != .noKey ? [#""key":"\#(key)""#] : []
      if fault == .rank { attributes.append(#""rank":10"#) }
      if fault == .wrongType { attributes.append(isList ? #""rank":"x""# : #""none":"x""#) }
      if fault == .unknownProperty { attributes.append(#""none":1"#) }
      let id = fault == .unknownEntity ? "No" + label : label
      let links = self.links.sorted { $0.key < $1.key }.map { #""\#($0.key)":"\#($0.value)""# }
      return #"{"id":"\#(id)","attributes":{\#(attributes.joined(separator: ","))},"#
        + #""relationships":{\#(links.joined(separator: ","))}}"#
    }
  }

  private static func lines(_ generator: inout SeededGenerator) -> [Line] {
    let count = generator.below(40) + 1
    let range = generator.below(2 * count) + 1
    let faults = generator.below(6)
    return (0..<count).map { _ in
      let entity = ["List", "List", "Task", "Task", "Task", "Node"][generator.below(6)]
      func list(_ generator: inout SeededGenerator) -> String {
        switch generator.below(12) {
        case 0: "@List/1"
        case 1: "@List/777"
        default: "List/\(generator.below(range))"
        }
      }
      var links: [String: String] = [:]
      if entity == "Task", !generator.chance(in: 12) { links["list"] = list(&generator) }
      if entity == "Node" {
        if !generator.chance(in: 12) { links["next"] = "Node/\(generator.below(range / 3 + 1))" }
        if generator.chance(in: 2) { links["hint"] = list(&generator) }
      }
      var fault: Fault?
      if generator.below(12) < faults { fault = Fault.allCases[generator.below(Fault.allCases.count)] }
      if entity != "List", fault == .rank || fault == .noKey { fault = nil }
      let key = generator.chance(in: 20) ? "stored" : "k\(generator.below(2 * count))"
      let serial = generator.below(entity == "Node" ? range / 3 + 1 : range)
      return Line(label: "\(entity)/\(serial)", fault: fault, key: key, links: links)
    }
  }

  /// Returns the positions of the remaining lines, if the store has `List/1` with the key `stored` and one task.
  private static func survivors(_ lines: [Line]) -> [Int] {
    var claimed: Set<String> = []
    var left = lines.indices.filter { place in
      let line = lines[place]
      if line.fault == .malformed || line.fault == .unknownEntity { return false }
      return claimed.insert(line.label).inserted && line.fault != .unknownProperty && line.fault != .wrongType
    }
    while true {
      let before = left.count
      let labels = Set(left.map { lines[$0].label })
      left.removeAll { place in
        let line = lines[place]
        if line.fault != nil { return true }
        guard let required = line.required else { return false }
        guard let target = line.links[required] else { return true }
        return target != "@List/1" && !labels.contains(target)
      }
      if left.count < before { continue }
      var keys: Set = ["stored"]
      left.removeAll { lines[$0].isList && !keys.insert(lines[$0].key).inserted }
      if left.count < before { continue }
      let tasks = Dictionary(grouping: left.filter { lines[$0].required == "list" }) { lines[$0].links["list"] ?? "" }
      left.removeAll { tasks[lines[$0].label, default: []].count > 3 }
      if left.count < before { continue }
      let surplus = Set(tasks["@List/1", default: []].dropFirst(2))
      left.removeAll { surplus.contains($0) }
      if left.count == before { return left }
    }
  }

  private static func makeStore() throws -> TestStore {
    let test = try TestStore(model)
    try test.store.write { tx in
      let list = try tx.insert("List", ["key": .string("stored")])
      try tx.insert("Task", [:], relationships: ["list": [list]])
    }
    return test
  }

  private static func load(_ text: String, into store: ObjectStore, _ options: LoadOptions) throws -> LoadResult {
    var rest = Array(text.utf8)[...]
    return try store.load(options) { buffer in
      buffer += rest.prefix(100)
      rest = rest.dropFirst(100)
      return !rest.isEmpty
    }
  }

  @Test("the lines that a simple model keeps are loaded with their links", arguments: PropertySeeds.seeds)
  func sameAsModel(_ seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    for round in 0..<40 {
      let lines = Self.lines(&generator)
      let text = lines.map(\.text).joined(separator: "\n")
      let place: Comment = "KVCLONE_SEEDS=\(seed), round \(round):\n\(text)"
      let left = Self.survivors(lines)
      let test = try Self.makeStore()
      let commit = try Self.commit(test.store)
      var options = LoadOptions()
      options.skipsBroken = true
      options.idLimit = .max
      let result = try Self.load(text, into: test.store, options)
      try checked(test.store)
      #expect(Set(result.ids.keys) == Set(left.map { lines[$0].label }), place)
      #expect(result.objectCount == left.count && result.skippedLineCount == lines.count - left.count, place)
      let skipped = Set(result.skipped.filter(\.isWholeObject).compactMap(\.error.line))
      #expect(skipped == Set(lines.indices.map { $0 + 1 }).subtracting(left.map { $0 + 1 }), place)
      var missingLinks = 0
      for index in left {
        for (relationship, target) in lines[index].links {
          let expected = target == "@List/1" ? "List/1" : result.ids[target]
          if expected == nil { missingLinks += 1 }
          let name = try #require(result.ids[lines[index].label])
          #expect(try test.store.members(name, relationship) == [expected].compactMap { $0 }, place)
        }
      }
      #expect(result.skippedLinkCount == missingLinks, place)
      if !left.contains(where: { lines[$0].links.values.contains("@List/1") }) {
        #expect(try Self.commit(test.store) == commit, place)
      }
      try Self.checkBatches(text, &generator, place)
    }
  }

  /// Returns the commit that changed the store's initial object.
  private static func commit(_ store: ObjectStore) throws -> UInt64 {
    try store.read { tx in try tx.object(try tx.objectID(named: "List/1")).commit }
  }

  /// Checks that the lines remaining after batches form a text without broken lines.
  private static func checkBatches(_ text: String, _ generator: inout SeededGenerator, _ place: Comment) throws {
    let test = try makeStore()
    var options = LoadOptions()
    options.skipsBroken = true
    options.idLimit = .max
    options.batch = generator.below(8) + 1
    let result = try load(text, into: test.store, options)
    try checked(test.store)
    #expect(result.ids.count == result.objectCount, place)
    #expect(try test.store.info().objectCount == result.objectCount + 2, place)
    var bytes: [UInt8] = []
    _ = try test.store.dump { piece in piece.withUnsafeBytes { bytes.append(contentsOf: $0) } }
    let second = try TestStore(model)
    let again = try load(String(decoding: bytes, as: UTF8.self), into: second.store, LoadOptions())
    #expect(again.objectCount == result.objectCount + 2, place)
  }
}
