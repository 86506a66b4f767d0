import BenchmarkSupport
import GRDB

extension SQLitePeer {
  package func run(_ work: Work) throws -> RowSum {
    switch work {
    case .insert(let items):
      try pool.write { database in
        let insertion = try ItemInsertion(database)
        for item in items { try insertion.run(item) }
      }
      return RowSum()
    case .insertSingly(let items):
      for item in items { try pool.write { database in try ItemInsertion(database).run(item) } }
      return RowSum()
    default: return try pool.read { database in try Self.read(work, database) }
    }
  }

  /// The queries of the tasks.
  private enum Query {
    static let byID = "SELECT \(Item.columns) FROM item WHERE id = ?"
    static let byCode = "SELECT \(Item.columns) FROM item WHERE code = ?"
    static let byRank = "SELECT \(Item.columns) FROM item WHERE rank >= ? AND rank < ?"
    static let firstByName = "SELECT \(Item.columns) FROM item ORDER BY name, id LIMIT ?"
    static let firstByRank = "SELECT \(Item.columns) FROM item ORDER BY rank, id LIMIT ?"
    static let countMatches = "SELECT COUNT(*) FROM item WHERE price < ? AND flag = 1"
    static let matches = "SELECT \(Item.columns) FROM item WHERE price < ? AND flag = 1"
    static let itemsOfList = "SELECT id FROM item WHERE list_id = ?"
    /// One statement for a list is faster than one for each of its items.
    static let tagsOfList = """
      SELECT item.id, item_tag.tag_id FROM item JOIN item_tag ON item_tag.item_id = item.id WHERE item.list_id = ?
      """
    static let tagsOfItem = "SELECT tag_id FROM item_tag WHERE item_id = ?"
  }

  private static func read(_ work: Work, _ database: Database) throws -> RowSum {
    var sum = RowSum()
    func fetch(_ sql: String, _ arguments: StatementArguments, _ body: (Item) -> Void) throws {
      let cursor = try Item.fetchCursor(try database.cachedStatement(sql: sql), arguments: arguments)
      while let item = try cursor.next() { body(item) }
    }
    switch work {
    case .fetchByID(let ids): for id in ids { sum.add(try Self.item(id, database).digest) }
    case .fetchByCode(let codes): for code in codes { try fetch(Query.byCode, [code]) { sum.add($0.digest) } }
    case .fetchByRank(let ranges):
      for range in ranges {
        try fetch(Query.byRank, [range.lowerBound, range.upperBound]) { sum.add($0.digest) }
      }
    case .firstByName(let count, let times):
      for _ in 0..<times { try fetch(Query.firstByName, [count]) { sum.append($0.digest) } }
    case .firstByRank(let count, let times):
      for _ in 0..<times { try fetch(Query.firstByRank, [count]) { sum.append($0.digest) } }
    case .walkItems(let times): for _ in 0..<times { try walkItems(database, &sum) }
    case .walkTags(let lists, let times): for _ in 0..<times { try walkTags(lists, database, &sum) }
    case .countMatches(let prices):
      for price in prices {
        let statement = try database.cachedStatement(sql: Query.countMatches)
        sum.add(counted: try Int.fetchOne(statement, arguments: [price]) ?? 0)
      }
    case .fetchMatches(let prices): for price in prices { try fetch(Query.matches, [price]) { sum.add($0.digest) } }
    case .insert, .insertSingly: break
    }
    return sum
  }

  private static func item(_ id: Int, _ database: Database) throws -> Item {
    let statement = try database.cachedStatement(sql: Query.byID)
    guard let item = try Item.fetchOne(statement, arguments: [id]) else {
      throw PeerFailure("SQLite has no item \(id)")
    }
    return item
  }

  private static func walkItems(_ database: Database, _ sum: inout RowSum) throws {
    let items = try database.cachedStatement(sql: Query.itemsOfList)
    for number in 1...ItemGraph.listCount {
      let cursor = try Int.fetchCursor(items, arguments: [number])
      while let item = try cursor.next() { sum.add(link: number, item) }
    }
  }

  /// Every item has a tag, so the join includes all items; its rows are grouped by item.
  private static func walkTags(_ lists: Int, _ database: Database, _ sum: inout RowSum) throws {
    let tags = try database.cachedStatement(sql: Query.tagsOfList)
    for number in 1...lists {
      let cursor = try Row.fetchCursor(tags, arguments: [number])
      var last = 0
      while let row = try cursor.next() {
        let item: Int = row[0]
        if item != last { sum.add(link: number, item) }
        last = item
        sum.add(link: item, row[1])
      }
    }
  }

  package func readSingly(_ id: Int) throws -> UInt64 {
    try pool.read { database in try Self.item(id, database).digest }
  }

  package func readBack(_ ids: Range<Int>) throws -> RowSum {
    try pool.read { database in
      var sum = RowSum()
      for id in ids {
        let item = try Self.item(id, database)
        let list = try Int.fetchOne(
          try database.cachedStatement(sql: "SELECT list_id FROM item WHERE id = ?"), arguments: [id])
        let tags = try Int.fetchAll(try database.cachedStatement(sql: Query.tagsOfItem), arguments: [id])
        sum.append(LinkedItem(item: item, list: list ?? 0, tags: tags).digest)
      }
      sum.add(counted: try Int.fetchOne(database, sql: "SELECT COUNT(*) FROM item") ?? 0)
      return sum
    }
  }

  package func plan(of query: PlannedQuery) throws -> String {
    let (sql, arguments): (String, StatementArguments) =
      switch query {
      case .equality: (Query.byCode, [1])
      case .range: (Query.byRank, [0, 1])
      case .twoAttributes: (Query.matches, [1])
      case .firstByName: (Query.firstByName, [20])
      case .firstByRank: (Query.firstByRank, [20])
      }
    return try pool.read { database in
      let rows = try Row.fetchAll(database, sql: "EXPLAIN QUERY PLAN " + sql, arguments: arguments)
      return rows.map { $0["detail"] as String }.joined(separator: "; ")
    }
  }
}
