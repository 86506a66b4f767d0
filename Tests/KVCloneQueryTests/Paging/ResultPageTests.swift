import Foundation
import KVClone
import KVCloneTestSupport
import Testing

@testable import KVCloneCore
@testable import KVCloneQuery

private let pagingModel = ManagedObjectModel("Paging") {
  EntityDescription(
    "Thing",
    indexes: [
      fetchIndex("rank"), fetchIndex("-ratio"), fetchIndex("name"), fetchIndex("~name"), fetchIndex("day"),
      fetchIndex("amount"), fetchIndex("flag", "rank"), fetchIndex("code"), fetchIndex("link"),
    ]
  ) {
    AttributeDescription("name", .string)
    AttributeDescription("rank", .integer16)
    AttributeDescription("ratio", .double)
    AttributeDescription("amount", .decimal)
    AttributeDescription("day", .date)
    AttributeDescription("flag", .boolean)
    AttributeDescription("code", .uuid)
    AttributeDescription("link", .uri)
    RelationshipDescription("others", toMany: "Thing")
  }
  EntityDescription("Special", parent: "Thing") {}
  EntityDescription("Other") {
    AttributeDescription("name", .string)
  }
}

extension ReadTransaction {
  fileprivate borrowing func page(
    _ span: PageSpan, of request: FetchRequest, use: RequestPlanner.IndexUse = .whereCheaper
  ) throws(StoreError) -> ResultPage {
    try span.page(of: request, use: use, in: self)
  }
}

/// Pages, one after the other, have all results of a request: each once, and in order.
@Suite("Pages of results")
struct ResultPageTests {
  private static let texts = [
    "", "a", "A", "ä", "Ab", "b", "bb", "ß", "x\0y", String(repeating: "x", count: 700),
    String(repeating: "x", count: 700) + "a", String(repeating: "X", count: 700) + "B", "\u{10FFFF}",
  ]
  private static let numbers: [Double] = [0, -0.0, 1, 1.5, -2, .nan, .infinity, -.infinity]
  private static let predicates = [
    "TRUEPREDICATE", "rank > 1", "flag == YES", "flag == YES AND rank >= 0", "flag == YES OR rank == 2",
    "name BEGINSWITH[cd] 'x'", "rank IN {0, 2, 5}", "rank == 1", "ratio < 1.5", "name == nil", "FALSEPREDICATE",
    "others.@count > 0",
  ]
  private static let orders: [[QuerySortDescriptor]] = [
    [], [.init(key: "rank")], [.init(key: "rank", ascending: false)], [.init(key: "ratio")],
    [.init(key: "ratio", ascending: false)], [.init(key: "name")], [.init(key: "name", ascending: false)],
    [.init(key: "name", options: [.caseInsensitive, .diacriticInsensitive])],
    [.init(key: "name", ascending: false, options: [.caseInsensitive, .diacriticInsensitive])],
    [.init(key: "name", options: .caseInsensitive)], [.init(key: "day")], [.init(key: "day", ascending: false)],
    [.init(key: "amount", ascending: false)], [.init(key: "code")], [.init(key: "link", ascending: false)],
    [.init(key: "flag"), .init(key: "rank")],
    [.init(key: "flag", ascending: false), .init(key: "rank", ascending: false)],
    [.init(key: "rank"), .init(key: "name", ascending: false)], [.init(key: "others.@count", ascending: false)],
  ]

  private let test: TestStore

  init() throws { test = try TestStore(pagingModel) }

