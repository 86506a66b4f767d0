/// The work of a peer in one round of a task.
package enum Work: Sendable {
  /// Reads these items and all of their attributes.
  case fetchByID([Int])
  /// Finds the items with each of these codes.
  case fetchByCode([Int])
  /// Finds the items with a rank in each of these ranges.
  case fetchByRank([Range<Int>])
  /// Finds the first items by name, which has no index, repeatedly.
  case firstByName(Int, times: Int)
  /// Finds the first items by rank, which has an index, repeatedly.
  case firstByRank(Int, times: Int)
  /// Follows the links from every list to its items, repeatedly.
  case walkItems(times: Int)
  /// Follows the links from the first lists to their items, and on to their tags.
  case walkTags(lists: Int, times: Int)
  /// Counts the items that are flagged and cost less than each of these prices.
  case countMatches([Double])
  /// Fetches the items that are flagged and cost less than each of these prices.
  case fetchMatches([Double])
  /// Inserts the items in one durable transaction.
  case insert([LinkedItem])
  /// Inserts each item in its own durable transaction.
  case insertSingly([LinkedItem])
}

/// The tasks' queries with query plans in the report.
package enum PlannedQuery: String, CaseIterable {
  case equality
  case range
  case twoAttributes = "two attributes"
  case firstByName = "first 20 by name"
  case firstByRank = "first 20 by rank"
}

/// A store of the graph, used according to the recommendations of its library.
///
/// Each reading work runs in one read transaction, each writing work in the stated number of transactions.
package protocol Contestant: Sendable {
  static var title: String { get }

  /// Creates a store in a new folder, and fills it.
  init(making graph: ItemGraph, in folder: String) throws

  /// Performs the work.
  ///
  /// - Returns: the sum of the read rows; empty for inserts, which `readBack(_:)` verifies.
  func run(_ work: Work) throws -> RowSum

  /// Reads one item in its own read transaction, and returns its digest.
  func readSingly(_ id: Int) throws -> UInt64

  /// Returns the sum of the items with these numbers, their links, and the number of all items.
  func readBack(_ ids: Range<Int>) throws -> RowSum

  /// The peer's plan of a query, in its own format.
  func plan(of query: PlannedQuery) throws -> String

  func close() throws
}

extension LinkedItem {
  package var digest: UInt64 {
    var mixer = Mixer()
    mixer.add(item.digest)
    mixer.add(UInt64(list))
    for tag in tags { mixer.add(UInt64(tag)) }
    return mixer.value
  }
}
