import Foundation
import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// Reading index entries for requests.
enum IndexReader {
  /// Calls `body` with the keys of an interval, ascending, until it answers false. Whether it came to the end.
  @discardableResult
  static func forEachKey(
    _ interval: IndexScan.Interval, in session: borrowing Session,
    _ body: (borrowing RawSpan, ObjectID) throws(StoreError) -> Bool
  ) throws(StoreError) -> Bool {
    var goesOn = true
    try session.storage.scan(
      session.schema.tables.indexes, from: interval.start.span.bytes, before: interval.end.span.bytes
    ) { (key, value) throws(StoreError) in
      guard key.precedes(interval.end) else { return false }
      guard IndexEntries.isIntact(key, value), let id = try? IndexKey.objectID(of: copy key) else {
        throw Self.damagedIndex
      }
      goesOn = try body(key, id)
      return goesOn
    }
    return goesOn
  }

  static var damagedIndex: StoreError {
    StoreError(.corrupted, "an index has an entry that is corrupted or has no object; run `check` to see the extent")
  }

  /// How many entries intervals have; not more than `limit` are counted.
  static func countEntries(_ intervals: [IndexScan.Interval], limit: Int = .max, in session: borrowing Session)
    throws(StoreError) -> Int
  {
    var count = 0
    for interval in intervals {
      let goesOn = try forEachKey(interval, in: session) { (_, _) throws(StoreError) in
        count += 1
        return count < limit
      }
      if !goesOn { break }
    }
    return count
  }

  /// The same with the objects of the entries by ascending id, where these are few.
  static func fewEntries(
    _ intervals: [IndexScan.Interval], limit: Int, in session: borrowing Session
  ) throws(StoreError) -> (count: Int, found: [ObjectID]?) {
    var found: [ObjectID] = []
    var count = 0
    var ascends = true
    for interval in intervals {
      let goesOn = try forEachKey(interval, in: session) { (_, id) throws(StoreError) in
        if count == 0 { found.reserveCapacity(Self.fewCount) }
        if count < Self.fewCount {
          if let last = found.last, id < last { ascends = false }
          found.append(id)
        }
        count += 1
        return count < limit
      }
      if !goesOn { break }
    }
    guard count <= Self.fewCount else { return (count, nil) }
    if !ascends { found.sort() }
    return (count, found)
  }

  /// The objects of all entries by ascending id; nil where these are not fewer than `limit`.
  static func entries(_ intervals: [IndexScan.Interval], fewerThan limit: Int, in session: borrowing Session)
    throws(StoreError) -> [ObjectID]?
  {
    guard limit > 0 else { return nil }
    var found: [ObjectID] = []
    for interval in intervals {
      let goesOn = try forEachKey(interval, in: session) { (_, id) throws(StoreError) in
        found.append(id)
        return found.count < limit
      }
      if !goesOn { return nil }
    }
    return found.sorted()
  }

  /// The objects, by ascending id, of the entries whose keys begin with these bytes, or so many of them; nil where there
  /// are more than a few.
  static func fewEntries(beginningWith prefix: [UInt8], enough: Int, in session: borrowing Session) throws(StoreError)
    -> [ObjectID]?
  {
    var found: [ObjectID] = []
    var ascends = true
    try session.storage.scan(session.schema.tables.indexes, within: prefix.span.bytes) {
      (key, value) throws(StoreError) in
      guard key.begins(with: prefix) else { return false }
      guard IndexEntries.isIntact(key, value), let id = try? IndexKey.objectID(of: copy key) else {
        throw Self.damagedIndex
      }
      if let last = found.last {
        if id < last { ascends = false }
      } else {
        found.reserveCapacity(Self.fewCount + 1)
      }
      found.append(id)
      return found.count <= Self.fewCount && found.count < enough
    }
    guard found.count <= Self.fewCount else { return nil }
    if !ascends { found.sort() }
    return found
  }

  /// So many ids of entries are worth remembering.
  private static var fewCount: Int { 64 }

  /// At least as many as an entity has objects: the highest serial of its table.
  static func upperBound(_ entity: CompiledEntity, in session: borrowing Session) throws(StoreError) -> Int {
    let key = ShortKey.object(ObjectID(rootCode: entity.rootCode, serial: ObjectID.maximumSerial))
    guard let last = try session.storage.seek(entity.table, key.bytes, .atOrBefore) else { return 0 }
    return Int(try session.schema.objectID(last.key).serial)
  }

  /// How many members a relationship of some objects has, as far as they exist.
  ///
  /// - Parameter areIndexed: whether the objects are of an index's entries, so that they have to exist.
  static func memberCount(
    _ owners: [ObjectID], _ link: QueryLink, areIndexed: Bool = false, in session: borrowing Session
  ) throws(StoreError) -> Int {
    var count = 0
    for owner in owners {
      guard let view = try session.record(owner) else {
        if areIndexed { throw Self.damagedIndex }
        continue
      }
      guard let field = view.layout.fieldIndex(ofProperty: link.code) else { continue }
      count += link.isToMany ? view.head(field).count : view.toOne(field) == nil ? 0 : 1
    }
    return count
  }

