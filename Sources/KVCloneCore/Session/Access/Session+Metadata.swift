import KVCloneRecords

extension Session {
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
