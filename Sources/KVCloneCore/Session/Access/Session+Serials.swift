import KVCloneModel
import KVCloneRecords

extension Session {
  /// Allocates the next id of an entity's root entity. Serials are never reused, not even those of aborted transactions
  /// of this process.
  mutating func nextID(_ entity: CompiledEntity) throws(StoreError) -> ObjectID {
    let serial = try reserveSerials(rootCode: entity.rootCode, count: 1)
    return ObjectID(rootCode: entity.rootCode, serial: serial)
  }

  /// Returns the first of the next `count` serials of a root entity.
  ///
  /// - Throws: `limitExceeded` if not enough serials remain.
  package borrowing func nextSerial(rootCode: UInt16, count: UInt64 = 1) throws(StoreError) -> UInt64 {
    let next: UInt64
    if let known = changes.nextSerials[rootCode] {
      next = known
    } else {
      let stored = try Metadata.serial(storage, schema.tables.metadata, rootCode: rootCode)
      next = max(max(1, stored), serialFloor.next(rootCode: rootCode))
    }
    guard count <= ObjectID.maximumSerial, next <= ObjectID.maximumSerial - count + 1 else {
      throw StoreError(
        .limitExceeded,
        "entity \(schema.entity(code: rootCode)?.name ?? "") has used all of its 2^48 serials; dump the store, and load "
          + "the dump into a new one",
        entity: schema.entity(code: rootCode)?.name)
    }
    return next
  }

  /// Allocates `count` consecutive serials of a root entity, and returns the first.
  package mutating func reserveSerials(rootCode: UInt16, count: UInt64) throws(StoreError) -> UInt64 {
    let next = try nextSerial(rootCode: rootCode, count: count)
    if limits != nil { try StoreLimits.takeObjectRoom(count, in: &self) }
    changes.nextSerials[rootCode] = next + count
    return next
  }

  /// Allocates serials from `first` on, which `nextSerial` has returned before for the commit that this transaction
  /// begins with; returns false if other serials were allocated since.
  package mutating func takeSerials(rootCode: UInt16, from first: UInt64, count: UInt64) -> Bool {
    if let next = changes.nextSerials[rootCode] {
      guard next == first else { return false }
    } else {
      guard serialFloor.next(rootCode: rootCode) <= first else { return false }
    }
    changes.nextSerials[rootCode] = first + count
    return true
  }

  /// Allocates the serial for a new blob.
  package mutating func nextBlobSerial() throws(StoreError) -> UInt64 {
    let next: UInt64
    if let known = changes.nextBlobSerial {
      next = known
    } else {
      next = max(max(1, try counter(MetadataKey.blobSerial)), serialFloor.next(rootCode: 0))
    }
    changes.nextBlobSerial = next + 1
    return next
  }

  /// Returns a counter of the metadata table; 0 if it was never written.
  package borrowing func counter(_ name: String) throws(StoreError) -> UInt64 {
    try Metadata.counter(storage, schema.tables.metadata, name)
  }

  /// Writes the counters that a commit advances: allocated serials, and the number of commits.
  package mutating func writeCounters() throws(StoreError) {
    let table = schema.tables.metadata
    for (code, next) in changes.nextSerials {
      try Metadata.put(&storage, table, MetadataKey.serialKey(rootCode: code), next)
    }
    if let next = changes.nextBlobSerial {
      try Metadata.put(&storage, table, MetadataKey.blobSerial, CounterValue(next))
    }
    try Metadata.put(&storage, table, MetadataKey.commitKey, commit)
  }

  /// Raises the file's format version, so that only libraries that know it can open the file. Never lowers it.
  package mutating func raiseFormat(to version: UInt32) throws(StoreError) {
    let table = schema.tables.metadata
    guard var format = try Metadata.format(storage, table) else {
      throw Metadata.corrupted(MetadataKey.format, .badKey)
    }
    if format.version >= version, format.minimumReaderVersion >= version { return }
    format.raise(to: version)
    let (key, value) = (MetadataKey.bytes(MetadataKey.format), format.encoded())
    try storage.put(table, key.span.bytes, value.span.bytes)
  }
}
