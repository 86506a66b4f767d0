import KVCloneCore

extension RequestPlanner {
  /// One of so many objects is read of the other entity at most, to find out where it leads: what that costs is little
  /// beside reading everything, should it come to that.
  private static let linkedShare = 16

  /// The best way over an index of another entity; nil where there is none that reads less than `limit` objects.
  ///
  /// Entries and lists have what the transaction itself changed, as reading settles what waits. They may lead to objects
  /// that are not sought, which the whole condition tells, but miss none.
  func linked(_ parts: [QueryCondition], limit: Int, _ session: borrowing Session) throws(StoreError) -> Choice? {
    let tests = Self.linkedTests(parts)
    if tests.isEmpty { return nil }
    var few = min(Self.firstCount, limit)
    if use != .always { few = min(few, try session.upperBound(entity) / Self.linkedShare + 1) }
    var best: Choice?
    for test in tests {
      guard let relationship = entity.relationshipIndexByCode[test.link.code].map({ entity.relationships[$0] }),
        let other = schema.entity(code: relationship.destinationCode),
        let inverse = entity.inverseLink(of: test.link, schema)
      else { continue }
      for index in try session.usableIndexes(of: other) {
        guard let scan = IndexScan(index, test.inner) else { continue }
        let most = min(few, best?.weight ?? few)
        guard let found = try session.entries(scan.intervals, fewerThan: most) else { continue }
        let search = LinkedSearch(entity: other, scan: scan, found: found, inverse: inverse)
        let count = try session.memberCount(found, inverse, areIndexed: true)
        let choice = Choice(source: .linked(search), count: count, passed: found.count)
        if choice.weight < best?.weight ?? limit { best = choice }
      }
    }
    return best
  }

  /// What the parts say of objects that relationships lead to; of the one at a to-one relationship, all that is said.
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
  /// The relationship on the other side of one of this entity's, where the model has it.
  func inverseLink(of link: QueryLink, _ schema: Schema) -> QueryLink? {
    guard let index = relationshipIndexByCode[link.code] else { return nil }
    let relationship = relationships[index]
    guard relationship.hasInverse, let target = schema.entity(code: relationship.destinationCode),
      let inverse = target.inverse(of: relationship)
    else { return nil }
    return QueryLink(inverse)
  }
}
