import KVCloneCore
import KVCloneLMDB
import KVCloneModel
import KVCloneRecords

/// Rebuilds derived data: derived attributes, index entries, counts, counters.
extension SalvageMend {
  /// - Parameter isUncertain: whether counters were lost, so that more numbers may have been assigned than are visible.
  func makeDerived(isUncertain: Bool) throws(StoreError) {
    try run.steps.check()
    var session = try writeSession()
    // The times of changes stay.
    try DerivedRefresh.noteAll(includesTimes: false, in: &session)
    try DerivedRefresh.refreshAll(in: &session)
    try session.commitStorage()
    try run.steps.check()
    session = try writeSession()
    let ids = schema.codes.indexIDs
    // Earlier steps have added some entries.
    for id in ids.sorted() { try IndexBuilder.drop(id, in: &session) }
    let run = run
    try IndexBuilder.build(ids, in: &session) { (_) throws(StoreError) in try run.steps.check() }
    try session.commitStorage()
    try resolveDuplicates()
    try countBlobs()
    try writeMetadata(isUncertain: isUncertain)
  }

  // MARK: Duplicates

  /// Two objects may have equal values under a uniqueness constraint if one of them is outdated. The less certain one
  /// loses its value, or, if that is derived, a source of it.
  private func resolveDuplicates() throws(StoreError) {
    guard schema.entities.contains(where: { !$0.constraints.isEmpty }) else { return }
    // An object that lost a value is checked again in the next round, because its other values may be duplicates, too.
    for _ in 0..<64 {
      try run.steps.check()
      var session = try writeSession()
      let losers = try DuplicateMend.own(&session) { (mend) throws(StoreError) in try mend.resolve(run) }
      try DerivedRefresh.refreshAll(in: &session)
      try session.commitStorage()
      if losers == 0 { return }
    }
  }

  // MARK: Counts

  /// Sets the reference counts of blobs, and removes unreferenced ones.
  private func countBlobs() throws(StoreError) {
    let tally = try SalvageBlobs.tally(try engine.beginRead(), schema)
    var session = try writeSession()
    try BlobRecount.own(&session) { (recount) throws(StoreError) in try recount.run { tally.count($0) } }
    try session.commitStorage()
  }

  /// The distance by which counters skip numbers that may have been assigned and lost.
  private static let leap: UInt64 = 1 << 16

  private func writeMetadata(isUncertain: Bool) throws(StoreError) {
    var session = try writeSession()
    let table = schema.tables.metadata
    for rootCode in schema.rootCodes {
      guard let objects = schema.objectTable(rootCode: rootCode) else { continue }
      let end = ShortKey.object(ObjectID(rootCode: rootCode, serial: ObjectID.maximumSerial))
      let last = try Self.lastNumber(session, objects, end) & ObjectID.maximumSerial
      let stored = try Metadata.serial(session.storage, table, rootCode: rootCode)
      let next = max(stored, last + 1) + (isUncertain ? Self.leap : 0)
      if next > 1 {
        session.changes.nextSerials[rootCode] = min(next, ObjectID.maximumSerial + 1)
      }
    }
    let end = ShortKey.blobInfo(UInt64(Int64.max))
    let lastBlob = try Self.lastNumber(session, schema.tables.blobinfo, end)
    let nextBlob = max(try session.counter(MetadataKey.blobSerial), lastBlob + 1) + (isUncertain ? Self.leap : 0)
    if nextBlob > 1 { session.changes.nextBlobSerial = nextBlob }
    if let fingerprint = schema.derivations.fingerprint {
      try Metadata.put(&session.storage, table, MetadataKey.derivations, Metadata.derivations(fingerprint))
    }
    try session.writeCounters()
    try session.commitStorage()
  }

  /// The greatest numeric key up to `end`; 0 if none exists.
  private static func lastNumber(
    _ session: borrowing Session, _ table: StorageTable, _ end: ShortKey
  ) throws(StoreError) -> UInt64 {
    guard let entry = try session.storage.seek(table, end.bytes, .atOrBefore) else { return 0 }
    return (try? NumberKey.blobSerial(entry.key)) ?? 0
  }
}
