import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// Checks index entries: each belongs to an object, each object has its own, and unique values are unique.
extension StoreChecker {
  borrowing func checkIndexes(_ run: CheckRun) throws(StoreError) {
    if try indexesAreEven(run) { return }
    try lookUpIndexEntries(run)
    var walk = IndexWalk()
    try session.forEachEntry(session.schema.tables.indexes) { (key, value) throws(StoreError) in
      try checkIndexEntry(key, value, &walk, run)
      return !run.isFull
    }
  }

  /// Whether the indexes contain exactly the required entries, by their sums (``Balance``), and no further check is
  /// needed.
  borrowing func indexesAreEven(_ run: CheckRun) throws(StoreError) -> Bool {
    guard run.isClean else { return false }
    let constraints = Set(session.schema.entities.flatMap { entity in entity.constraints.map(\.indexID) })
    var last: [UInt8] = []
    var isEven = true
    try session.forEachEntry(session.schema.tables.indexes) { (key, value) throws(StoreError) in
      guard IndexEntries.isIntact(key, value), let indexID = try? IndexKey.indexID(of: copy key) else {
        isEven = false
        return false
      }
      if indexID < session.storage.backend.nextIndexID { run.indexEntries.findEntry(key) }
      guard constraints.contains(indexID) else { return true }
      // Two objects with equal values, or two long texts with equal prefixes that are truncated in keys: rare enough to
      // look up all.
      guard let values = try? IndexKey.values(of: copy key), !values.isEqual(to: last) else {
        isEven = false
        return false
      }
      last.removeAll(keepingCapacity: true)
      values.withUnsafeBytes { unsafe last.append(contentsOf: $0) }
      return true
    }
    return isEven && run.indexEntries.isEven
  }

  /// Looks up each object's entries in the indexes.
  private borrowing func lookUpIndexEntries(_ run: CheckRun) throws(StoreError) {
    for rootCode in session.schema.rootCodes {
      guard let table = session.schema.objectTable(rootCode: rootCode) else { continue }
      try session.forEachEntry(table) { (key, value) throws(StoreError) in
        guard let id = Self.objectID(key), id.rootCode == rootCode, id.serial > 0, !run.isUnreadable(id)
        else { return true }
        let view = try session.schema.view(of: copy value, id: id)
        let entity = try session.schema.entity(of: view, id: id)
        do throws(StoreError) {
          try forEachIndexEntry(of: view, id, entity) { (entry, index) throws(StoreError) in
            if try session.has(session.schema.tables.indexes, entry) { return }
            switch index {
            case .constraint(let name):
              run.report(
                .missingIndexEntry, id, entity, property: name, "it has no entry in the index of the constraint")
            case .fetchIndex(let name):
              run.report(.missingIndexEntry, id, entity, property: name, "it has no entry in the fetch index \(name)")
            }
          }
        } catch {
          // A text that is not UTF-8: reported with the values.
          guard error.kind == .corrupted else { throw error }
        }
        return !run.isFull
      }
    }
  }

  /// Calls `body` with the keys of an object's required entries, and the index of each.
  borrowing func forEachIndexEntry(
    of view: borrowing RecordView, _ id: ObjectID, _ entity: CompiledEntity,
    _ body: ([UInt8], CheckedIndex) throws(StoreError) -> Void
  ) throws(StoreError) {
    for constraint in entity.constraints {
      guard let builder = try constraint.entry(entity, view, id, session.schema) else { continue }
      try body(builder.key(id), .constraint(constraint.name))
    }
    // A branch lacks entries of indexes that are newer than its base.
    for index in entity.fetchIndexes where index.indexID < session.storage.backend.nextIndexID {
      try body(try index.builder(entity, view, id, session.schema).key(id), .fetchIndex(index.name))
    }
  }

