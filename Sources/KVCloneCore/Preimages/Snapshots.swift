package import KVCloneRecords

/// Reads the table of snapshots.
package enum Snapshots {
  /// The snapshot with a name; nil if none has it.
  package static func find(_ storage: borrowing StorageTransaction, _ tables: SchemaTables, _ name: String)
    throws(StoreError) -> SnapshotValue?
  {
    let key = Array(name.utf8)
    guard !key.isEmpty, key.count <= FormatLimits.maximumKeyLength,
      let value = try storage.get(tables.snapshots, key.span.bytes)
    else { return nil }
    return try decode(key, value)
  }

  private static func decode(_ key: [UInt8], _ value: RawSpan) throws(StoreError) -> SnapshotValue {
    do throws(RecordError) {
      return try SnapshotValue(stored: value, seed: ValueEnvelope.seed(tableCode: .snapshots, key: key))
    } catch {
      throw StoreError(
        .corrupted,
        "the snapshot \(String(decoding: key, as: UTF8.self)) is corrupted: \(error) Run `check` to see the extent")
    }
  }

  /// All snapshots, in order of creation.
  package static func all(_ storage: borrowing StorageTransaction, _ tables: SchemaTables) throws(StoreError)
    -> [(name: String, value: SnapshotValue)]
  {
    var found: [(name: String, value: SnapshotValue)] = []
    let first: [UInt8] = [0]
    try storage.scanToEnd(of: tables.snapshots, from: first.span.bytes) { (key, value) throws(StoreError) in
      let key = key.withUnsafeBytes { Array($0) }
      guard let name = String(validating: key, as: UTF8.self) else {
        throw StoreError(.corrupted, "the name of a snapshot is corrupted; run `check` to see the extent")
      }
      found.append((name, try decode(key, copy value)))
      return true
    }
    return found.sorted { $0.value.epoch < $1.value.epoch }
  }

  /// The youngest snapshot, for which a write transaction saves preimages; nil without snapshots.
  package static func youngest(_ storage: borrowing StorageTransaction, _ tables: SchemaTables) throws(StoreError)
    -> SnapshotValue?
  {
    guard let value = try storage.get(tables.metadata, MetadataKey.youngestSnapshotKey.bytes) else { return nil }
    let name: [UInt8]
    do throws(RecordError) {
      let seed = ValueEnvelope.seed(tableCode: .metadata, key: MetadataKey.youngestSnapshotKey)
      name = try BytesValue(stored: value, seed: seed).bytes
    } catch {
      throw Metadata.corrupted(MetadataKey.youngestSnapshot, error)
    }
    guard let snapshot = try find(storage, tables, String(decoding: name, as: UTF8.self)) else {
      throw Metadata.corrupted(MetadataKey.youngestSnapshot, .badKey)
    }
    return snapshot
  }

  package static func notFound(_ name: String) -> StoreError {
    StoreError(.snapshotNotFound, "the snapshot \(name) does not exist; `snapshot list` shows all snapshots")
  }
}
