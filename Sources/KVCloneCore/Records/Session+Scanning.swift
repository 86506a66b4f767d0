public import KVCloneModel
public import KVCloneRecords

extension Session {
  /// Calls `body` with the records of an entity's objects by ascending serial, until it returns false.
  package borrowing func forEachRecord(
    of entity: CompiledEntity, includesSubentities: Bool, from start: UInt64 = 0,
    _ body: (ObjectID, borrowing RecordView) throws(StoreError) -> Bool
  ) throws(StoreError) {
    let key = ShortKey.object(ObjectID(rootCode: entity.rootCode, serial: start))
    let schema = schema
    var known = KnownLayout(entity.wantedCodes(includesSubentities: includesSubentities))
    var windows = ReadWindows(storage)
    try storage.scanToEnd(of: entity.table, from: key.bytes) { (key, value) throws(StoreError) in
      windows.next()
      let id = try schema.objectID(key)
      guard let layout = try known.layout(of: copy value, id, schema) else { return true }
      return try body(id, try schema.view(of: copy value, layout, id: id))
    }
  }
}

/// The layout of the last record of a scan: neighbours usually have the same entity and layout.
@usableFromInline
package struct KnownLayout {
  /// Codes of the entities to return records of.
  @usableFromInline let wanted: Set<UInt16>
  /// The layout and entity codes of the last record's header, and their resolution.
  @usableFromInline var last: UInt32?
  @usableFromInline var layout: RecordLayout?

  package init(_ wanted: Set<UInt16>) {
    self.wanted = wanted
  }

  /// Returns the layout of an object's record; nil if the record is not wanted.
  @inlinable @inline(__always)
  package mutating func layout(of record: borrowing RawSpan, _ id: ObjectID, _ schema: Schema) throws(StoreError)
    -> RecordLayout?
  {
    let names: UInt32
    do throws(RecordError) { names = try RecordView.layoutAndEntity(of: copy record) } catch {
      throw schema.corrupted(id, error)
    }
    if names != last {
      layout = try schema.layout(names, of: copy record, id, ifOf: wanted)
      last = names
    }
    return layout
  }
}

extension Session {
  /// Returns the number of objects of each concrete entity in a root entity's table, by entity code. Reads headers
  /// only.
  ///
  /// - Parameter isWanted: is called with the number of objects so far after each 4,096; false ends the count.
  package borrowing func counts(
    rootCode: UInt16, while isWanted: (Int) -> Bool = { _ in true }
  ) throws(StoreError) -> [UInt16: Int] {
    guard let table = schema.objectTable(rootCode: rootCode) else { return [:] }
    var counts: [UInt16: Int] = [:]
    let key = ShortKey.object(ObjectID(rootCode: rootCode, serial: 0))
    let schema = schema
    // Neighbours usually have the same entity.
    var last: (names: UInt32, code: UInt16, count: Int) = (0, 0, 0)
    var seen = 0
    try storage.scanToEnd(of: table, from: key.bytes) { (key, value) throws(StoreError) in
      let names: UInt32
      do throws(RecordError) { names = try RecordView.layoutAndEntity(of: copy value) } catch {
        throw schema.corrupted(try schema.objectID(key), error)
      }
      if names != last.names || last.count == 0 {
        if last.count > 0 { counts[last.code, default: 0] += last.count }
        last = (names, try schema.entityCode(names, of: copy value, try schema.objectID(key)), 0)
      }
      last.count += 1
      seen += 1
      return seen & 4095 != 0 || isWanted(seen)
    }
    if last.count > 0 { counts[last.code, default: 0] += last.count }
    return counts
  }

  /// Calls `body` with each entry of a table, also those with malformed keys, until it returns false.
  package borrowing func forEachEntry(
    _ table: StorageTable, _ body: (borrowing RawSpan, borrowing RawSpan) throws(StoreError) -> Bool
  ) throws(StoreError) {
    // The least key that a table can have.
    let first: [UInt8] = [0]
    var windows = ReadWindows(storage)
    try storage.scanToEnd(of: table, from: first.span.bytes) { (key, value) throws(StoreError) in
      windows.next()
      return try body(key, value)
    }
  }

  /// Returns whether a table has an entry.
  package borrowing func has(_ table: StorageTable, _ key: [UInt8]) throws(StoreError) -> Bool {
    try storage.get(table, key.span.bytes) != nil
  }

  /// Returns the number of objects of an entity.
  package borrowing func count(of entity: CompiledEntity, includesSubentities: Bool) throws(StoreError) -> Int {
    let wanted = includesSubentities ? entity.concreteCodes : [entity.code]
    return try counts(rootCode: entity.rootCode).reduce(0) { $0 + (wanted.contains($1.key) ? $1.value : 0) }
  }

  /// The number of objects to announce with `prefetch` at once; 0 if announcing is of no use.
  package borrowing func prefetchWindow(isAscending: Bool = false) -> Int {
    storage.prefetchWindow(isAscending: isAscending)
  }

  /// The number of objects to read at once: those that are announced together, or a few if announcing is of no use.
  package borrowing func readWindow() -> Int { max(prefetchWindow(), 16) }

  /// Announces that the records of these objects are read next, at most `prefetchWindow` at once.
  package borrowing func prefetch(_ ids: ArraySlice<ObjectID>) {
    guard prefetchWindow() > 0 else { return }
    var rest = ids
    while let first = rest.first {
      let run = rest.prefix { $0.rootCode == first.rootCode }
      rest = rest.dropFirst(run.count)
      // A single object is read at once anyway.
      guard ids.count > 1, let table = schema.objectTable(rootCode: first.rootCode) else { continue }
      storage.prefetch(table, run)
    }
  }

  /// Runs `body`; records and other bytes that are read in it are valid until it returns.
  package borrowing func readScope<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    try storage.readScope(body)
  }

  /// Calls `body` with each object of a set, ascending, until it returns false, and announces them before.
  borrowing func forEachAnnounced(_ set: ObjectSet, _ body: (ObjectID) throws(StoreError) -> Bool) throws(StoreError) {
    let window = prefetchWindow(isAscending: true)
    guard window > 1 else {
      var windows = ReadWindows(storage)
      return try set.forEach { (id) throws(StoreError) in
        windows.next()
        return try body(id)
      }
    }
    var next: [ObjectID] = []
    var isStopped = false
    func visit() throws(StoreError) {
      try readScope { () throws(StoreError) in
        prefetch(next[...])
        for id in next where !isStopped { isStopped = try !body(id) }
      }
      next.removeAll(keepingCapacity: true)
    }
    try set.forEach { (id) throws(StoreError) in
      next.append(id)
      if next.count == window { try visit() }
      return !isStopped
    }
    try visit()
  }
}
