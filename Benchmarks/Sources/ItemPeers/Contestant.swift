/// What a peer does in one round of a task.
package enum Work: Sendable {
  /// Read these items and all of their attributes.
  case fetchByID([Int])
  /// Find the items with each of these codes.
  case fetchByCode([Int])
  /// Find the items with a rank in each of these ranges.
  case fetchByRank([Range<Int>])
  /// Find the first so many items by name, which has no index, so many times.
  case firstByName(Int, times: Int)
  /// Find the first so many items by rank, which has one.
  case firstByRank(Int, times: Int)
  /// Go from every list to its items, so many times.
  case walkItems(times: Int)
  /// Go from the first so many lists to their items, and on to their tags.
  case walkTags(lists: Int, times: Int)
  /// Count the items that are flagged and cost less than each of these prices.
  case countMatches([Double])
  /// Find them.
  case fetchMatches([Double])
  /// Insert them in one durable transaction.
  case insert([LinkedItem])
  /// Insert each in a durable transaction of its own.
  case insertSingly([LinkedItem])
}

/// The tasks' queries of which both peers say how they answer them.
package enum PlannedQuery: String, CaseIterable {
  case equality
  case range
  case twoAttributes = "two attributes"
  case firstByName = "first 20 by name"
  case firstByRank = "first 20 by rank"
}

/// A store of the graph, used as its best user would.
///
/// Each piece of reading work is done in one read transaction, each piece of writing in as many as it says.
package protocol Contestant: Sendable {
  static var title: String { get }

  /// Makes a store in a folder that does not exist yet, and fills it.
  init(making graph: ItemGraph, in folder: String) throws

  /// Does the work.
  ///
  /// - Returns: the sum of what was read; of an insert, nothing: `readBack(_:)` tells what became of it.
  func run(_ work: Work) throws -> RowSum

  /// Reads one item in a read transaction of its own: its digest.
  func readSingly(_ id: Int) throws -> UInt64

  /// The items with these numbers and their links, and how many items there are in all.
  func readBack(_ ids: Range<Int>) throws -> RowSum

  /// How the peer would answer a query of the tasks, in its own words.
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
