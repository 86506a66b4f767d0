import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// Rebuilds derived data that is wrong.
struct DerivedDataRepair: ~Copyable, SessionOwner {
  /// The number of keys per batch.
  private static let batchCount = 1000

  private var session: Session

  init(_ session: consuming Session) {
    self.session = session
  }

  consuming func finish() -> Session { session }

  // MARK: Indexes

  /// Removes entries without an object, and corrupted ones; returns their number.
  mutating func removeWrongIndexEntries() throws(StoreError) -> Int {
    var count = 0
    var next: [UInt8]? = [0]
    while let start = next {
      let keys: [[UInt8]]
      (keys, next) = try wrongIndexKeys(from: start)
      for key in keys { try session.storage.delete(session.schema.tables.indexes, key.span.bytes) }
      count += keys.count
    }
    return count
  }

  private borrowing func wrongIndexKeys(from start: [UInt8]) throws(StoreError) -> ([[UInt8]], next: [UInt8]?) {
    var keys: [[UInt8]] = []
    var next: [UInt8]?
    var windows = ReadWindows(session.storage)
    try session.storage.scanToEnd(of: session.schema.tables.indexes, from: start.span.bytes) {
      (key, value) throws(StoreError) in
      windows.next()
      if keys.count == Self.batchCount {
        next = key.withUnsafeBytes { Array($0) }
        return false
      }
      if try !isRightIndexEntry(key, value) { keys.append(key.withUnsafeBytes { Array($0) }) }
      return true
    }
    return (keys, next)
  }

  private borrowing func isRightIndexEntry(
    _ key: borrowing RawSpan, _ value: borrowing RawSpan
  ) throws(StoreError) -> Bool {
    guard let id = try? IndexKey.objectID(of: copy key), let index = try? IndexKey.indexID(of: copy key),
      IndexEntries.isIntact(key, value), let view = try session.record(id)
    else { return false }
    let entity = try session.schema.entity(of: view, id: id)
    if let fetchIndex = entity.fetchIndexes.first(where: { $0.indexID == index }) {
      return StoreChecker.values(of: key, are: try fetchIndex.builder(entity, view, id, session.schema).bytes)
    }
    guard let constraint = entity.constraints.first(where: { $0.indexID == index }),
      let builder = try constraint.entry(entity, view, id, session.schema)
    else { return false }
    return StoreChecker.values(of: key, are: builder.bytes)
  }

  /// Adds missing entries; returns their number.
  mutating func addMissingIndexEntries() throws(StoreError) -> Int {
    var count = 0
    for rootCode in session.schema.rootCodes {
      var next: ObjectID? = ObjectID(rootCode: rootCode, serial: 0)
      while let start = next {
        let keys: [[UInt8]]
        (keys, next) = try missingIndexKeys(from: start)
        for key in keys { try IndexEntries.put(key, in: &session) }
        count += keys.count
      }
    }
    return count
  }

  private borrowing func missingIndexKeys(from start: ObjectID) throws(StoreError) -> ([[UInt8]], next: ObjectID?) {
    guard let table = session.schema.objectTable(rootCode: start.rootCode) else { return ([], nil) }
    var keys: [[UInt8]] = []
    var next: ObjectID?
    let first = ShortKey.object(start)
    let schema = session.schema
    var windows = ReadWindows(session.storage)
    try session.storage.scanToEnd(of: table, from: first.bytes) { (key, value) throws(StoreError) in
      windows.next()
      let id = try schema.objectID(key)
      if keys.count >= Self.batchCount {
        next = id
        return false
      }
      let view = try schema.view(of: copy value, id: id)
      let entity = try schema.entity(of: view, id: id)
      for key in try entity.indexKeys(id, view, schema) where try !session.has(schema.tables.indexes, key) {
        keys.append(key)
      }
      return true
    }
    return (keys, next)
  }

  // MARK: Hidden lists

