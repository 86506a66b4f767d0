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
    try session.storage.commit()
    try run.steps.check()
    session = try writeSession()
    let ids = schema.codes.indexIDs
    // Changes so far have made some entries.
    for id in ids.sorted() { try session.dropIndex(id) }
    let run = run
    try session.buildIndexes(ids) { (_) throws(StoreError) in try run.steps.check() }
    try session.storage.commit()
    try resolveDuplicates()
    try countBlobs()
    try writeMetadata(isUncertain: isUncertain)
  }

  // MARK: Values that have to be unique

  /// Two objects may have the same values under a uniqueness constraint where one of them is older than the state. Then the one of which
  /// less is sure loses its value.
  private func resolveDuplicates() throws(StoreError) {
    guard schema.entities.contains(where: { !$0.constraints.isEmpty }) else { return }
    // Of three with the same values, two stay after the first round.
    for _ in 0..<64 {
      try run.steps.check()
      var session = try writeSession()
      let losers = try session.duplicates(run)
      for (id, constraint) in losers { try session.giveUp(id, constraint, run) }
      try session.refreshDerived()
      try session.storage.commit()
      if losers.isEmpty { return }
    }
  }

  // MARK: Counts

  /// Large values have as many referrers as there are fields that name them; those without one go.
  private func countBlobs() throws(StoreError) {
    let tally = try SalvageBlobs.tally(try engine.beginRead(), schema)
    var session = try writeSession()
    try session.countBlobs { tally.count($0) }
    try session.storage.commit()
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
    try session.storage.commit()
  }
}

extension Session {
  /// The greatest key up to `end`, which is a number; 0 where there is none.
  fileprivate borrowing func lastNumber(_ table: StorageTable, _ end: ShortKey) throws(StoreError) -> UInt64 {
    guard let entry = try storage.seek(table, end.bytes, .atOrBefore) else { return 0 }
    return (try? NumberKey.blobSerial(entry.key)) ?? 0
  }

  /// Objects that have the same values under a uniqueness constraint as another one, which has more right to them.
  fileprivate borrowing func duplicates(_ run: SalvageRun) throws(StoreError) -> [(ObjectID, CompiledConstraint)] {
    var walk = IndexWalk()
    var found: [(ObjectID, CompiledConstraint)] = []
    try forEachEntry(schema.tables.indexes) { (key, _) throws(StoreError) in
      guard let id = try? IndexKey.objectID(of: copy key), let index = try? IndexKey.indexID(of: copy key) else {
        return true
      }
      let view = try existingRecord(id)
      let entity = try schema.entity(of: view, id: id)
      guard let constraint = entity.constraints.first(where: { $0.indexID == index }) else { return true }
      let values = try constraint.values(entity, view, id, schema)
      guard let builder = constraint.builder(for: values), let other = walk.earlier(builder, values, id) else {
        return true
      }
      let earlier = try existingRecord(other)
      if builder.isTruncated {
        let entity = try schema.entity(of: earlier, id: other)
        guard try constraint.values(entity, earlier, other, schema) == values else { return true }
      }
      let isFirst =
        run.isDoubtful(other) == run.isDoubtful(id) ? earlier.commit >= view.commit : run.isDoubtful(id)
      found.append((isFirst ? id : other, constraint))
      return true
    }
    return found
  }

  /// Takes one of the values of a constraint from an object.
  fileprivate mutating func giveUp(
    _ id: ObjectID, _ constraint: CompiledConstraint, _ run: SalvageRun
  ) throws(StoreError) {
    let entity = try load(id)
    let name = "\(entity.name)/\(id.serial)"
    let reason = "another object has the same values under \(constraint.name), which have to be unique"
    for column in constraint.columns {
      switch column {
      case .attribute(let index):
        let attribute = entity.attributes[index]
        if attribute.isDerived { continue }
        try write([(attribute, nil)], to: id, entity)
        return run.lose(
          .value, object: name, property: attribute.path, breaksRule: !attribute.description.isOptional, reason)
      case .toOne(let index):
        let relationship = entity.relationships[index]
        guard let target = try toOne(id, relationship) else { continue }
        _ = try detach(id, relationship.code, target)
        try detachBack(id, relationship, target)
        return run.lose(
          .link, object: name, property: relationship.name, breaksRule: !relationship.description.isOptional, reason)
      }
    }
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
