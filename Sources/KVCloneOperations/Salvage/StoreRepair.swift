import KVCloneCore
import KVCloneRecords

/// The result of a repair.
public struct RepairReport: Sendable, Hashable {
  /// The issues before the repair.
  public let before: CheckReport
  /// The issues after the repair; equal to ``before`` if nothing was changed.
  public let after: CheckReport
  /// The number of index entries that were removed or created.
  public let indexEntryCount: Int
  /// The number of the last commit that repaired the store or a branch; nil if nothing was changed.
  public let commit: UInt64?
}

/// Rebuilds derived data of a store, and of its branches.
struct StoreRepair {
  private let store: ObjectStore

  init(_ store: ObjectStore) {
    self.store = store
  }

  func repair(isDryRun: Bool) throws(StoreError) -> RepairReport {
    if store.options.isReadOnly, !isDryRun {
      throw StoreError(.readOnly, "the store at \(store.path) was opened read-only; open it for writing")
    }
    let before = try StoreCheck(store).check(CheckOptions(readData: true, maximumIssues: .max))
    guard !before.isClean else {
      return RepairReport(before: before, after: before, indexEntryCount: 0, commit: nil)
    }
    try Self.requireRepairable(before, store.path)
    // The store comes first: branches show its data, too.
    var works: [(repair: StoreRepair, parts: RepairParts)] = []
    for name in [nil] + Set(before.issues.compactMap(\.branch)).sorted() {
      let issues = before.issues.filter { $0.branch == name }
      if issues.isEmpty { continue }
      let repair = StoreRepair(try name.map { (name) throws(StoreError) in try store.branches.open(name) } ?? store)
      let parts = RepairParts(issues)
      try parts.requirePossible(try repair.store.readSession(), name.map { "the branch \($0)" } ?? store.path)
      works.append((repair, parts))
    }
    if isDryRun { return RepairReport(before: before, after: before, indexEntryCount: 0, commit: nil) }
    var (entryCount, commit): (Int, UInt64?) = (0, nil)
    for work in works {
      let done = try retryIfMapFull { () throws(StoreError) in try work.repair.repair(work.parts) }
      entryCount += done.entries
      commit = done.commit
    }
    let after = try StoreCheck(store).check(CheckOptions(readData: true))
    return RepairReport(before: before, after: after, indexEntryCount: entryCount, commit: commit)
  }

  /// Rejects a store with corruption in other data than derived data.
  ///
  /// - Throws: `corrupted`, with the first issue that prevents the repair.
  private static func requireRepairable(_ report: CheckReport, _ path: String) throws(StoreError) {
    let primary = report.issues.filter { !$0.isDerived }
    guard let first = primary.first else { return }
    let place = first.object.map { "\($0): " } ?? ""
    let more = primary.count > 1 ? ", and \(primary.count - 1) more" : ""
    let advice =
      primary.allSatisfy { $0.kind == .pageLeak }
      ? "compact the store, and repair the copy"
      : "restore a backup, or salvage the readable objects (kvclone salvage -o NEW)"
    throw StoreError(
      .corrupted,
      "the store at \(path) has issues that cannot be repaired: \(place)\(first.message)\(more); nothing was changed; "
        + "\(advice)",
      property: first.property, object: first.object)
  }

  private func repair(_ parts: RepairParts) throws(StoreError) -> (entries: Int, commit: UInt64) {
    let schema = store.schema
    // Without recording preimages: a snapshot shows the repaired data in its current form, unless it changed since.
    let storage = StorageTransaction(try store.engine.beginWrite(label: "repair", timeout: store.options.busyTimeout))
    guard try schema.catalogWatch.isCurrent(schema, storage, schema.tables.metadata) else {
      throw StoreError(
        .incompatibleModel,
        "another process migrated the store at \(store.path) to another model version; open it again")
    }
    let commit = try Metadata.counter(storage, schema.tables.metadata, MetadataKey.commitCounter) + 1
    let context = StoreContext(uuid: store.uuid, serialFloor: store.context.serialFloor, engine: store.engine)
    var session = context.session(storage, schema, commit: commit)
    // A snapshot may have been created since the check.
    try parts.requirePossible(session, store.path)
    var entries = 0
    try DerivedDataRepair.own(&session) { (repair) throws(StoreError) in
      if parts.referrers { try repair.rebuildReferrers() }
      if parts.indexes {
        entries += try repair.removeWrongIndexEntries()
        entries += try repair.addMissingIndexEntries()
      }
      if parts.blobs { try repair.repairBlobs(removesPieces: parts.orphanBlobs) }
    }
    if parts.derived {
      // Unlike the other parts, these change objects.
      try session.storage.record(schema, commit: commit)
      try HistoryWriter.begin(author: store.options.author, in: &session)
      try DerivedRefresh.noteAll(includesTimes: false, in: &session)
      try DerivedRefresh.refreshAll(in: &session)
      try HistoryWriter.finish(in: &session)
    }
    try session.writeCounters()
    try session.commitStorage()
    store.commitSignal.noteCommit()
    return (entries, commit)
  }
}

/// The derived data to rebuild.
private struct RepairParts {
  var referrers = false
  var indexes = false
  var blobs = false
  var orphanBlobs = false
  var derived = false

  /// Rejects a repair that would change what snapshots show.
  func requirePossible(_ session: borrowing Session, _ path: String) throws(StoreError) {
    guard referrers || orphanBlobs, try session.storage.entryCount(session.schema.tables.snapshots) > 0 else { return }
    throw StoreError(
      .corrupted,
      "back references or unreferenced blobs of \(path) cannot be repaired while snapshots or branches exist, because "
        + "these show their previous content; delete them first, or salvage the store")
  }

  init(_ issues: [IntegrityIssue]) {
    for damage in issues where damage.isDerived {
      switch damage.kind {
      case .missingIndexEntry, .indexEntry, .staleIndexEntry, .malformedKey: indexes = true
      case .derivedMismatch: derived = true
      case .list, .orphanList, .danglingLink, .oneSidedLink: referrers = true
      case .blobCount: blobs = true
      case .orphanBlob: (blobs, orphanBlobs) = (true, true)
      default: break  // Never derived.
      }
    }
  }
}
