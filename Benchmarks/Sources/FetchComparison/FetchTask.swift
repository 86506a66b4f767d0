import BenchmarkSupport
import ItemPeers

/// A task of both peers, with the project's target.
struct FetchTask: Sendable {
  /// The name for `--only`.
  let name: String
  let title: String
  /// The unit of one operation.
  let operation: String
  /// The minimum speedup over SQLite.
  let target: Double
  /// The limits for the number of operations in a round; within them, it is as many as the slower peer performs in the
  /// time of a round.
  let operations: ClosedRange<Int>
  /// Returns the work of a round with the given number of operations.
  let work: @Sendable (ItemGraph, inout Round, Int) -> Work

  /// The source of a round's work, created for each round. Both peers get the same work.
  struct Round: Sendable {
    var random: SeededGenerator
    /// The number of the next inserted item.
    var nextID: Int

    /// The next items to insert.
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
    // Each item of a list counts as a link and has two tags on average, so a third of the lists has about as many links
    // as there are items.
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

  /// Half of the items are flagged, so prices below about a fiftieth of the limit select one item in a hundred.
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

  /// One object with two links in a durable transaction.
  static let single = FetchTask(
    name: "single", title: "insert one object with two links in a durable transaction", operation: "transaction",
    target: 1, operations: 20...2_000
  ) { graph, round, count in .insertSingly(round.newItems(count, graph)) }
}
