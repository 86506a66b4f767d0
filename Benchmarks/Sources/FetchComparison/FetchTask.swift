import BenchmarkSupport
import ItemPeers

/// A task that both peers do, with what the project promises of it.
struct FetchTask: Sendable {
  /// Its name for `--only`.
  let name: String
  let title: String
  /// What one operation is.
  let operation: String
  /// How many times faster than SQLite it has to be.
  let target: Double
  /// How many operations a round may have: as many as the slower peer does in the time that a round is given.
  let operations: ClosedRange<Int>
  /// Makes the work of a round of so many operations.
  let work: @Sendable (ItemGraph, inout Round, Int) -> Work

  /// What a round's work is made of. It is made anew for each round, and both peers get the same.
  struct Round: Sendable {
    var random: SeededGenerator
    /// The number that the next item has which is inserted.
    var nextID: Int

    /// So many items that are to be inserted.
    mutating func newItems(_ count: Int, _ graph: ItemGraph) -> [LinkedItem] {
      defer { nextID += count }
      return (nextID..<nextID + count).map(graph.item)
    }
  }

  private static let firstCount = 20

  static func reading(_ graph: ItemGraph) -> [FetchTask] {
    fetches + sorts + walks(graph) + scans
  }

  private static let fetches = [
    FetchTask(
      name: "id", title: "fetch by id, all attributes decoded", operation: "object", target: 5,
      operations: 1_000...200_000
    ) { graph, round, count in
      .fetchByID((0..<count).map { _ in 1 + round.random.below(graph.itemCount) })
    },
    FetchTask(
      name: "equality", title: "indexed equality, 10 objects decoded", operation: "query", target: 2,
      operations: 5...20_000
    ) { graph, round, count in
      .fetchByCode((0..<count).map { _ in round.random.below(graph.codeCount) })
    },
    FetchTask(
      name: "range", title: "indexed range of 1 % of the objects, decoded", operation: "query", target: 2,
      operations: 2...50
    ) { _, round, count in
      let width = ItemGraph.rankCount / 100
      return .fetchByRank(
        (0..<count).map { _ in
          let low = round.random.below(ItemGraph.rankCount - width)
          return low..<low + width
        })
    },
  ]

  private static let sorts = [
    FetchTask(
      name: "sort", title: "first \(firstCount) by an attribute without index", operation: "query", target: 1,
      operations: 1...10
    ) { _, _, count in .firstByName(firstCount, times: count) },
    FetchTask(
      name: "sort-indexed", title: "first \(firstCount) by an indexed attribute", operation: "query", target: 1,
      operations: 1...5_000
    ) { _, _, count in .firstByRank(firstCount, times: count) },
  ]

  private static func walks(_ graph: ItemGraph) -> [FetchTask] {
    // An item of a list is a link, and has two on average.
    let lists = ItemGraph.listCount / 3
    return [
      FetchTask(
        name: "walk", title: "walk \(grouped(graph.itemCount)) to-many links, of all lists to their items",
        operation: "walk", target: 5, operations: 1...5
      ) { _, _, count in .walkItems(times: count) },
      FetchTask(
        name: "walk-tags",
        title:
          "walk about \(grouped(graph.itemCount)) to-many links, of \(lists) lists to their items and on to their tags",
        operation: "walk", target: 5, operations: 1...5
      ) { _, _, count in .walkTags(lists: lists, times: count) },
    ]
  }

  private static let scans = [
    FetchTask(
      name: "count", title: "full scan with a predicate on two attributes: count", operation: "query", target: 1,
      operations: 1...10
    ) { _, round, count in .countMatches(prices(count, &round)) },
    FetchTask(
      name: "scan", title: "full scan with a predicate on two attributes: fetch 1 %, decoded", operation: "query",
      target: 1, operations: 1...10
    ) { _, round, count in .fetchMatches(prices(count, &round)) },
  ]

  /// Half of the items are flagged: prices below about a fiftieth of the limit leave one in a hundred.
  private static func prices(_ count: Int, _ round: inout Round) -> [Double] {
    (0..<count).map { _ in ItemGraph.priceLimit / 50 + Double(round.random.below(200)) / 100 - 1 }
  }

  static func writing(batch: Int) -> [FetchTask] {
    [
      FetchTask(
        name: "insert",
        title: "insert \(grouped(batch)) objects with two links each in one durable transaction into the filled store",
        operation: "transaction", target: 2, operations: 1...1
      ) { graph, round, count in .insert(round.newItems(batch * count, graph)) },
      single,
    ]
  }

  /// One object, two links, and a durable transaction.
  static let single = FetchTask(
    name: "single", title: "insert one object with two links in a durable transaction", operation: "transaction",
    target: 1, operations: 20...2_000
  ) { graph, round, count in .insertSingly(round.newItems(count, graph)) }
}
