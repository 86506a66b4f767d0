import KVClone
import KVCloneTestSupport
import Testing

@testable import KVCloneOperations

/// Loads that know the ids of later lines, compared with loads that link at the end of a batch, and with a simple model.
@Suite("Load: lines refer to later ones")
struct LoadReadAheadTests {
  private static let model = ManagedObjectModel("Later") {
    EntityDescription("Left") {
      AttributeDescription("name", .string)
      AttributeDescription("count", .integer64, derivation: "manys.@count")
      RelationshipDescription("one", toOne: "Right", inverse: "one")
      RelationshipDescription("many", toMany: "Right", inverse: "owner")
      RelationshipDescription("manys", toMany: "Right", inverse: "manys")
      RelationshipDescription("list", toMany: "Right", inverse: "set", ordered: true)
      RelationshipDescription("lists", toMany: "Right", inverse: "lists", ordered: true)
      RelationshipDescription("spouse", toOne: "Left", inverse: "spouse")
      RelationshipDescription("friends", toMany: "Left", inverse: "friends")
      RelationshipDescription("plain", toMany: "Left")
    }
    EntityDescription("Right") {
      AttributeDescription("name", .string)
      RelationshipDescription("one", toOne: "Left", inverse: "one")
      RelationshipDescription("owner", toOne: "Left", inverse: "many")
      RelationshipDescription("manys", toMany: "Left", inverse: "manys")
      RelationshipDescription("set", toMany: "Left", inverse: "list")
      RelationshipDescription("lists", toMany: "Left", inverse: "lists", ordered: true)
    }
    EntityDescription("Far", parent: "Right") { AttributeDescription("depth", .integer64) }
  }

  /// Two relationships that are each other's inverse.
  private struct Pair {
    let left: String
    let right: String?
    let isLeftToOne: Bool
    let isRightToOne: Bool
    /// Whether both ends are of the entity Left.
    let isWithin: Bool

    init(_ left: String, _ right: String?, _ isLeftToOne: Bool, _ isRightToOne: Bool, isWithin: Bool = false) {
      self.left = left
      self.right = right
      self.isLeftToOne = isLeftToOne
      self.isRightToOne = isRightToOne
      self.isWithin = isWithin
    }
  }

  private static let pairs = [
    Pair("one", "one", true, true), Pair("many", "owner", false, true), Pair("manys", "manys", false, false),
    Pair("list", "set", false, false), Pair("lists", "lists", false, false),
    Pair("spouse", "spouse", true, true, isWithin: true), Pair("friends", "friends", false, false, isWithin: true),
    Pair("plain", nil, false, false, isWithin: true),
  ]

  /// A graph, in which each link is stated by one of its ends at least.
  private struct Graph {
    /// Ids by position in the text.
    var labels: [String] = []
    /// The stated targets by label and relationship.
    var statements: [String: [String: [String]]] = [:]
    /// All links by label and relationship, except of those without an inverse.
    var links: [String: [String: Set<String>]] = [:]

    var text: String {
      let lines = labels.map { label in
        let statements = (statements[label] ?? [:]).sorted { $0.key < $1.key }.map { name, targets in
          let texts = targets.map { "\"\($0)\"" }.joined(separator: ",")
          let isToOne = LoadReadAheadTests.isToOne(name)
          return "\"\(name)\":" + (isToOne ? (targets.isEmpty ? "null" : texts) : "[\(texts)]")
        }
        return #"{"id":"\#(label)","attributes":{"name":"\#(label)"},"relationships":{"#
          + statements.joined(separator: ",") + "}}"
      }
      return lines.joined(separator: "\n")
    }
  }

  private static func isToOne(_ name: String) -> Bool { ["one", "owner", "spouse"].contains(name) }

