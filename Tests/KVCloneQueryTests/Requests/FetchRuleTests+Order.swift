import Foundation
import KVClone
import KVCloneTestSupport
import Testing

@testable import KVCloneCore
@testable import KVCloneQuery

@Suite("Fetch rules: order, limits and sub-entities")
struct FetchOrderRuleTests {
  let f: FetchStore

  init() throws { f = try FetchStore() }

  private func ask(
    _ keys: [QuerySortDescriptor], _ format: String = "TRUEPREDICATE", limit: Int = 0, offset: Int = 0,
    in entity: String = "Thing",
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> String {
    let request = FetchRequest(
      entity, predicate: try QueryPredicate(format: format), sortDescriptors: keys, fetchLimit: limit,
      fetchOffset: offset)
    return try f.ask(request, sourceLocation: sourceLocation)
  }

  @Test("without sort keys, results come in the order in which they were inserted")
  func inserted() throws {
    try f.add("c", of: "Box")
    try f.add("a", of: "Special")
    try f.add("b", of: "Item")
    try f.add("d", of: "Box")
    #expect(try ask([]) == "c a b d")
    #expect(try f.ask(FetchRequest("Thing")) == "c a b d")
    #expect(try ask([], limit: 2) == "c a")
    #expect(try ask([], limit: 2, offset: 1) == "a b")
    #expect(try ask([], offset: 3) == "d")
    #expect(try ask([], offset: 9) == "")
    #expect(try ask([], "key != 'a'", limit: 1, offset: 1) == "b")
  }

  @Test("one key, both directions, nil before everything, then NaN")
  func directions() throws {
    try f.add("two", ["ratio": 2.0])
    try f.add("nil")
    try f.add("one", ["ratio": 1.0])
    try f.add("nan", ["ratio": .double(.nan)])
    try f.add("low", ["ratio": .double(-.infinity)])
    try f.add("high", ["ratio": .double(.infinity)])
    try f.add("uno", ["ratio": 1.0])
    #expect(try ask([QuerySortDescriptor(key: "ratio")]) == "nil nan low one uno two high")
    #expect(try ask([QuerySortDescriptor(key: "ratio", ascending: false)]) == "high two one uno low nan nil")
    #expect(try ask([QuerySortDescriptor(key: "ratio")], limit: 3) == "nil nan low")
    #expect(try ask([QuerySortDescriptor(key: "ratio", ascending: false)], limit: 4, offset: 1) == "two one uno low")
  }

  @Test("[numeric] counts runs of digits as numbers of any length, and no index has its order")
  func numeric() throws {
    for (key, name) in [
      ("a", "file10"), ("b", "file2"), ("c", "file02b"), ("d", "File1"), ("e", "file"), ("f", "file2a"),
      ("g", "file002"),
      ("h", "file123456789012345678901234567890"), ("i", "file99999999999999999999"), ("j", "2 of 3"), ("k", "10 of 3"),
      ("l", "file10.9"), ("m", "file10.10"), ("n", "٣"), ("o", ""),
    ] { try f.add(key, ["name": .string(name)]) }
    try f.add("p")
    let numeric = QuerySortDescriptor(key: "name", options: .numeric)
    #expect(try ask([numeric]) == "p o j k d e b g f c a l m i h n")
    #expect(try ask([QuerySortDescriptor(key: "name", ascending: false, options: .numeric)], limit: 4) == "n h i m")
    // The next key decides between strings that differ in leading zeros only.
    let plain = QuerySortDescriptor(key: "name")
    #expect(try ask([numeric, plain], "name LIKE 'file*2'") == "g b")
    let folded = QuerySortDescriptor(key: "name", options: [.numeric, .caseInsensitive])
    #expect(try ask([folded], "name BEGINSWITH[c] 'file'", limit: 3) == "e d b")
    let steps = try f.store.read { try $0.explain(FetchRequest("Item", sortDescriptors: [numeric], fetchLimit: 2)) }
    #expect(
      steps.last { $0.hasPrefix("sort by") }
        == "sort by name[numeric] ascending, then by id, keeping the first 2 objects in memory; no index has the order of "
        + "[numeric]")
    expectError(.invalidPredicate) {
      let comparison = QueryComparison(.keyPath(.`self`, ["name"]), .equal, .constant(.value("a")), options: .numeric)
      _ = try f.store.read { try $0.count(FetchRequest("Item", predicate: .comparison(comparison))) }
    }
  }

