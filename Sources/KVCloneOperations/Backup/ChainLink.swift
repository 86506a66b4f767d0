import KVCloneCore
import KVCloneRecords

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The state of a backup to which an incremental backup may be applied: its store, its commit, and its snapshots.
struct ChainLink {
  let path: String
  let uuid: UUID
  let version: UInt32
  let commit: UInt64
  let snapshots: [(name: String, value: SnapshotValue)]
  /// Whether branches were left out of it, which later increments build on.
  private var lacksBranches = false

  /// A complete store.
  init(_ session: borrowing Session, _ format: FormatRecord, _ path: String) throws(StoreError) {
    self.path = path
    uuid = format.storeUUID
    version = format.version
    commit = try session.counter(MetadataKey.commitCounter)
    snapshots = try Snapshots.all(session.storage, session.schema.tables)
    let mark = try Metadata.get(
      session.storage, session.schema.tables.metadata, MetadataKey.withoutBranches, as: CounterValue.self)
    // A store that was restored from it and changed since is complete again.
    lacksBranches = mark?.value == commit
  }

  /// The state of a store after an incremental backup.
  init(_ increment: IncrementFile) throws(StoreError) {
    path = increment.path
    uuid = increment.format.storeUUID
    version = increment.format.version
    commit = increment.value.commit
    let storage = StorageTransaction(try increment.engine.beginReading())
    snapshots = try Snapshots.all(storage, SchemaTables(rootCodes: []))
  }

  /// - Returns: the snapshot at the start of the incremental backup.
  /// - Throws: `brokenChain`, with what is missing.
  @discardableResult
  func requireFit(_ increment: IncrementFile, _ reader: borrowing StorageTransaction) throws(StoreError)
    -> SnapshotValue
  {
    let (value, other) = (increment.value, increment.path)
    if increment.format.storeUUID != uuid {
      throw Self.broken(
        "\(other) belongs to the store \(increment.format.storeUUID), \(path) to the store \(uuid)")
    }
    if lacksBranches {
      throw Self.broken("\(path) was made without branches; give a full backup that contains them")
    }
    if version > FormatLimits.formatVersion {
      throw StoreError(
        .newerFormat,
        "\(path) has the newer format \(version), so this library cannot apply an incremental backup to it; use the "
          + "library version that wrote it")
    }
    let found = snapshots.first { $0.value.epoch == value.sinceEpoch && $0.name == value.sinceName }
    guard let since = found?.value, since.commit == value.sinceCommit,
      since.created.bitPattern == value.sinceCreated.bitPattern
    else {
      let isOther = snapshots.contains { $0.name == value.sinceName }
      throw Self.broken(
        "\(other) starts from the snapshot \(value.sinceName) of commit \(value.sinceCommit), and \(path) has "
          + (isOther ? "another snapshot with that name" : "no such snapshot")
          + "; restore a backup with that snapshot before it")
    }
    if commit > value.commit {
      throw Self.broken(
        "\(path) contains commit \(commit), and \(other) the earlier commit \(value.commit); give incremental "
          + "backups in the order of their creation")
    }
    // Older snapshots need entries that only older backups have.
    for (name, snapshot) in try Snapshots.all(reader, SchemaTables(rootCodes: [])) where snapshot.epoch < since.epoch {
      let isThere = snapshots.contains {
        $0.name == name && $0.value.epoch == snapshot.epoch && $0.value.commit == snapshot.commit
      }
      if !isThere {
        throw Self.broken(
          "\(other) contains the snapshot \(name), which is older than \(value.sinceName), but \(path) does not")
      }
    }
    return since
  }

  static func broken(_ what: String) -> StoreError {
    StoreError(.brokenChain, "the backups do not form a chain: \(what); nothing was restored")
  }
}