  private static func graph(_ generator: inout SeededGenerator) -> Graph {
    var graph = Graph()
    let count = generator.below(generator.chance(in: 4) ? 90 : 30) + 2
    let lefts = (0..<count).map { "Left/\($0 + 1)" }
    let rights = (0..<count).map { generator.chance(in: 4) ? "Far/\($0 + 1)" : "Right/\($0 + 1)" }
    graph.labels = (lefts + rights).shuffled(using: &generator)
    // Objects that the store had before.
    let stored = ["@Left/1", "@Left/2", "@Right/1"]
    for pair in pairs {
      // Some objects are in many lists, or have long lists.
      let others = (pair.isWithin ? lefts : rights).prefix(generator.chance(in: 3) ? 2 : count)
      var made: Set<[String]> = []
      var partners: [String: [String: [String]]] = [:]
      func add(_ label: String, _ name: String, _ target: String) {
        partners[label, default: [:]][name, default: []].append(target)
      }
      for _ in 0..<generator.below(2 * count + 1) {
        guard var one = lefts.randomElement(using: &generator), var other = others.randomElement(using: &generator)
        else { continue }
        if generator.chance(in: 15) { one = stored[generator.below(2)] }
        if !one.hasPrefix("@"), !pair.isLeftToOne, !pair.isRightToOne, generator.chance(in: 15) {
          other = stored[pair.isWithin ? generator.below(2) : 2]
        }
        if one.hasPrefix("@"), pair.isLeftToOne || pair.isRightToOne || pair.right == nil { continue }
        if pair.isLeftToOne, partners[one]?[pair.left] != nil { continue }
        if let right = pair.right, pair.isRightToOne, partners[other]?[right] != nil { continue }
        if pair.isWithin, pair.isLeftToOne, partners[other] != nil || partners[one] != nil { continue }
        guard made.insert([one, other]).inserted else { continue }
        if pair.isWithin, pair.right != nil {
          if one != other, !made.insert([other, one]).inserted { continue }
          add(one, pair.left, other)
          if one != other { add(other, pair.left, one) }
        } else {
          add(one, pair.left, other)
          if let right = pair.right { add(other, right, one) }
        }
      }
      // A side is stated by all its owners, by some, or by none; links that no line states do not exist.
      let chances = (generator.below(3), generator.below(3))
      var stated: Set<[String]> = []
      for (label, byName) in partners where !label.hasPrefix("@") {
        for name in byName.keys {
          let isLeft = label.hasPrefix("Left")
          let chance = pair.right == nil ? 2 : isLeft ? chances.0 : chances.1
          if chance == 2 || chance == 1 && generator.chance(in: 2) { stated.insert([label, name]) }
        }
      }
      for (label, byName) in partners {
        for (name, targets) in byName {
          let back = pair.isWithin ? name : label.contains("Left") ? pair.right : pair.left
          let isStated = stated.contains([label, name])
          let kept = targets.filter { target in isStated || back.map { stated.contains([target, $0]) } == true }
          if isStated { graph.statements[label, default: [:]][name] = targets }
          if pair.right != nil { graph.links[label, default: [:]][name] = Set(kept) }
        }
      }
    }
    return graph
  }

  private static func makeStore() throws -> TestStore {
    let test = try TestStore(model)
    try test.store.write { tx in
      let left = try tx.insert("Left", ["name": AttributeValue.string("stored")])
      try tx.insert("Left", [:], relationships: ["friends": [left]])
      try tx.insert("Right", [:], relationships: ["lists": [left]])
    }
    return test
  }

  private static func load(
    _ texts: [String], into store: ObjectStore, batch: Int? = nil, chunk: Int = 1000
  ) throws -> LoadResult {
    var options = LoadOptions()
    options.batch = batch
    options.idLimit = .max
    var (pass, place) = (0, 0)
    return try LoadRun(store, options).loadRegularFile(
      from: { buffer in
        let bytes = texts[min(pass, texts.count - 1)].utf8
        buffer += bytes.dropFirst(place).prefix(chunk)
        place += chunk
        return place < bytes.count
      },
      rewind: { (pass, place) = (pass + 1, 0) })
  }