  @Test("[numeric] is the order of numbers with the texts around them")
  func numericOracle() {
    let seed = UInt64.random(in: 0 ... .max)
    var random = SeededGenerator(seed: seed)
    let pieces = ["", "a", "b", "0", "00", "1", "9", "10", "99", "100", "123456789", "1234567890", "/", ":", "é"]
    /// Returns the parts of a string: digits as their number, without leading zeros, and its length.
    func parts(_ text: String) -> [(rank: [Int], digits: String)] {
      var result: [(rank: [Int], digits: String)] = []
      var rest = Substring(text)
      while let first = rest.unicodeScalars.first {
        let run = rest.prefix { ("0"..."9").contains($0) }
        if run.isEmpty {
          result.append(([Int(first.value), 0], ""))
          rest = Substring(rest.unicodeScalars.dropFirst())
        } else {
          let number = String(run.drop { $0 == "0" })
          result.append(([0x30, number.count], number))
          rest = rest.dropFirst(run.count)
        }
      }
      return result
    }
    func precedes(_ left: String, _ right: String) -> Bool {
      for (one, other) in zip(parts(left), parts(right)) {
        // A number compares to other characters like its digits.
        if one.rank != other.rank { return one.rank.lexicographicallyPrecedes(other.rank) }
        if one.digits != other.digits { return one.digits < other.digits }
      }
      return parts(left).count < parts(right).count
    }
    for _ in 0..<20_000 {
      let texts = (0..<2).map { _ in
        (0..<3).map { _ in pieces[Int.random(in: pieces.indices, using: &random)] }.joined()
      }
      let keys = texts.map { QueryText.numericKey($0) }
      #expect(
        precedes(texts[0], texts[1]) == (QueryValue.order(keys[0], keys[1]) == .less), "\(texts), seed \(seed)")
    }
  }

  @Test("every type that has an order is sorted by it")
  func types() throws {
    func values(_ number: Int) -> [String: AttributeValue?] {
      [
        "name": .string("n\(number)"), "small": .integer(Int64(number)), "big": .integer(Int64(number) << 40),
        "weight": .float(Float(number) / 2), "price": .decimal(Decimal(number) / 8), "flag": .boolean(number > 2),
        "day": day(Double(number)), "place": ["city": .string("c\(number)"), "geo": ["lat": .double(Double(number))]],
      ]
    }
    try f.add("three", values(3))
    try f.add("one", values(1))
    try f.add("nil")
    try f.add("two", values(2))
    for key in ["name", "small", "big", "weight", "price", "day", "place.city", "place.geo.lat"] {
      #expect(try ask([QuerySortDescriptor(key: key)]) == "nil one two three", "\(key)")
      #expect(try ask([QuerySortDescriptor(key: key, ascending: false)]) == "three two one nil", "\(key)")
    }
    #expect(try ask([QuerySortDescriptor(key: "flag")]) == "nil one two three")
    #expect(try ask([QuerySortDescriptor(key: "flag", ascending: false)]) == "three one two nil")
  }

  @Test("texts are sorted by their code points, or with options")
  func texts() throws {
    for name in ["b", "A", "a", "B", "\u{E9}", "e", "\u{FFFD}", "\u{10000}"] {
      try f.add(name, ["name": .string(name)])
    }
    #expect(try ask([QuerySortDescriptor(key: "name")]) == "A B a b e \u{E9} \u{FFFD} \u{10000}")
    #expect(
      try ask([QuerySortDescriptor(key: "name", options: .caseInsensitive)], limit: 6) == "A a b B e \u{E9}")
    #expect(
      try ask([QuerySortDescriptor(key: "name", options: [.caseInsensitive, .diacriticInsensitive])], limit: 6)
        == "A a b B \u{E9} e")
    #expect(
      try ask([QuerySortDescriptor(key: "name", ascending: false, options: .diacriticInsensitive)], offset: 2)
        == "\u{E9} e b a B A")
  }

  @Test("several keys, key paths, and ties by ascending id")
  func several() throws {
    try f.add("p", ["name": "z", "small": 1])
    try f.add("q", ["name": "y", "small": 1])
    try f.add("a", ["small": 2, "medium": 1], ["parent": ["p"]])
    try f.add("b", ["small": 1, "medium": 2], ["parent": ["q"]])
    try f.add("c", ["small": 2, "medium": 2], ["parent": ["q"]])
    try f.add("d", ["small": 2, "medium": 1], ["parent": ["p"]])
    let (small, medium) = (QuerySortDescriptor(key: "small"), QuerySortDescriptor(key: "medium", ascending: false))
    #expect(try ask([small, medium]) == "b p q c a d")
    #expect(try ask([medium, small]) == "b c a d p q")
    #expect(try ask([QuerySortDescriptor(key: "parent.name")]) == "p q b c a d")
    #expect(try ask([QuerySortDescriptor(key: "parent.name", ascending: false), small]) == "a d b c p q")
    #expect(try ask([QuerySortDescriptor(key: "small", ascending: false)]) == "a c d p q b")
  }

  @Test("the first results of a sorted request are those of the unlimited one", arguments: [1, 2] as [UInt64])
  func prefixes(_ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let names: [AttributeValue?] = [nil, "a", "B", "b", "\u{E9}"]
    try f.store.write { tx in
      for _ in 0..<200 {
        let number = random.below(12)
        try tx.insert(
          random.chance(in: 3) ? "Box" : "Item",
          [
            "name": names[random.below(5)], "small": number == 0 ? nil : .integer(Int64(number / 3)),
            "ratio": number == 1 ? .double(.nan) : .double(Double(number)),
          ])
      }
    }
    try f.store.read { tx in
      for _ in 0..<150 {
        let keys = ["name", "small", "ratio"].shuffled(using: &random).prefix(random.below(4)).map {
          QuerySortDescriptor(
            key: $0, ascending: random.chance(in: 2),
            options: $0 == "name" && random.chance(in: 2) ? .caseInsensitive : [])
        }
        let predicate = random.chance(in: 2) ? try QueryPredicate(format: "small != 1") : nil
        let all = try tx.fetchIDs(FetchRequest("Thing", predicate: predicate, sortDescriptors: keys))
        #expect(Set(all).count == all.count)
        let (limit, offset) = (random.below(230), random.below(3) * random.below(100))
        let some = try tx.fetchIDs(
          FetchRequest(
            "Thing", predicate: predicate, sortDescriptors: keys, fetchLimit: limit, fetchOffset: offset))
        let rest = all.dropFirst(offset)
        #expect(some == Array(limit == 0 ? rest : rest.prefix(limit)), "seed \(seed), \(limit) from \(offset)")
      }
    }
  }

  @Test("sub-entities are included, or not")
  func subentities() throws {
    try f.add("i", ["rank": 1], of: "Item")
    try f.add("s", ["rank": 1, "extra": "x"], of: "Special")
    try f.add("b", of: "Box")
    try f.add("t", of: "Tag")
    #expect(try f.ask(FetchRequest("Thing")) == "i s b")
    #expect(try f.ask(FetchRequest("Item")) == "i s")
    #expect(try f.ask(FetchRequest("Special")) == "s")
    #expect(try f.ask(FetchRequest("Box")) == "b")
    #expect(try f.ask(FetchRequest("Thing", includesSubentities: false)) == "")
    #expect(try f.ask(FetchRequest("Item", includesSubentities: false)) == "i")
    #expect(try f.find("rank == 1", in: "Item") == "i s")
    #expect(try f.find("rank == 1 AND extra == 'x'", in: "Special") == "s")
    let one = FetchRequest("Item", predicate: try QueryPredicate(format: "rank == 1"), includesSubentities: false)
    #expect(try f.ask(one) == "i")
    #expect(try f.find("TRUEPREDICATE", in: "Tag") == "t")
  }
}
