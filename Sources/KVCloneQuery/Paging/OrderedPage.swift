import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// A page in the order of an index.
///
/// Entries with equal values form a group, in which ids ascend. Equal sort keys are in ascending order of ids, or, when
/// paging backward, in descending order: so the groups and the entries of a group have directions of their own.
struct OrderedPage {
  let request: CompiledRequest
  let ordered: OrderedScan
  let span: PageSpan

  private var index: RequestIndex { ordered.scan.index }
  /// Whether groups are read from the end of the index.
  private var groupsDescend: Bool { ordered.isReversed != span.isBackward }
  private var isPartlySorted: Bool { ordered.sortedCount < request.order.count }

  func read(in session: borrowing Session) throws(StoreError) -> [ObjectID] {
    var results = PageResults(request, limit: span.limit, in: session)
    var start: [UInt8]?
    if let position = span.position { start = try values(of: position) }
    let intervals = groupsDescend ? ordered.scan.intervals.reversed() : ordered.scan.intervals
    for interval in intervals {
      guard let rest = rest(of: interval, from: start) else { continue }
      let goesOn =
        groupsDescend || span.isBackward
        ? try readGroups(rest, from: start, into: &results, in: session)
        : try readEntries(rest, from: start, into: &results, in: session)
      if !goesOn { break }
    }
    return results.ids
  }

  /// The part of an interval that is not before the group of the position, in the direction of reading.
  private func rest(of interval: IndexScan.Interval, from start: [UInt8]?) -> IndexScan.Interval? {
    guard let start else { return interval }
    if groupsDescend {
      let end = IndexScan.end(of: start)
      if !interval.start.lexicographicallyPrecedes(end) { return nil }
      return end.lexicographicallyPrecedes(interval.end) ? .init(start: interval.start, end: end) : interval
    }
    if !start.lexicographicallyPrecedes(interval.end) { return nil }
    return interval.start.lexicographicallyPrecedes(start) ? .init(start: start, end: interval.end) : interval
  }

  /// Reads entries in the order of the index.
  private func readEntries(
    _ interval: IndexScan.Interval, from start: [UInt8]?, into results: inout PageResults, in session: borrowing Session
  ) throws(StoreError) -> Bool {
    var interval = interval
    if let start, let position = span.position, start == interval.start, !needsSorting(start) {
      interval = IndexScan.Interval(start: start + IndexPlace.suffix(position.id) + [0], end: interval.end)
    }
    return try IndexReader.forEachID(index, interval, isPartlySorted, in: session) { (ids) throws(StoreError) in
      try sorted(ids, in: session)
    } _: { (id) throws(StoreError) in
      try results.offer(id, isIndexed: true, in: session)
    }
  }

  /// Reads one group after the other.
  private func readGroups(
    _ interval: IndexScan.Interval, from start: [UInt8]?, into results: inout PageResults, in session: borrowing Session
  ) throws(StoreError) -> Bool {
    var group = try nextGroup(interval, in: session)
    while let values = group {
      let position = values == start ? span.position : nil
      if try !readGroup(values, from: position, into: &results, in: session) { return false }
      let rest =
        groupsDescend
        ? IndexScan.Interval(start: interval.start, end: values)
        : IndexScan.Interval(start: IndexScan.end(of: values), end: interval.end)
      group = try nextGroup(rest, in: session)
    }
    return true
  }

  /// The values of the first group of an interval, in the direction of reading.
  private func nextGroup(_ interval: IndexScan.Interval, in session: borrowing Session) throws(StoreError) -> [UInt8]? {
    if groupsDescend {
      guard let values = try IndexReader.lastValues(before: interval.end, in: session),
        !values.lexicographicallyPrecedes(interval.start)
      else { return nil }
      return values
    }
    var found: [UInt8]?
    try IndexReader.forEachKey(interval, in: session) { (key, _) throws(StoreError) in
      found = key.withUnsafeBytes { Array($0.dropLast(8)) }
      return false
    }
    return found
  }

  private func readGroup(
    _ values: [UInt8], from position: ResultPosition?, into results: inout PageResults, in session: borrowing Session
  ) throws(StoreError) -> Bool {
    let whole = IndexScan.Interval(start: values, end: IndexScan.end(of: values))
    if needsSorting(values) {
      var ids: [ObjectID] = []
      try IndexReader.forEachKey(whole, in: session) { (_, id) throws(StoreError) in
        ids.append(id)
        return true
      }
      for id in try sorted(ids, in: session) where try !results.offer(id, isIndexed: true, in: session) {
        return false
      }
      return true
    }
    if !span.isBackward {
      let start = position.map { values + IndexPlace.suffix($0.id) + [0] } ?? whole.start
      return try IndexReader.forEachKey(.init(start: start, end: whole.end), in: session) {
        (_, id) throws(StoreError) in
        try results.offer(id, isIndexed: true, in: session)
      }
    }
    var last = position?.id
    while let id = try IndexReader.lastObject(values, before: last, in: session) {
      if try !results.offer(id, isIndexed: true, in: session) { return false }
      last = id
    }
    return true
  }

  /// Whether the entries of a group have different sort keys: values may be cut, or only some keys are in the index.
  private func needsSorting(_ values: [UInt8]) -> Bool {
    isPartlySorted || IndexKey.mayBeCut(values.span.bytes, valueCount: index.columns.count)
  }

  /// The objects of a group behind the position, in the direction of the paging.
  private func sorted(_ ids: [ObjectID], in session: borrowing Session) throws(StoreError) -> [ObjectID] {
    if ids.isEmpty { return ids }
    let evaluator = QueryEvaluator(session.schema)
    var results = SortedResults(
      request.order.map { $0.ascending != span.isBackward }, descendsByID: span.isBackward, limit: nil)
    for id in ids {
      guard let view = try session.record(id) else { throw IndexReader.damagedIndex }
      let keys = try FetchExecutor.sortKeys(request.order, id, view, evaluator, in: session)
      if let position = span.position, !results.isBeyond(position, keys, id) { continue }
      results.insert(keys, id)
    }
    return results.ids
  }

  /// The values of a position in the key of its entry.
  ///
  /// - Throws: `invalidPredicate` for values of other types.
  private func values(of position: ResultPosition) throws(StoreError) -> [UInt8] {
    let scan = ordered.scan
    var bytes = scan.fixedBytes
    var place = scan.fixedCount
    for (order, key) in zip(request.order, position.keys).prefix(ordered.sortedCount) {
      guard let columnKey = ColumnKey(order.term, order.options) else { break }
      if index.columns[..<scan.fixedCount].contains(where: { $0.isSorted(by: columnKey) }) { continue }
      let column = index.columns[place]
      guard let stored = column.stored(key), let (value, _) = try? index.builder.column(stored.value) else {
        throw StoreError(
          .invalidPredicate, "the position of the page has a value of another type; start with the first page",
          entity: request.entity.name, property: column.name)
      }
      bytes += column.isAscending ? value : value.map { ~$0 }
      place += 1
    }
    return bytes
  }
}

extension RequestIndex.Column {
  /// A sort key as the attribute stores it; nil for a value that the attribute cannot have.
  fileprivate func stored(_ key: QueryValue) -> (value: AttributeValue?, ())? {
    if case .date(let seconds) = key, type == .date {
      return (.date(.init(timeIntervalSinceReferenceDate: seconds)), ())
    }
    guard case .value(let value, isExact: true) = StoredMatch.equal(to: key, type) else { return nil }
    return (value, ())
  }
}