  private static func dump(_ store: ObjectStore) throws -> [Substring] {
    var bytes: [UInt8] = []
    _ = try store.dump { piece in piece.withUnsafeBytes { bytes.append(contentsOf: $0) } }
    // The header contains the store's identity.
    return String(decoding: bytes, as: UTF8.self).split(separator: "\n").dropFirst().map { $0 }
  }

  @Test("random graphs are loaded alike with and without ids of later lines", arguments: PropertySeeds.seeds)
  func sameAsAtTheEnd(_ seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    for round in 0..<60 {
      let graph = Self.graph(&generator)
      let text = graph.text
      let place: Comment = "KVCLONE_SEEDS=\(seed), round \(round):\n\(text)"
      let (ahead, atEnd) = (try Self.makeStore(), try Self.makeStore())
      let result = try Self.load([text], into: ahead.store, chunk: generator.below(300) + 1)
      let other = try Self.load([text], into: atEnd.store, batch: .max)
      try checked(ahead.store)
      try checked(atEnd.store)
      #expect(result.ids == other.ids, place)
      let (lines, expected) = (try Self.dump(ahead.store), try Self.dump(atEnd.store))
      for (line, expected) in zip(lines, expected) { #expect(line == expected, place) }
      for (label, links) in graph.links where !label.hasPrefix("@") {
        let name = try #require(result.ids[label])
        for (relationship, targets) in links {
          let expected = Set(targets.map { $0.hasPrefix("@") ? String($0.dropFirst()) : result.ids[$0] ?? "" })
          #expect(Set(try ahead.store.members(name, relationship)) == expected, place)
        }
      }
      // A dump states both sides of all links.
      let again = try TestStore(Self.model)
      _ = try Self.load([Self.dump(ahead.store).joined(separator: "\n")], into: again.store)
      try checked(again.store)
      #expect(try Self.dump(again.store).count == graph.labels.count + 3, place)
    }
  }

  @Test(
    "a file that changes between its two passes is rejected, and nothing is loaded",
    arguments: [
      [#"{"id":"Left/2"}"#, #"{"id":"Left/1"}"#],
      [#"{"id":"Left/1"}"#],
      [#"{"id":"Left/3"}"#, #"{"id":"Left/1"}"#, #"{"id":"Left/2"}"#],
      [#"{"id":"Left/1","relationships":{"friends":["Left/2"]}}"#, #"{"id":"Left/3"}"#],
    ])
  func changedFile(_ second: [String]) throws {
    let test = try Self.makeStore()
    let first = #"{"id":"Left/1"}"# + "\n" + #"{"id":"Left/2"}"#
    let error = #expect(throws: TransferError.self) {
      _ = try Self.load([first, second.joined(separator: "\n")], into: test.store)
    }
    #expect(error?.kind == .invalidFile)
    #expect(try test.store.info().objectCount == 3)
    try checked(test.store)
  }

  @Test("lines in any form are read ahead: header, blank lines, other orders of members, escapes, line feeds")
  func otherForms() throws {
    let test = try Self.makeStore()
    let text = """
      \u{FEFF}{"kvclone":1}

      {"attributes":{"name":"a"},"relationships":{"manys":["Far/1","Right/1"]},"id":"Left/1"}
        { "id" : "Right/1" }
      {"id":"\\u0046ar/1","relationships":{"manys":["Left/1"]}}
      {"id":"Left/\\u0032","relationships":{"friends":["Left/1"],"plain":["Left/1","Left/1"]}}
      """
    let result = try Self.load([text], into: test.store)
    try checked(test.store)
    #expect(result.ids == ["Left/1": "Left/3", "Right/1": "Right/2", "Far/1": "Far/3", "Left/2": "Left/4"])
    #expect(Set(try test.store.members("Left/3", "manys")) == ["Far/3", "Right/2"])
    #expect(try test.store.members("Left/3", "friends") == ["Left/4"])
    #expect(try test.store.members("Left/4", "plain") == ["Left/3"])
  }

  @Test("the id in the store of an object of the text means its line")
  func ownObjectAsStored() throws {
    for text in [
      """
      {"id":"Right/5","relationships":{"one":"Left/9"}}
      {"id":"Left/8","relationships":{"one":"@Right/2"}}
      {"id":"Left/9"}
      """,
      """
      {"id":"Right/5","relationships":{"owner":"Left/9"}}
      {"id":"Left/8","relationships":{"many":["@Right/2"]}}
      {"id":"Left/9","relationships":{"many":["Right/5"]}}
      """,
    ] {
      let test = try Self.makeStore()
      let error = #expect(throws: TransferError.self) { _ = try Self.load([text], into: test.store) }
      #expect(error?.kind == .inverseMismatch)
      #expect(try test.store.info().objectCount == 3)
      try checked(test.store)
    }
    let (ahead, atEnd) = (try Self.makeStore(), try Self.makeStore())
    var lines = [#"{"id":"Right/5"}"#, #"{"id":"Right/6"}"#]
    for number in 1...40 {
      let others = number <= 2 ? #","@Right/3""# : ""
      lines.append(#"{"id":"Left/\#(number)","relationships":{"manys":["@Right/2"\#(others)]}}"#)
    }
    _ = try Self.load([lines.joined(separator: "\n")], into: ahead.store)
    _ = try Self.load([lines.joined(separator: "\n")], into: atEnd.store, batch: .max)
    try checked(ahead.store)
    #expect(try Self.dump(ahead.store) == Self.dump(atEnd.store))
    #expect(try ahead.store.members("Right/2", "manys").count == 40)
  }

  @Test("lists stay in order if some of their members are also linked to objects of the store")
  func mixedTargets() throws {
    for count in [5, 19, 30, 600] {
      var lines = [#"{"id":"Right/5"}"#]
      for number in 1...count {
        let isMixed = number % 3 == 0 || number == count
        lines.append(
          #"{"id":"Left/\#(number)","relationships":{"manys":["Right/5"\#(isMixed ? #","@Right/1""# : "")]}}"#)
      }
      let (ahead, atEnd) = (try Self.makeStore(), try Self.makeStore())
      _ = try Self.load([lines.joined(separator: "\n")], into: ahead.store)
      _ = try Self.load([lines.joined(separator: "\n")], into: atEnd.store, batch: .max)
      try checked(ahead.store)
      #expect(try Self.dump(ahead.store) == Self.dump(atEnd.store))
      #expect(try ahead.store.members("Right/2", "manys").count == count)
    }
  }

  @Test("long lists are written with their lines, and get the members that only other lines state")
  func longLists() throws {
    let (ahead, atEnd) = (try Self.makeStore(), try Self.makeStore())
    let all = (1...3000).map { "\"Right/\($0)\"" }.joined(separator: ",")
    var lines = [#"{"id":"Left/1","relationships":{"manys":[\#(all)]}}"#]
    for number in 1...3000 {
      // The second owner is stated by its members, the third one by both.
      let owners = number % 3 == 0 ? #""Left/1","Left/2","Left/3""# : #""Left/1","Left/2""#
      lines.append(#"{"id":"Right/\#(number)","relationships":{"manys":[\#(owners)]}}"#)
    }
    lines.append(#"{"id":"Left/2"}"#)
    let third = stride(from: 3, through: 3000, by: 3).map { "\"Right/\($0)\"" }.joined(separator: ",")
    lines.append(#"{"id":"Left/3","relationships":{"manys":[\#(third)]}}"#)
    let text = lines.joined(separator: "\n")
    _ = try Self.load([text], into: ahead.store, chunk: 1 << 16)
    _ = try Self.load([text], into: atEnd.store, batch: .max, chunk: 1 << 16)
    try checked(ahead.store)
    #expect(try Self.dump(ahead.store) == Self.dump(atEnd.store))
    #expect(try ahead.store.members("Left/4", "manys").count == 3000)
    #expect(try ahead.store.members("Left/5", "manys").count == 1000)
  }
}
