import Foundation
import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// Reads index entries for requests.
enum IndexReader {
  /// Calls `body` with the keys of an interval, ascending, until it returns false. Returns whether it reached the end.
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

  /// Returns the number of entries in intervals, counting up to `limit`.
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

  /// Counts entries in the same way, and returns the objects by ascending id if they are few.
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

  /// Returns the objects of all entries by ascending id; nil unless they are fewer than `limit`.
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

  /// Returns the objects, by ascending id, of the entries with keys that begin with these bytes, or the first `enough`
  /// of them; nil if there are more than a few.
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

  /// The maximum number of ids that are collected while entries are counted.
  private static var fewCount: Int { 64 }

  /// Returns an upper bound of the number of an entity's objects: the highest serial of its table.
  static func upperBound(_ entity: CompiledEntity, in session: borrowing Session) throws(StoreError) -> Int {
    let key = ShortKey.object(ObjectID(rootCode: entity.rootCode, serial: ObjectID.maximumSerial))
    guard let last = try session.storage.seek(entity.table, key.bytes, .atOrBefore) else { return 0 }
    return Int(try session.schema.objectID(last.key).serial)
  }

  /// Returns the number of members in a relationship of some objects, as far as these exist.
  ///
  /// - Parameter areIndexed: whether the objects come from index entries, and so must exist.
  static func memberCount(
    _ owners: [ObjectID], _ link: QueryLink, areIndexed: Bool = false, in session: borrowing Session
  ) throws(StoreError) -> Int {
    var count = 0
    var windows = ReadWindows(session.storage)
    for owner in owners {
      windows.next()
      guard let view = try session.record(owner) else {
        if areIndexed { throw Self.damagedIndex }
        continue
      }
      guard let field = view.layout.fieldIndex(ofProperty: link.code) else { continue }
      count += link.isToMany ? view.head(field).count : view.toOne(field) == nil ? 0 : 1
    }
    return count
  }

  /// Calls `body` with the ids of a scan's entries in the order of the index, until it returns false; `sort` orders the
  /// results with equal sort keys in the index.
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

  static func forEachID(
    _ index: RequestIndex, _ interval: IndexScan.Interval, _ isPartlySorted: Bool, in session: borrowing Session,
    _ sort: ([ObjectID]) throws(StoreError) -> [ObjectID], _ body: (ObjectID) throws(StoreError) -> Bool
  ) throws(StoreError) -> Bool {
    var group = IndexGroup()
    var goesOn = try forEachKey(interval, in: session) { (key, id) throws(StoreError) in
      if !group.isEmpty, !group.has(key) {
        for id in try sort(group.take()) where try !body(id) { return false }
      }
      // Truncated values are not in order, and entries with equal keys may have different values.
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

  /// Reads from the last group of equal keys to the first; in each group, ids ascend, as always with equal sort keys.
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

  /// Returns the values of the last key before `end`, which is not a key itself.
  static func lastValues(before end: [UInt8], in session: borrowing Session) throws(StoreError) -> [UInt8]? {
    guard let entry = try session.storage.seek(session.schema.tables.indexes, end.span.bytes, .atOrBefore) else {
      return nil
    }
    guard let values = try? IndexKey.values(of: entry.key) else { throw Self.damagedIndex }
    return values.withUnsafeBytes { Array($0) }
  }

  /// Returns the last entry of an object before one of the same values.
  ///
  /// - Parameter id: the object of that entry; nil for the last entry.
  static func lastObject(_ values: [UInt8], before id: ObjectID?, in session: borrowing Session) throws(StoreError)
    -> ObjectID?
  {
    let last = id.map { $0.rawValue &- 1 } ?? .max
    let key = values + withUnsafeBytes(of: last.bigEndian) { Array($0) }
    guard let entry = try session.storage.seek(session.schema.tables.indexes, key.span.bytes, .atOrBefore) else {
      return nil
    }
    guard let found = try? IndexKey.values(of: entry.key), let object = try? IndexKey.objectID(of: entry.key) else {
      throw Self.damagedIndex
    }
    return found.isEqual(to: values) ? object : nil
  }
}

/// Consecutive entries with equal values.
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

/// A set of objects from several sources: the ids themselves while they are few, then a bitmap.
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

  /// Calls `body` with the ids, ascending, until it returns false.
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
  /// Whether the bytes begin with a prefix that is not empty.
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

  /// Whether the bytes order before others.
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