  /// Rebuilds all hidden referrer lists.
  mutating func rebuildReferrers() throws(StoreError) {
    let codes = Set(session.schema.codes.referrers.values.flatMap(\.values))
    var last: LinkKey?
    while let list = try referrerList(after: last, codes) {
      try session.storage.deleteList(list)
      last = LinkKey(owner: list.owner, relationship: list.relationship, kind: .positionDirectory, position: .max)
    }
    for rootCode in session.schema.rootCodes {
      var next: ObjectID? = ObjectID(rootCode: rootCode, serial: 0)
      while let start = next {
        let links: [(list: ListAddress, referrer: ObjectID)]
        (links, next) = try hiddenLinks(from: start)
        for link in links { _ = try session.storage.insertUnordered(link.list, link.referrer) }
      }
    }
  }

  /// The next list of `links` with one of these codes.
  private borrowing func referrerList(after last: LinkKey?, _ codes: Set<UInt16>) throws(StoreError) -> ListAddress? {
    var found: ListAddress?
    let first = last.map { ShortKey.link($0) } ?? ShortKey.linkPrefix(owner: ObjectID(rawValue: 0))
    try session.storage.scanToEnd(of: session.schema.tables.links, from: first.bytes) { (key, _) throws(StoreError) in
      guard let link = try? LinkKey(copy key), codes.contains(link.relationship), link != last else { return true }
      found = session.address(link.owner, link.relationship)
      return false
    }
    return found
  }

  /// The links of the next objects in relationships without an inverse.
  private borrowing func hiddenLinks(
    from start: ObjectID
  ) throws(StoreError) -> ([(list: ListAddress, referrer: ObjectID)], next: ObjectID?) {
    guard let table = session.schema.objectTable(rootCode: start.rootCode) else { return ([], nil) }
    var links: [(list: ListAddress, referrer: ObjectID)] = []
    var next: ObjectID?
    let first = ShortKey.object(start)
    let schema = session.schema
    var windows = ReadWindows(session.storage)
    try session.storage.scanToEnd(of: table, from: first.bytes) { (key, value) throws(StoreError) in
      windows.next()
      let id = try schema.objectID(key)
      if links.count >= 64 * Self.batchCount {
        next = id
        return false
      }
      let view = try schema.view(of: copy value, id: id)
      let entity = try schema.entity(of: view, id: id)
      for relationship in entity.relationships where !relationship.hasInverse {
        try session.forEachMember(id, relationship, in: view, entity) { (member) throws(StoreError) in
          links.append((session.address(member, relationship.inverseCode), id))
          return true
        }
      }
      return true
    }
    return (links, next)
  }

  // MARK: Blobs

  /// Sets the reference counts of blobs, and removes unreferenced ones.
  ///
  /// - Parameter removesPieces: whether chunks without a description are removed, too: snapshots may need them.
  mutating func repairBlobs(removesPieces: Bool) throws(StoreError) {
    let tally = try SalvageBlobs.tally(session.storage.backend, session.schema, includingRetired: true)
    try BlobRecount.own(&session) { (recount) throws(StoreError) in try recount.run { tally.count($0) } }
    if !removesPieces { return }
    var next: UInt64? = 0
    var windows = ReadWindows(session.storage)
    while let start = next {
      windows.next()
      guard let serial = try blobWithPieces(atOrAfter: start) else { return }
      next = serial < .max ? serial + 1 : nil
      if try !BlobDescriptions.exist(of: serial, session.schema.tables, in: session.storage) {
        try session.storage.deleteBlobChunks(session.blobTables, serial)
      }
    }
  }

  private borrowing func blobWithPieces(atOrAfter serial: UInt64) throws(StoreError) -> UInt64? {
    let key = ShortKey.blobChunk(serial, chunk: 0)
    guard let entry = try session.storage.seek(session.schema.tables.blobs, key.bytes, .atOrAfter) else { return nil }
    return try? NumberKey.numberAndPart(entry.key).number
  }
}