  private borrowing func checkIndexEntry(
    _ key: borrowing RawSpan, _ value: borrowing RawSpan, _ walk: inout IndexWalk, _ run: CheckRun
  ) throws(StoreError) {
    guard let id = try? IndexKey.objectID(of: copy key), let indexID = try? IndexKey.indexID(of: copy key) else {
      return run.report(
        .malformedKey, page: run.page(session.schema.tables.indexes, key), isDerived: true,
        "an index has a malformed key")
    }
    if run.isUnreadable(id) { return }
    guard let view = try session.record(id) else {
      return run.report(
        .staleIndexEntry, object: session.schema.rootName(of: id), page: run.page(session.schema.tables.indexes, key),
        "an index has an entry for it, but the object does not exist")
    }
    let entity = try session.schema.entity(of: view, id: id)
    if let index = entity.fetchIndexes.first(where: { $0.indexID == indexID }) {
      return try checkFetchIndexEntry(key, value, index, id, entity, view, run)
    }
    guard let constraint = entity.constraints.first(where: { $0.indexID == indexID }) else {
      return run.report(
        .staleIndexEntry, id, entity, page: run.page(session.schema.tables.indexes, key),
        "index \(indexID) has an entry for it, but its entity does not have this index")
    }
    if !IndexEntries.isIntact(key, value) {
      return run.report(
        .indexEntry, id, entity, property: constraint.name, page: run.page(session.schema.tables.indexes, key),
        RecordError.checksumMismatch.description)
    }
    let values: [AttributeValue?]
    do throws(StoreError) {
      values = try constraint.values(entity, view, id, session.schema)
    } catch {
      guard error.kind == .corrupted else { throw error }
      return
    }
    guard let builder = constraint.builder(for: values), Self.values(of: key, are: builder.bytes) else {
      return run.report(
        .staleIndexEntry, id, entity, property: constraint.name, page: run.page(session.schema.tables.indexes, key),
        "an index has an entry for values that it does not have")
    }
    guard let other = walk.earlier(builder, values, id) else { return }
    // Long texts are truncated in keys, so the values themselves are compared.
    if builder.isTruncated {
      guard !run.isUnreadable(other), let earlier = try session.record(other),
        try constraint.values(try session.schema.entity(of: earlier, id: other), earlier, other, session.schema)
          == values
      else { return }
    }
    let name = run.isUnreadable(other) ? session.schema.rootName(of: other) : try session.name(of: other)
    run.report(
      .duplicateValues, id, entity, property: constraint.name,
      "\(name) has the same values, which must be unique")
  }

  /// Checks an entry of a fetch index, in which any number of objects may have equal values.
  private borrowing func checkFetchIndexEntry(
    _ key: borrowing RawSpan, _ value: borrowing RawSpan, _ index: CompiledFetchIndex, _ id: ObjectID,
    _ entity: CompiledEntity, _ view: borrowing RecordView, _ run: CheckRun
  ) throws(StoreError) {
    if !IndexEntries.isIntact(key, value) {
      return run.report(
        .indexEntry, id, entity, property: index.name, page: run.page(session.schema.tables.indexes, key),
        RecordError.checksumMismatch.description)
    }
    let expected: [UInt8]
    do throws(StoreError) {
      expected = try index.builder(entity, view, id, session.schema).bytes
    } catch {
      guard error.kind == .corrupted else { throw error }
      return
    }
    if !Self.values(of: key, are: expected) {
      run.report(
        .staleIndexEntry, id, entity, property: index.name, page: run.page(session.schema.tables.indexes, key),
        "the fetch index \(index.name) has an entry for values that it does not have")
    }
  }

  static func values(of key: borrowing RawSpan, are bytes: [UInt8]) -> Bool {
    (try? IndexKey.values(of: copy key))?.isEqual(to: bytes) ?? false
  }
}

/// The index of an entry, by its name in the model.
enum CheckedIndex {
  case constraint(String)
  case fetchIndex(String)
}

/// The state of a scan of index entries: the current run of entries with equal keys.
struct IndexWalk {
  private var bytes: [UInt8] = []
  /// By hash of the values: the first object with them. All entries with complete keys share one.
  private var objects: [Int: ObjectID] = [:]

  /// An object of the same run with (as far as hashes show) equal values; if none has them, records `id` and returns
  /// nil.
  mutating func earlier(_ builder: IndexKeyBuilder, _ values: [AttributeValue?], _ id: ObjectID) -> ObjectID? {
    if bytes != builder.bytes {
      bytes = builder.bytes
      objects.removeAll(keepingCapacity: true)
    }
    let hash = builder.isTruncated ? values.hashValue : 0
    if let other = objects[hash] { return other }
    objects[hash] = id
    return nil
  }
}
