package import KVCloneCore
package import KVCloneRecords

/// Reads and writes the table of branches.
package enum BranchRecords {
  /// The branch with a name; nil if none has it.
  package static func find(_ storage: borrowing StorageTransaction, _ tables: BranchTables, _ name: String)
    throws(StoreError) -> BranchValue?
  {
    let key = Array(name.utf8)
    guard !key.isEmpty, key.count <= FormatLimits.maximumKeyLength,
      let value = try storage.get(tables.branches, key.span.bytes)
    else { return nil }
    return try decode(key, value)
  }

  /// The branch with a name.
  ///
  /// - Parameter number: the number that it must have: the name may have been reused since.
  /// - Throws: `branchNotFound`.
  package static func existing(
    _ storage: borrowing StorageTransaction, _ tables: BranchTables, _ name: String, number: UInt32? = nil
  ) throws(StoreError) -> BranchValue {
    guard let value = try find(storage, tables, name), number == nil || number == value.number else {
      throw notFound(name)
    }
    return value
  }

  /// All branches, in the order of their creation.
  package static func all(_ storage: borrowing StorageTransaction, _ tables: BranchTables) throws(StoreError)
    -> [(name: String, value: BranchValue)]
  {
    var found: [(name: String, value: BranchValue)] = []
    let first: [UInt8] = [0]
    try storage.scanToEnd(of: tables.branches, from: first.span.bytes) { (key, value) throws(StoreError) in
      let key = key.withUnsafeBytes { Array($0) }
      guard let name = String(validating: key, as: UTF8.self) else {
        throw StoreError(.corrupted, "the name of a branch is corrupted; run `check` to see the extent")
      }
      found.append((name, try decode(key, copy value)))
      return true
    }
    return found.sorted { $0.value.number < $1.value.number }
  }

  /// The part of the store that the base of a layer can see.
  ///
  /// - Throws: `corrupted`, with the name of the branch, if its base is missing or corrupted.
  package static func horizon(
    of layer: BranchValue.Layer, branch name: String, _ storage: borrowing StorageTransaction, _ tables: BranchTables,
    _ orderedLists: OrderedLists
  ) throws(StoreError) -> SnapshotHorizon {
    var problem = "missing"
    do throws(StoreError) {
      if let base = try Snapshots.find(storage, tables.store, layer.baseName), base.epoch == layer.baseEpoch {
        return SnapshotHorizon(base, orderedLists)
      }
    } catch {
      guard error.kind == .corrupted else { throw error }
      problem = "corrupted"
    }
    throw StoreError(
      .corrupted, "the base of the branch \(name) is \(problem); run `check` to see the extent, or delete the branch")
  }

  /// The names of all branches, in a write transaction.
  package static func names(in storage: inout StorageTransaction, _ tables: SchemaTables) throws(StoreError) -> [String]
  {
    if try Metadata.counter(storage, tables.metadata, MetadataKey.layer) == 0 { return [] }
    return try all(storage, try BranchTables(creatingIn: &storage, tables)).map(\.name)
  }

  package static func put(
    _ value: BranchValue, _ name: String, _ tables: BranchTables, in storage: inout StorageTransaction
  ) throws(StoreError) {
    let (key, bytes) = encode(value, name)
    try storage.put(tables.branches, key.span.bytes, bytes.span.bytes)
  }

  /// Returns the key and the stored form of a branch.
  static func encode(_ value: BranchValue, _ name: String) -> (key: [UInt8], value: [UInt8]) {
    let key = Array(name.utf8)
    return (key, value.encoded(seed: ValueEnvelope.seed(tableCode: .branches, key: key)))
  }

  package static func notFound(_ name: String) -> StoreError {
    StoreError(.branchNotFound, "the branch \(name) does not exist; `branch list` shows all branches")
  }

  private static func decode(_ key: [UInt8], _ value: RawSpan) throws(StoreError) -> BranchValue {
    do throws(RecordError) {
      return try BranchValue(stored: value, seed: ValueEnvelope.seed(tableCode: .branches, key: key))
    } catch {
      throw StoreError(
        .corrupted,
        "the branch \(String(decoding: key, as: UTF8.self)) is corrupted: \(error) Run `check` to see the extent")
    }
  }
}
