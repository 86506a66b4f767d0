import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// A page in the order of ids.
struct IDPage {
  let request: CompiledRequest
  let span: PageSpan

  private var rootCode: UInt16 { request.entity.rootCode }

  func read(in session: borrowing Session) throws(StoreError) -> [ObjectID] {
    if let position = span.position, position.id.rootCode != rootCode { return [] }
    if let found = request.found { return try read(found, isIndexed: true, in: session) }
    switch request.source {
    case .entity:
      return try readWindows(in: session) { (ids, body) throws(StoreError) in
        var filter = RecordFilter(request, session.schema)
        try FilteredScan.forEachRecord(
          of: request.entity, includesSubentities: request.includesSubentities, from: ids.lowerBound,
          before: ids.upperBound, through: &filter, in: session
        ) { (id, _) throws(StoreError) in body(id) }
      }
    case .index(let scan) where scan.isInOrderOfIDs:
      guard let values = scan.intervals.first?.start else { return [] }
      return try readWindows(in: session) { (ids, body) throws(StoreError) in
        var results = PageResults(request, limit: .max - 1, in: session)
        let interval = IndexScan.Interval(
          start: values + IndexPlace.suffix(ObjectID(rootCode: rootCode, serial: ids.lowerBound)),
          end: values + IndexPlace.suffix(ObjectID(rootCode: rootCode, serial: ids.upperBound)))
        try IndexReader.forEachKey(interval, in: session) { (_, id) throws(StoreError) in
          _ = try results.offer(id, isIndexed: true, in: session)
          return results.ids.last == id ? body(id) : true
        }
      }
    default:
      var gathered = GatheredObjects()
      let isIndexed = try FetchExecutor.gather(request.source, into: &gathered, in: session)
      var ids: [ObjectID] = []
      try gathered.forEach { (id) throws(StoreError) in
        ids.append(id)
        return true
      }
      return try read(ids, isIndexed: isIndexed, in: session)
    }
  }

  /// The results among given objects, which ascend.
  private func read(
    _ ids: [ObjectID], isIndexed: Bool, in session: borrowing Session
  ) throws(StoreError) -> [ObjectID] {
    var results = PageResults(request, limit: span.limit, in: session)
    let rest = ids.filter { id in
      guard let position = span.position else { return true }
      return span.isBackward ? id < position.id : id > position.id
    }
    for id in span.isBackward ? rest.reversed() : rest {
      if try !results.offer(id, isIndexed: isIndexed, in: session) { break }
    }
    return results.ids
  }

  /// The results of scans over ranges of serials. A scan only ascends, so paging backward scans ranges before the
  /// position, each twice as long as the one behind it.
  ///
  /// - Parameter scan: calls its function with the results in a range, ascending, until it returns false.
  private func readWindows(
    in session: borrowing Session,
    _ scan: (Range<UInt64>, (ObjectID) -> Bool) throws(StoreError) -> Void
  ) throws(StoreError) -> [ObjectID] {
    var found: [ObjectID] = []
    guard span.isBackward else {
      let start = span.position.map { $0.id.serial + 1 } ?? 0
      if start > ObjectID.maximumSerial { return [] }
      try scan(start..<ObjectID.maximumSerial) { id in
        found.append(id)
        return found.count <= span.limit
      }
      return found
    }
    var end = UInt64(try IndexReader.upperBound(request.entity, in: session)) + 1
    if let position = span.position { end = min(end, position.id.serial) }
    var length = UInt64(max(span.limit + 1, 64))
    while end > 0, found.count <= span.limit {
      let start = end > length ? end - length : 0
      var next: [ObjectID] = []
      try scan(start..<end) { id in
        next.append(id)
        return true
      }
      found += next.reversed().prefix(span.limit + 1 - found.count)
      (end, length) = (start, length * 2)
    }
    return found
  }
}

/// Keys of index entries.
enum IndexPlace {
  /// The end of the key of an object's entry, after the values.
  static func suffix(_ id: ObjectID) -> [UInt8] { withUnsafeBytes(of: id.rawValue.bigEndian) { Array($0) } }
}
