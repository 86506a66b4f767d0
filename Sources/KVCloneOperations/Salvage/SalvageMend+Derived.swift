import KVCloneCore
import KVCloneLMDB
import KVCloneModel
import KVCloneRecords

/// What follows from the objects, made anew: derived attributes, index entries, counts, counters.
extension SalvageMend {
  /// - Parameter isUncertain: whether counters were lost, so that more may have been given out than can be seen.
  func makeDerived(isUncertain: Bool) throws(StoreError) {
    try run.steps.check()
    var session = try writeSession()
    // When something was last changed is no reason to change it again.
    try session.noteAllDerived(includesTimes: false)
    try session.refreshDerived()
    try session.commitStorage()
    try run.steps.check()
    session = try writeSession()
    let ids = schema.codes.indexIDs
    // Changes so far have made some entries.
    for id in ids.sorted() { try session.dropIndex(id) }
    let run = run
    try session.buildIndexes(ids) { (_) throws(StoreError) in try run.steps.check() }
    try session.commitStorage()
    try resolveDuplicates()
    try countBlobs()
    try writeMetadata(isUncertain: isUncertain)
  }

  // MARK: Counts

  /// Large values have as many referrers as there are fields that name them; those without one go.
  private func countBlobs() throws(StoreError) {
    let tally = try SalvageBlobs.tally(try engine.beginRead(), schema)
    var session = try writeSession()
    try session.countBlobs { tally.count($0) }
    try session.commitStorage()
  }

  /// How far counters leap over what may have been given out and is lost.
  private static let leap: UInt64 = 1 << 16

  private func writeMetadata(isUncertain: Bool) throws(StoreError) {
    var session = try writeSession()
    let table = schema.tables.metadata
    for rootCode in schema.rootCodes {
      guard let objects = schema.objectTable(rootCode: rootCode) else { continue }
      let end = ShortKey.object(ObjectID(rootCode: rootCode, serial: ObjectID.maximumSerial))
      let last = try session.lastNumber(objects, end) & ObjectID.maximumSerial
      let stored = try Metadata.serial(session.storage, table, rootCode: rootCode)
      let next = max(stored, last + 1) + (isUncertain ? Self.leap : 0)
      if next > 1 {
        session.changes.nextSerials[rootCode] = min(next, ObjectID.maximumSerial + 1)
      }
    }
    let end = ShortKey.blobInfo(UInt64(Int64.max))
    let lastBlob = try session.lastNumber(schema.tables.blobinfo, end)
    let nextBlob = max(try session.counter(MetadataKey.blobSerial), lastBlob + 1) + (isUncertain ? Self.leap : 0)
    if nextBlob > 1 { session.changes.nextBlobSerial = nextBlob }
    if let fingerprint = schema.derivations.fingerprint {
      try Metadata.put(&session.storage, table, MetadataKey.derivations, Metadata.derivations(fingerprint))
    }
    try session.writeCounters()
    try session.commitStorage()
  }
}

extension Session {
  /// The greatest key up to `end`, which is a number; 0 where there is none.
  fileprivate borrowing func lastNumber(_ table: StorageTable, _ end: ShortKey) throws(StoreError) -> UInt64 {
    guard let entry = try storage.seek(table, end.bytes, .atOrBefore) else { return 0 }
    return (try? NumberKey.blobSerial(entry.key)) ?? 0
  }

  /// Gives every large value the count of its referrers, and removes those that have none.
  mutating func countBlobs(_ count: (UInt64) -> UInt64) throws(StoreError) {
    var next: UInt64? = 1
    while let start = next {
      let key = ShortKey.blobInfo(start)
      guard let serial = try Self.blob(atOrAfter: key, storage, blobTables) else { break }
      next = serial < .max ? serial + 1 : nil
      guard var info = try storage.blobInfo(blobTables, serial), info.state == .complete else { continue }
      let found = count(serial)
      if found == info.referenceCount { continue }
      info.referenceCount = max(1, found)
      try storage.store(blobTables, serial, info)
      if found == 0 { try storage.releaseReference(blobTables, serial) }
    }
  }

  private static func blob(
    atOrAfter key: ShortKey, _ storage: borrowing StorageTransaction, _ tables: BlobTables
  ) throws(StoreError) -> UInt64? {
    guard let entry = try storage.seek(tables.blobinfo, key.bytes, .atOrAfter) else { return nil }
    return try? NumberKey.blobSerial(entry.key)
  }
}
