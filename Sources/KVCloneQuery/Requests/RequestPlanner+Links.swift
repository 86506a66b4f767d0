import KVCloneCore

extension RequestPlanner {
  /// The search reads at most one of this many objects of the other entity: if it is abandoned for a full scan, its
  /// cost is small in comparison.
  private static let linkedShare = 16

  /// The best plan through an index of another entity; nil if none reads less than `limit` objects.
  ///
  /// Entries and lists include the transaction's own changes, as reading applies pending ones. They may lead to
  /// additional objects, which the whole condition excludes, but miss none.
  func linked(_ parts: [QueryCondition], limit: Int, _ session: borrowing Session) throws(StoreError) -> Choice? {
    let tests = Self.linkedTests(parts)
    if tests.isEmpty { return nil }
    var few = min(Self.firstCount, limit)
    if use != .always { few = min(few, try IndexReader.upperBound(entity, in: session) / Self.linkedShare + 1) }
    var best: Choice?
    for test in tests {
      guard let relationship = entity.relationshipIndexByCode[test.link.code].map({ entity.relationships[$0] }),
        let other = schema.entity(code: relationship.destinationCode),
        let inverse = entity.inverseLink(of: test.link, schema)
      else { continue }
      for index in try FetchExecutor.usableIndexes(of: other, in: session) {
        guard let scan = IndexScan(index, test.inner) else { continue }
        let most = min(few, best?.weight ?? few)
        guard let found = try IndexReader.entries(scan.intervals, fewerThan: most, in: session) else { continue }
        let search = LinkedSearch(entity: other, scan: scan, found: found, inverse: inverse)
        let count = try IndexReader.memberCount(found, inverse, areIndexed: true, in: session)
        let choice = Choice(source: .linked(search), count: count, passed: found.count)
        if choice.weight < best?.weight ?? limit { best = choice }
      }
    }
    return best
  }

  /// The parts' conditions on objects that relationships lead to; those on the target of a to-one relationship are
  /// combined.
  private static func linkedTests(_ parts: [QueryCondition]) -> [LinkedTest] {
    var tests: [LinkedTest] = []
    for part in parts {
      guard let test = LinkedTest(part) else { continue }
      if !test.link.isToMany, let place = tests.firstIndex(where: { $0.link.code == test.link.code }) {
        tests[place] = LinkedTest(test.link, tests[place].inner + test.inner)
      } else {
        tests.append(test)
      }
    }
    return tests
  }
}

extension CompiledEntity {
  /// The inverse of one of this entity's relationships, if the model has one.
  func inverseLink(of link: QueryLink, _ schema: Schema) -> QueryLink? {
    guard let index = relationshipIndexByCode[link.code] else { return nil }
    let relationship = relationships[index]
    guard relationship.hasInverse, let target = schema.entity(code: relationship.destinationCode),
      let inverse = target.inverse(of: relationship)
    else { return nil }
    return QueryLink(inverse)
  }
}
