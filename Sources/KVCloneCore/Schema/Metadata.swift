import KVCloneModel
package import KVCloneRecords

/// The metadata table: named values that describe the store itself.
package enum Metadata {
  /// A named value; nil if it is missing.
  package static func get<Value: ValueCodec>(
    _ storage: borrowing StorageTransaction, _ table: StorageTable, _ name: String, as type: Value.Type
  ) throws(StoreError) -> Value? {
    if let key = MetadataKey.short(name) { return try get(storage, table, key, as: type) { name } }
    let key = MetadataKey.bytes(name)
    guard let value = try storage.get(table, key.span.bytes) else { return nil }
    do throws(RecordError) {
      return try Value(stored: value, seed: ValueEnvelope.seed(tableCode: .metadata, key: key))
    } catch {
      throw corrupted(name, error)
    }
  }

  /// Reads a value by a prepared key; `name` is for errors. Every transaction reads some.
  private static func get<Value: ValueCodec>(
    _ storage: borrowing StorageTransaction, _ table: StorageTable, _ key: ShortKey, as type: Value.Type,
    _ name: () -> String
  ) throws(StoreError) -> Value? {
    guard let value = try storage.get(table, key.bytes) else { return nil }
    do throws(RecordError) {
      return try Value(stored: value, seed: ValueEnvelope.seed(tableCode: .metadata, key: key))
    } catch {
      throw corrupted(name(), error)
    }
  }

  package static func counter(_ storage: borrowing StorageTransaction, _ table: StorageTable, _ name: String)
    throws(StoreError) -> UInt64
  {
    try get(storage, table, name, as: CounterValue.self)?.value ?? 0
  }

  /// The serial counter of a root entity; 0 before it is first written.
  package static func serial(_ storage: borrowing StorageTransaction, _ table: StorageTable, rootCode: UInt16)
    throws(StoreError) -> UInt64
  {
    let key = MetadataKey.serialKey(rootCode: rootCode)
    return try get(storage, table, key, as: CounterValue.self) { MetadataKey.serial(rootCode: rootCode) }?.value ?? 0
  }

  /// The format record of a file; nil if it is missing. The caller checks whether this library supports it.
  package static func format(_ storage: borrowing StorageTransaction, _ table: StorageTable) throws(StoreError)
    -> FormatRecord?
  {
    let key = MetadataKey.bytes(MetadataKey.format)
    guard let value = try storage.get(table, key.span.bytes) else { return nil }
    do throws(RecordError) {
      return try FormatRecord(stored: value)
    } catch {
      throw corrupted(MetadataKey.format, error)
    }
  }

  package static func put(
    _ storage: inout StorageTransaction, _ table: StorageTable, _ name: String, _ value: some ValueCodec
  ) throws(StoreError) {
    let (key, bytes) = entry(name, value)
    try storage.put(table, key.span.bytes, bytes.span.bytes)
  }

  /// Writes a counter, without heap allocation because every commit writes some.
  static func put(
    _ storage: inout StorageTransaction, _ table: StorageTable, _ key: ShortKey, _ counter: UInt64
  ) throws(StoreError) {
    let seed = ValueEnvelope.seed(tableCode: .metadata, key: key)
    try CounterValue(counter).withStored(seed: seed) { (value) throws(StoreError) in
      try storage.put(table, key.bytes, value)
    }
  }

  /// Encodes a named value.
  static func entry(_ name: String, _ value: some ValueCodec) -> (key: [UInt8], value: [UInt8]) {
    let key = MetadataKey.bytes(name)
    return (key, value.encoded(seed: ValueEnvelope.seed(tableCode: .metadata, key: key)))
  }

  package static func corrupted(_ name: String, _ error: RecordError) -> StoreError {
    StoreError(.corrupted, "the store's metadata (\(name)) is corrupted: \(error) Restore the store from a backup")
  }
}

extension FormatRecord {
  /// Rejects the file at `path` if this library does not support its format.
  ///
  /// - Throws: `incrementalBackup`, `newerFormat`, `olderFormat`.
  package func requireReadable(at path: String) throws(StoreError) {
    if isIncrement {
      throw StoreError(
        .incrementalBackup,
        "\(path) is an incremental backup, which contains only the changes since a snapshot; restore it after the "
          + "backup with that snapshot (kvclone restore BACKUP \(path) --to STORE)")
    }
    if isTooNew {
      throw StoreError(
        .newerFormat,
        "\(path) has format \(version) and requires a library that reads format \(minimumReaderVersion); this library "
          + "reads up to \(FormatLimits.formatVersion); upgrade the library")
    }
    if isTooOld {
      throw StoreError(
        .olderFormat,
        "\(path) has format \(version), and this library reads format \(FormatLimits.oldestFormatVersion) and later; "
          + "dump it with the build that wrote it (kvclone dump), and load the dump into a new store (kvclone load)")
    }
  }
}

extension Metadata {
  /// The metadata value for derived attributes that were computed by these expressions.
  package static func derivations(_ fingerprint: String) -> BytesValue {
    BytesValue(Array(SHA256.hash(fingerprint.utf8).bytes.prefix(16)))
  }
}
