import KVCloneModel
import KVCloneRecords

extension Session {
  /// The next id of an entity's root. Serials are not used again, not even those of transactions that were given up in
  /// this process.
  mutating func nextID(_ entity: CompiledEntity) throws(StoreError) -> ObjectID {
    let serial = try reserveSerials(rootCode: entity.rootCode, count: 1)
    return ObjectID(rootCode: entity.rootCode, serial: serial)
  }

  /// The first of the next `count` serials that a root entity's objects get.
  ///
  /// - Throws: `limitExceeded` when there are not so many left.
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

  /// Takes `count` consecutive serials of a root entity, and answers the first.
  package mutating func reserveSerials(rootCode: UInt16, count: UInt64) throws(StoreError) -> UInt64 {
    let next = try nextSerial(rootCode: rootCode, count: count)
    if limits != nil { try StoreLimits.takeObjectRoom(count, in: &self) }
    changes.nextSerials[rootCode] = next + count
    return next
  }

  /// Takes serials from `first` on, which `nextSerial` has answered before for the commit that this transaction begins
  /// with; false where others were given out since.
  package mutating func takeSerials(rootCode: UInt16, from first: UInt64, count: UInt64) -> Bool {
    if let next = changes.nextSerials[rootCode] {
      guard next == first else { return false }
    } else {
      guard serialFloor.next(rootCode: rootCode) <= first else { return false }
    }
    changes.nextSerials[rootCode] = first + count
    return true
  }

  /// The serial for a new blob.
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

  /// A counter of the metadata table; 0 before it was first written.
  package borrowing func counter(_ name: String) throws(StoreError) -> UInt64 {
    try Metadata.counter(storage, schema.tables.metadata, name)
  }

  /// Writes the counters that a commit moves on: serials that were given out, and the number of commits.
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

  /// Says that only libraries that know a version of the format may open the file from now on. Nothing is lowered.
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