  /// Calls `body` with the ids of a scan's entries in the order of the index, until it answers false; the results whose
  /// sort keys the index does not tell apart are put in order by `sort`.
  static func forEachID(
    _ ordered: OrderedScan, isPartlySorted: Bool, in session: borrowing Session,
    sort: ([ObjectID]) throws(StoreError) -> [ObjectID],
    _ body: (ObjectID) throws(StoreError) -> Bool
  ) throws(StoreError) {
    let scan = ordered.scan
    let intervals = ordered.isReversed ? scan.intervals.reversed() : scan.intervals
    for interval in intervals {
      let goesOn =
        ordered.isReversed
        ? try forEachIDFromEnd(scan.index, interval, isPartlySorted, in: session, sort, body)
        : try forEachID(scan.index, interval, isPartlySorted, in: session, sort, body)
      if !goesOn { return }
    }
  }

  private static func forEachID(
    _ index: RequestIndex, _ interval: IndexScan.Interval, _ isPartlySorted: Bool, in session: borrowing Session,
    _ sort: ([ObjectID]) throws(StoreError) -> [ObjectID], _ body: (ObjectID) throws(StoreError) -> Bool
  ) throws(StoreError) -> Bool {
    var group = IndexGroup()
    var goesOn = try forEachKey(interval, in: session) { (key, id) throws(StoreError) in
      if !group.isEmpty, !group.has(key) {
        for id in try sort(group.take()) where try !body(id) { return false }
      }
      // Cut values are in no order, and entries with equal keys may have different ones.
      guard isPartlySorted || IndexKey.mayBeCut(copy key, valueCount: index.columns.count) else { return try body(id) }
      group.add(id, key)
      return true
    }
    guard goesOn else { return false }
    for id in try sort(group.take()) {
      goesOn = try body(id)
      if !goesOn { break }
    }
    return goesOn
  }

  /// From the last group of equal keys to the first; in each, ids ascend, as they do wherever sort keys are equal.
  private static func forEachIDFromEnd(
    _ index: RequestIndex, _ interval: IndexScan.Interval, _ isPartlySorted: Bool, in session: borrowing Session,
    _ sort: ([ObjectID]) throws(StoreError) -> [ObjectID], _ body: (ObjectID) throws(StoreError) -> Bool
  ) throws(StoreError) -> Bool {
    var end = interval.end
    while let values = try lastValues(before: end, in: session), !values.lexicographicallyPrecedes(interval.start) {
      let equal = IndexScan.Interval(start: values, end: IndexScan.end(of: values))
      if isPartlySorted || IndexKey.mayBeCut(values.span.bytes, valueCount: index.columns.count) {
        var ids: [ObjectID] = []
        try forEachKey(equal, in: session) { (_, id) throws(StoreError) in
          ids.append(id)
          return true
        }
        for id in try sort(ids) where try !body(id) { return false }
      } else if try !forEachKey(equal, in: session, { (_, id) throws(StoreError) in try body(id) }) {
        return false
      }
      end = values
    }
    return true
  }

  /// The values of the last key before `end`, which is no key itself.
  private static func lastValues(before end: [UInt8], in session: borrowing Session) throws(StoreError) -> [UInt8]? {
    guard let entry = try session.storage.seek(session.schema.tables.indexes, end.span.bytes, .atOrBefore) else {
      return nil
    }
    guard let values = try? IndexKey.values(of: entry.key) else { throw Self.damagedIndex }
    return values.withUnsafeBytes { Array($0) }
  }
}

/// Entries with equal values, one after the other.
private struct IndexGroup {
  private var values: [UInt8] = []
  private var ids: [ObjectID] = []

  var isEmpty: Bool { ids.isEmpty }

  func has(_ key: borrowing RawSpan) -> Bool {
    (try? IndexKey.values(of: copy key))?.isEqual(to: values) ?? false
  }

  mutating func add(_ id: ObjectID, _ key: borrowing RawSpan) {
    if ids.isEmpty { values = key.withUnsafeBytes { Array($0.dropLast(8)) } }
    ids.append(id)
  }

  mutating func take() -> [ObjectID] {
    defer { ids.removeAll(keepingCapacity: true) }
    return ids
  }
}

/// Objects from several places, each once: the ids themselves while they are few, then bits.
struct GatheredObjects {
  private static let fewCount = 4096
  private var few: [ObjectID] = []
  private var many = ObjectSet()

  mutating func insert(_ id: ObjectID) {
    few.append(id)
    if few.count == Self.fewCount { spill() }
  }

  private mutating func spill() {
    for id in few { _ = many.insert(id) }
    few.removeAll(keepingCapacity: true)
  }

  /// Calls `body` with the ids, ascending, until it answers false.
  consuming func forEach(_ body: (ObjectID) throws(StoreError) -> Bool) throws(StoreError) {
    if !many.isEmpty {
      spill()
      return try many.forEach(body)
    }
    few.sort()
    var last: ObjectID?
    for id in few where id != last {
      if try !body(id) { return }
      last = id
    }
  }
}

extension RawSpan {
  /// Whether the bytes begin with others, which are not none.
  fileprivate func begins(with bytes: [UInt8]) -> Bool {
    withUnsafeBytes { mine in
      bytes.withUnsafeBytes { other in
        guard mine.count >= other.count, let left = mine.baseAddress, let right = other.baseAddress else {
          return false
        }
        return memcmp(left, right, other.count) == 0
      }
    }
  }

  /// Whether the bytes come before others.
  fileprivate func precedes(_ bytes: [UInt8]) -> Bool {
    withUnsafeBytes { mine in
      bytes.withUnsafeBytes { other in
        let common = min(mine.count, other.count)
        guard common > 0, let left = mine.baseAddress, let right = other.baseAddress else {
          return mine.count < other.count
        }
        let order = memcmp(left, right, common)
        return order < 0 || order == 0 && mine.count < other.count
      }
    }
  }
}
