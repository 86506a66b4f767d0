import KVClone

extension KVClonePeer {
  package func run(_ work: Work) throws -> RowSum {
    switch work {
    case .insert(let items):
      try store.write { transaction in
        for item in items { try insert(item, &transaction) }
      }
      return RowSum()
    case .insertSingly(let items):
      for item in items { try store.write { transaction in try insert(item, &transaction) } }
      return RowSum()
    default: return try store.read { transaction in try read(work, transaction) }
    }
  }

  private func read(_ work: Work, _ transaction: borrowing ReadTransaction) throws -> RowSum {
    var sum = RowSum()
    switch work {
    case .fetchByID(let ids):
      for id in ids { try transaction.withObject(item(id)) { sum.add(try Item($0, attributes).digest) } }
    case .fetchByCode(let codes):
      for code in codes { try fetch(requests.code, ItemRequests.code(code), transaction, &sum) }
    case .fetchByRank(let ranges):
      for range in ranges { try fetch(requests.rank, ItemRequests.ranks(range), transaction, &sum) }
    case .firstByName(let count, let times):
      for _ in 0..<times { try append(requests.first(count, by: "name"), transaction, &sum) }
    case .firstByRank(let count, let times):
      for _ in 0..<times { try append(requests.first(count, by: "rank"), transaction, &sum) }
    case .walkItems(let times): for _ in 0..<times { try walkItems(transaction, &sum) }
    case .walkTags(let lists, let times): for _ in 0..<times { try walkTags(lists, transaction, &sum) }
    case .countMatches(let prices):
      for price in prices {
        sum.add(counted: try transaction.count(requests.match, ItemRequests.matches(below: price)))
      }
    case .fetchMatches(let prices):
      for price in prices { try fetch(requests.match, ItemRequests.matches(below: price), transaction, &sum) }
    case .insert, .insertSingly: break
    }
    return sum
  }

  private func fetch(
    _ request: PreparedRequest, _ values: QueryVariables, _ transaction: borrowing ReadTransaction,
    _ sum: inout RowSum
  ) throws {
    try transaction.forEachView(matching: request, values) { object in
      sum.add(try Item(object, attributes).digest)
      return true
    }
  }

  private func append(_ request: FetchRequest, _ transaction: borrowing ReadTransaction, _ sum: inout RowSum) throws {
    try transaction.forEachView(matching: request) { object in
      sum.append(try Item(object, attributes).digest)
      return true
    }
  }

  private func walkItems(_ transaction: borrowing ReadTransaction, _ sum: inout RowSum) throws {
    for number in 1...ItemGraph.listCount {
      try transaction.forEachMember(list(number), "items") { item in
        sum.add(link: number, Int(item.serial))
        return true
      }
    }
  }

  private func walkTags(_ lists: Int, _ transaction: borrowing ReadTransaction, _ sum: inout RowSum) throws {
    for number in 1...lists {
      for item in try transaction.members(list(number), "items") {
        sum.add(link: number, Int(item.serial))
        try transaction.forEachMember(item, "tags") { tag in
          sum.add(link: Int(item.serial), Int(tag.serial))
          return true
        }
      }
    }
  }

  package func readSingly(_ id: Int) throws -> UInt64 {
    try store.read { transaction in
      try transaction.withObject(item(id)) { try Item($0, attributes).digest }
    }
  }

  package func readBack(_ ids: Range<Int>) throws -> RowSum {
    try store.read { transaction in
      var sum = RowSum()
      for id in ids {
        let tags = try transaction.members(item(id), "tags").map { Int($0.serial) }
        let linked = try transaction.withObject(item(id)) { object in
          let list = Int(object.toOne("list")?.serial ?? 0)
          return LinkedItem(item: try Item(object, attributes), list: list, tags: tags)
        }
        sum.append(linked.digest)
      }
      sum.add(counted: try transaction.count(entity: "Item"))
      return sum
    }
  }

  package func plan(of query: PlannedQuery) throws -> String {
    try store.read { transaction in
      let steps =
        switch query {
        case .equality: try transaction.explain(requests.code, ItemRequests.code(1))
        case .range: try transaction.explain(requests.rank, ItemRequests.ranks(0..<1))
        case .twoAttributes: try transaction.explain(requests.match, ItemRequests.matches(below: 1))
        case .firstByName: try transaction.explain(requests.first(20, by: "name"))
        case .firstByRank: try transaction.explain(requests.first(20, by: "rank"))
        }
      return steps.joined(separator: "; ")
    }
  }
}
