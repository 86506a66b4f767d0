import KVCloneCore
import KVCloneModel

/// Chooses the source of a request's objects that probably reads the least.
///
/// The cost is the number of records that are read sequentially; a lookup counts as `lookupCost` of them. The entries
/// of an index range are counted up to the number at which a full scan is cheaper.
package struct RequestPlanner {
  package enum IndexUse: Sendable {
    case whereCheaper
    /// For tests: uses any applicable index.
    case always
    case never
  }

  let entity: CompiledEntity
  let schema: Schema
  /// The entity codes of the wanted objects.
  let wantedCodes: Set<UInt16>
  let indexes: [RequestIndex]
  let use: IndexUse
  let order: [CompiledRequest.Order]
  /// The maximum number of results.
  let wanted: Int?
  /// Whether results are only counted.
  var isCount = false

  typealias Source = CompiledRequest.Source

  struct Choice {
    var source: Source
    /// The number of objects to examine, as far as counted; nil if unknown.
    var count: Int?
    var isExact = false
    /// The objects themselves, if there are few.
    var found: [ObjectID]?
    /// The number of objects of other entities that are read on the way.
    var passed = 0

    /// The number of objects that are read.
    var weight: Int {
      let (sum, overflows) = (count ?? .max).addingReportingOverflow(passed)
      return overflows ? .max : sum
    }
  }

  /// The cost of looking up a record, in sequentially read records.
  static let lookupCost = 4
  /// The number of entries that are counted first, for every applicable index range.
  static let firstCount = 1000
  /// The assumed selectivity of conditions that an index does not cover: one of this many objects.
  private static let guessedShare = 10

  func choose(_ condition: QueryCondition?, _ session: borrowing Session) throws(StoreError) -> Choice {
    if case .constant(false)? = condition { return Choice(source: .objects([]), count: 0) }
    let parts = condition?.parts ?? []
    let tests = use == .never ? [] : parts.map { ColumnTest($0) }
    let narrowest = try narrowest(parts, tests, session)
    // Looking up a moderate number of named objects is always the cheapest.
    if let narrowest, narrowest.source.isOfNamedObjects, narrowest.count ?? 0 < Self.firstCount { return narrowest }
    if let narrowest, order.isEmpty, isSurelyCheaper(narrowest) { return narrowest }
    let everything = try IndexReader.upperBound(entity, in: session)
    let inOrder = try inOrder(tests, everything, session)
    if use == .always, let inOrder { return inOrder.choice }
    var best = inOrder?.choice ?? Choice(source: .entity, count: nil)
    var cost = min(use == .always ? Int.max : everything, inOrder?.cost ?? .max)
    if let inOrder, inOrder.cost > cost { best = Choice(source: .entity, count: nil) }
    if let narrowest {
      let counted = try recounted(narrowest, limit: min(cost, everything) / Self.lookupCost + 1, session)
      let found = price(counted)
      if found < cost { (best, cost) = (counted, found) }
    }
    return best
  }

  /// The cheapest scan in the order of the request, if an index has it.
  private func inOrder(
    _ tests: [ColumnTest?], _ everything: Int, _ session: borrowing Session
  ) throws(StoreError) -> (choice: Choice, cost: Int)? {
    if order.isEmpty || use == .never { return nil }
    var best: (choice: Choice, cost: Int)?
    for index in indexes {
      guard let candidate = try ordered(index, tests, everything, session) else { continue }
      if best.map({ candidate.cost <= $0.cost }) ?? true { best = candidate }
    }
    return best
  }

  /// Whether the ids of the few found objects prove that there are more than enough others.
  private func isSurelyCheaper(_ choice: Choice) -> Bool {
    guard let found = choice.found else { return false }
    let most = UInt64(found.count * Self.lookupCost)
    return found.isEmpty || found.contains { $0.rootCode == entity.rootCode && $0.serial > most }
  }

  /// The source with the fewest objects, other than all objects of the entity; nil if no other source exists.
  ///
  /// - Parameter tests: the condition of each part on one stored value.
  private func narrowest(
    _ parts: [QueryCondition], _ tests: [ColumnTest?], _ session: borrowing Session
  ) throws(StoreError) -> Choice? {
    var best: Choice?
    func offer(_ choice: Choice) {
      if best.map({ choice.weight < $0.weight }) ?? true { best = choice }
    }
    for part in parts {
      if case .any(let branches) = part, let union = try union(branches, session) { offer(union) }
      guard case .comparison(let test) = part else { continue }
      if test.modifier == .direct, case .current = test.left.node, let targets = test.namedObjects {
        return Choice(source: .objects(targets), count: targets.count)
      }
      guard let (link, targets) = test.linkedObjects, let inverse = entity.inverseLink(of: link, schema) else {
        continue
      }
      offer(
        Choice(source: .members(targets, inverse), count: try IndexReader.memberCount(targets, inverse, in: session)))
    }
    guard use != .never else { return best }
    for index in indexes {
      guard let scan = IndexScan(index, tests) else { continue }
      let (count, found) = try IndexReader.fewEntries(scan.intervals, limit: Self.firstCount, in: session)
      offer(Choice(source: .index(scan), count: count, isExact: isExact(scan), found: found))
    }
    if let choice = try linked(parts, limit: best?.weight ?? .max, session) { offer(choice) }
    return best
  }

  /// The objects of all branches of an OR, if each can be narrowed down.
  private func union(_ branches: [QueryCondition], _ session: borrowing Session) throws(StoreError) -> Choice? {
    var found: [CompiledRequest.Branch] = []
    var (count, passed) = (0, 0)
    for branch in branches {
      let parts = branch.parts
      guard let choice = try narrowest(parts, parts.map { ColumnTest($0) }, session) else { return nil }
      found.append(CompiledRequest.Branch(source: choice.source, estimate: choice.count))
      count += choice.count ?? 0
      passed += choice.passed
    }
    return Choice(source: .union(found), count: count, passed: passed)
  }

  /// A scan in index order, if that is the request's order.
  private func ordered(
    _ index: RequestIndex, _ tests: [ColumnTest?], _ everything: Int, _ session: borrowing Session
  ) throws(StoreError) -> (choice: Choice, cost: Int)? {
    guard let scan = IndexScan.ordered(index, tests),
      let ordered = OrderedScan(scan, order)
    else { return nil }
    // The first results of an exact scan cost the same for any number of entries.
    let isShort = scan.isExact && wanted ?? .max < Self.firstCount
    let limit = isShort ? Self.firstCount : max(Self.firstCount, everything / Self.lookupCost + 1)
    var count = everything
    if scan.limitedCount > 0 {
      let counted = try IndexReader.countEntries(scan.intervals, limit: limit, in: session)
      // A count that reached its limit means only that there are many.
      if counted < limit { count = counted }
    }
    var looked = count
    if let wanted {
      looked = min(count, scan.isExact || wanted > count / Self.guessedShare ? wanted : wanted * Self.guessedShare)
    }
    let choice = Choice(source: .ordered(ordered), count: looked, isExact: isExact(scan))
    return (choice, price(choice))
  }

  /// Continues counting where the first count reached its limit.
  private func recounted(_ choice: Choice, limit: Int, _ session: borrowing Session) throws(StoreError) -> Choice {
    guard choice.count ?? 0 >= Self.firstCount else { return choice }
    // The length of lists is known.
    if case .linked = choice.source { return choice }
    var choice = choice
    if let wanted = readInOrder(choice) {
      choice.count = wanted
    } else {
      choice.count = try count(choice.source, limit: max(Self.firstCount, limit), session)
    }
    return choice
  }

  /// The number of objects that are read from an index in the request's order until enough are found; nil for all.
  private func readInOrder(_ choice: Choice) -> Int? {
    guard case .index(let scan) = choice.source, choice.isExact, order.isEmpty, let wanted else { return nil }
    // Counting ends at the limit, whatever the order.
    return isCount || scan.isInOrderOfIDs && wanted < Self.firstCount ? wanted : nil
  }

  /// Counts the objects of a source, with duplicates for several branches of an OR; up to about `limit`.
  private func count(_ source: Source, limit: Int, _ session: borrowing Session) throws(StoreError) -> Int {
    switch source {
    case .entity: return limit
    case .objects(let ids): return ids.count
    case .members(let owners, let link): return try IndexReader.memberCount(owners, link, in: session)
    case .linked(let search):
      return try IndexReader.memberCount(search.found, search.inverse, areIndexed: true, in: session)
    case .index(let scan): return try IndexReader.countEntries(scan.intervals, limit: limit, in: session)
    case .ordered(let ordered): return try IndexReader.countEntries(ordered.scan.intervals, limit: limit, in: session)
    case .union(let branches):
      var sum = 0
      for branch in branches where sum < limit { sum += try count(branch.source, limit: limit - sum, session) }
      return sum
    }
  }

  private func price(_ choice: Choice) -> Int {
    let (cost, overflows) = choice.weight.multipliedReportingOverflow(by: Self.lookupCost)
    return overflows ? .max : cost
  }

  /// Whether an entry's object needs no further test, including its entity.
  private func isExact(_ scan: IndexScan) -> Bool {
    guard scan.isExact, let code = scan.index.entityCode, let declaring = schema.entity(code: code) else {
      return false
    }
    // For the request's own entity, the wanted codes are a subset of its codes.
    if declaring === entity { return wantedCodes.count == entity.concreteCodes.count }
    return declaring.concreteCodes.isSubset(of: wantedCodes)
  }
}

