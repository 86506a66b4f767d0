import KVCloneRecords

extension Session {
  /// A counter of the metadata table; 0 before it was first written.
  borrowing func counter(_ name: String) throws(StoreError) -> UInt64 {
    try Metadata.counter(storage, schema.tables.metadata, name)
  }

  /// Writes the counters that a commit moves on: serials that were given out, and the number of commits.
  mutating func writeCounters() throws(StoreError) {
    let table = schema.tables.metadata
    for (code, next) in changes.nextSerials {
      try Metadata.put(&storage, table, MetadataKey.serial(rootCode: code), CounterValue(next))
    }
    if let next = changes.nextBlobSerial {
      try Metadata.put(&storage, table, MetadataKey.blobSerial, CounterValue(next))
    }
    try Metadata.put(&storage, table, MetadataKey.commitCounter, CounterValue(commit))
  }
}

/// The metadata table: a few named values that describe the store itself.
enum Metadata {
  /// A named value; nil where there is none.
  static func get<Value: ValueCodec>(
    _ storage: borrowing StorageTransaction, _ table: StorageTable, _ name: String, as type: Value.Type
  ) throws(StoreError) -> Value? {
    let key = MetadataKey.bytes(name)
    guard let value = try storage.get(table, key.span.bytes) else { return nil }
    do throws(RecordError) {
      return try Value(stored: value, seed: ValueEnvelope.seed(tableCode: .metadata, key: key))
    } catch {
      throw damaged(name, error)
    }
  }

  static func counter(_ storage: borrowing StorageTransaction, _ table: StorageTable, _ name: String)
    throws(StoreError) -> UInt64
  {
    try get(storage, table, name, as: CounterValue.self)?.value ?? 0
  }

  static func put(
    _ storage: inout StorageTransaction, _ table: StorageTable, _ name: String, _ value: some ValueCodec
  ) throws(StoreError) {
    let (key, bytes) = entry(name, value)
    try storage.put(table, key.span.bytes, bytes.span.bytes)
  }

  /// A named value as it is stored.
  static func entry(_ name: String, _ value: some ValueCodec) -> (key: [UInt8], value: [UInt8]) {
    let key = MetadataKey.bytes(name)
    return (key, value.encoded(seed: ValueEnvelope.seed(tableCode: .metadata, key: key)))
  }

  static func damaged(_ name: String, _ error: RecordError) -> StoreError {
    StoreError(.damaged, "the store's metadata (\(name)) is damaged: \(error)")
  }
}