  private func insert(
    _ count: Int, _ random: inout SeededGenerator, _ transaction: inout WriteTransaction
  ) throws -> [ObjectID] {
    var ids: [ObjectID] = []
    for _ in 0..<count {
      var values: [String: AttributeValue] = [:]
      func set(_ name: String, _ value: AttributeValue) { if !random.chance(in: 5) { values[name] = value } }
      let number = Self.numbers[random.below(Self.numbers.count)]
      set("name", .string(Self.texts[random.below(Self.texts.count)]))
      set("rank", .integer(Int64(random.below(7)) - 1))
      set("ratio", .double(number))
      set("amount", .decimal(random.chance(in: 8) ? .nan : Decimal(random.below(5)) / 4))
      set("day", .date(Date(timeIntervalSinceReferenceDate: number)))
      set("flag", .boolean(random.chance(in: 2)))
      set("code", .uuid(UUID(uuid: (UInt8(random.below(3)), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1))))
      set("link", .uri("x:\(Self.texts[random.below(4)].count)"))
      let id = try transaction.insert(random.chance(in: 3) ? "Special" : "Thing", values)
      if let other = ids.last, random.chance(in: 3) { try transaction.link(id, "others", other) }
      ids.append(id)
    }
    return ids
  }

  /// - Parameter isOfValues: without counts of links, which change when other objects are deleted.
  private func request(_ random: inout SeededGenerator, isOfValues: Bool = false) throws -> FetchRequest {
    let (predicates, orders) = (Self.predicates.count, Self.orders.count)
    return FetchRequest(
      random.chance(in: 4) ? "Special" : "Thing",
      predicate: try QueryPredicate(format: Self.predicates[random.below(isOfValues ? predicates - 1 : predicates)]),
      sortDescriptors: Self.orders[random.below(isOfValues ? orders - 1 : orders)],
      includesSubentities: !random.chance(in: 3))
  }

  private func use(_ random: inout SeededGenerator) -> RequestPlanner.IndexUse {
    [.whereCheaper, .always, .never][random.below(3)]
  }

  @Test("all pages together are the results, from either end", arguments: PropertySeeds.seeds)
  func wholeResults(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    try test.store.write { tx in _ = try insert(150, &random, &tx) }
    for _ in 0..<PropertySeeds.count(150) {
      let request = try request(&random)
      let all = try test.store.read { tx in try tx.ids(request, .never) }
      for isBackward in [false, true] {
        var found: [ObjectID] = []
        var position: ResultPosition?
        while true {
          let limit = 1 + random.below(40)
          let span =
            isBackward
            ? PageSpan(before: position, limit: limit) : PageSpan(after: position, limit: limit)
          let page = try test.store.read { tx in try tx.page(span, of: request, use: use(&random)) }
          #expect(page.ids.count <= limit)
          found = isBackward ? page.ids + found : found + page.ids
          position = isBackward ? page.first : page.last
          guard page.hasMore else { break }
          try #require(page.ids.count == limit, "seed \(seed): a page with further results is full")
        }
        #expect(found == all, "seed \(seed), backward \(isBackward): \(request)")
      }
    }
  }

  @Test("pages around a position", arguments: PropertySeeds.seeds)
  func aroundPosition(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    try test.store.write { tx in _ = try insert(120, &random, &tx) }
    for _ in 0..<PropertySeeds.count(100) {
      let request = try request(&random)
      let all = try test.store.read { tx in try tx.ids(request, .never) }
      guard !all.isEmpty else { continue }
      let place = random.below(all.count)
      let limit = 1 + random.below(20)
      try test.store.read { tx in
        let until = try tx.page(PageSpan(limit: place + 1), of: request, use: use(&random))
        let position = try #require(until.last)
        #expect(position.id == all[place])
        let after = try tx.page(PageSpan(after: position, limit: limit), of: request, use: use(&random))
        #expect(after.ids == Array(all.dropFirst(place + 1).prefix(limit)), "seed \(seed): \(request)")
        #expect(after.hasMore == (all.count - place - 1 > limit))
        let before = try tx.page(PageSpan(before: position, limit: limit), of: request, use: use(&random))
        #expect(before.ids == Array(all.prefix(place).suffix(limit)), "seed \(seed): \(request)")
        #expect(before.hasMore == (place > limit))
      }
    }
  }