extension CompiledRequest.Source {
  /// Whether the condition itself names the objects, or their owners.
  fileprivate var isOfNamedObjects: Bool {
    switch self {
    case .objects, .members: true
    default: false
    }
  }
}

extension QueryTest {
  /// The objects that the left side has to be one of; nil for other comparisons.
  fileprivate var namedObjects: [ObjectID]? {
    switch (self.operator, right.constant) {
    case (.equal, .object(let id)?): return [id]
    case (.in, .list(let values)?):
      var objects: [ObjectID] = []
      for value in values {
        // nil is a value too, and names no object.
        guard case .object(let id) = value else { return nil }
        objects.append(id)
      }
      return objects
    default: return nil
    }
  }
}

extension QueryTest {
  /// The objects that a relationship has to lead to, and that relationship: `owner == X`, `ANY tags == X`, `tags
  /// CONTAINS X`, `X IN tags`. Nil for other comparisons.
  fileprivate var linkedObjects: (link: QueryLink, targets: [ObjectID])? {
    let isTurned = self.operator == .in && right.constant == nil
    let (members, other) = isTurned ? (right, left) : (left, right)
    guard case .relationship(let owner, let link) = members.node, case .current = owner.node else { return nil }
    let asksForMember = isTurned || self.operator == .contains
    if link.isToMany, modifier == .direct, asksForMember, case .object(let id)? = other.constant { return (link, [id]) }
    guard !isTurned, modifier == (link.isToMany ? .any : .direct), let targets = namedObjects else { return nil }
    return (link, targets)
  }
}