  @Test("inserts and deletions between pages neither repeat nor hide other results", arguments: PropertySeeds.seeds)
  func changesBetweenPages(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var existing = try test.store.write { tx in try insert(100, &random, &tx) }
    for _ in 0..<PropertySeeds.count(40) {
      let request = try request(&random, isOfValues: true)
      var lasting = Set(try test.store.read { tx in try tx.ids(request, .never) })
      var found: [ObjectID] = []
      var position: ResultPosition?
      let isBackward = random.chance(in: 2)
      while true {
        let limit = 1 + random.below(30)
        let span =
          isBackward ? PageSpan(before: position, limit: limit) : PageSpan(after: position, limit: limit)
        let page = try test.store.read { tx in try tx.page(span, of: request, use: use(&random)) }
        found = isBackward ? page.ids + found : found + page.ids
        position = isBackward ? page.first : page.last
        guard page.hasMore else { break }
        try test.store.write { tx in
          for _ in 0..<random.below(4) where existing.count > 50 {
            // Often the object of the position itself.
            let victim = random.chance(in: 2) ? position?.id ?? existing[0] : existing[random.below(existing.count)]
            guard let place = existing.firstIndex(of: victim) else { continue }
            existing.remove(at: place)
            lasting.remove(victim)
            try tx.delete(victim)
          }
          existing += try insert(random.below(5), &random, &tx)
        }
      }
      #expect(Set(found).count == found.count, "seed \(seed): a result is repeated: \(request)")
      #expect(lasting.isSubset(of: found), "seed \(seed): a result is missing: \(request)")
      let kept = found.filter { lasting.contains($0) }
      let all = try test.store.read { tx in try tx.ids(request, .never) }.filter { lasting.contains($0) }
      #expect(kept == all, "seed \(seed): the order is wrong: \(request)")
    }
  }

  @Test("a position of another order, entity or type is refused or empty, and never a crash")
  func foreignPositions() throws {
    var random = SeededGenerator(seed: 1)
    try test.store.write { tx in _ = try insert(20, &random, &tx) }
    let root = try test.store.read { tx in try #require(try tx.fetchIDs(FetchRequest("Thing")).first) }.rootCode
    let byRank = FetchRequest("Thing", sortDescriptors: [.init(key: "rank")])
    try test.store.read { tx in
      for id in [
        ObjectID(rawValue: 0), ObjectID(rawValue: .max), ObjectID(rootCode: root, serial: ObjectID.maximumSerial),
      ] {
        for isBackward in [false, true] {
          func span(_ keys: [QueryValue]) -> PageSpan {
            let position = ResultPosition(keys: keys, id: id)
            return isBackward ? PageSpan(before: position, limit: 5) : PageSpan(after: position, limit: 5)
          }
          #expect(throws: StoreError.self) { try tx.page(span([.integer(1)]), of: FetchRequest("Thing")) }
          #expect(throws: StoreError.self) { try tx.page(span([]), of: byRank) }
          #expect(throws: StoreError.self) { try tx.page(span([.string("1")]), of: byRank, use: .always) }
          _ = try tx.page(span([.string("1")]), of: byRank, use: .never)
          _ = try tx.page(span([.integer(1)]), of: byRank, use: .always)
          _ = try tx.page(span([]), of: FetchRequest("Thing"))
        }
      }
    }
  }

  @Test("a page in the order of an index does not count the entries of its range")
  func planReadsTheIndexInOrder() throws {
    var random = SeededGenerator(seed: 2)
    try test.store.write { tx in _ = try insert(1500, &random, &tx) }
    let request = FetchRequest(
      "Thing", predicate: try QueryPredicate(format: "rank >= 0"), sortDescriptors: [.init(key: "rank")],
      fetchLimit: 50)
    let plan = try test.store.read { tx in try tx.explain(request) }
    #expect(plan.contains("in index order: rank ascending"))
    let page = try test.store.read { tx in try tx.page(PageSpan(limit: 50), of: request) }
    #expect(!page.sortsMatches)
    let unsorted = FetchRequest("Thing", sortDescriptors: [.init(key: "others.@count")])
    #expect(try test.store.read { tx in try tx.page(PageSpan(limit: 50), of: unsorted) }.sortsMatches)
  }
}
