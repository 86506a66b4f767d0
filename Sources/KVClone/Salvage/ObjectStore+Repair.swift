import KVCloneModel
import KVCloneRecords

/// What a repair found, and made anew.
public struct RepairReport: Sendable, Hashable {
  /// What was wrong before.
  public let before: CheckReport
  /// What a check found afterwards; the same as before where there was nothing to do.
  public let after: CheckReport
  /// Index entries that were removed or made.
  public let indexEntryCount: Int
  /// The commit that did it; nil where there was nothing to do.
  public let commit: UInt64?
}

extension ObjectStore {
  /// Makes anew what follows from the objects, where it is damaged: index entries, hidden lists of referrers, counts of large values,
  /// derived attributes. Objects are read, and stay what they are.
  ///
  /// First everything is checked, every byte of large values too. If anything else is damaged, nothing is changed: see
  /// ``IntegrityIssue/isDerived``. The repair is one write transaction, and is checked afterwards.
  ///
  /// - Parameter isDryRun: finds out whether it could be done, and changes nothing.
  /// - Throws: `damaged` (the damage is not of that kind: restore a backup, or use
  ///   ``salvage(from:to:options:progress:cancellation:)-(_,_,_,_,Cancellation?)``), `readOnly`, and what a write transaction throws.
  @available(*, noasync, message: "run it on a thread of its own")
  @discardableResult
  public func repair(isDryRun: Bool = false) throws(StoreError) -> RepairReport {
    if options.isReadOnly, !isDryRun { throw StoreError(.readOnly, "the store at \(path) was opened read-only") }
    let before = try check(CheckOptions(readData: true, maximumIssues: .max))
    guard !before.isClean else {
      return RepairReport(before: before, after: before, indexEntryCount: 0, commit: nil)
    }
    try Self.requireRepairable(before, path)
    let parts = RepairParts(before)
    try parts.requirePossible(try readSession(), path)
    if isDryRun { return RepairReport(before: before, after: before, indexEntryCount: 0, commit: nil) }
    let done = try onceMoreIfMapFull { () throws(StoreError) in try repair(parts) }
    let after = try check(CheckOptions(readData: true))
    return RepairReport(before: before, after: after, indexEntryCount: done.entries, commit: done.commit)
  }

  /// Refuses a store that is damaged in what objects are made of.
  ///
  /// - Throws: `damaged`, with the first damage that stands in the way.
  private static func requireRepairable(_ report: CheckReport, _ path: String) throws(StoreError) {
    let primary = report.issues.filter { !$0.isDerived }
    guard let first = primary.first else { return }
    let place = first.object.map { "\($0): " } ?? ""
    let more = primary.count > 1 ? ", and \(primary.count - 1) more" : ""
    let advice =
      primary.allSatisfy { $0.kind == .pageLeak }
      ? "compact the store, and repair the copy"
      : "restore a backup, or salvage what is readable (kvclone salvage -o NEW)"
    throw StoreError(
      .corrupted,
      "the store at \(path) has damage that cannot be repaired: \(place)\(first.message)\(more); nothing was changed; \(advice)",
      property: first.property, object: first.object)
  }

  private func repair(_ parts: RepairParts) throws(StoreError) -> (entries: Int, commit: UInt64) {
    // Without what saves previous states: a snapshot shows what is repaired as it is now, unless it changed since.
    let storage = StorageTransaction(try engine.beginWrite(label: "repair", timeout: options.busyTimeout))
    guard try schema.catalogWatch.isCurrent(schema, storage, schema.tables.metadata) else {
      throw StoreError(
        .incompatibleModel, "another process gave the store at \(path) another version of its model; open it again")
    }
    let commit = try Metadata.counter(storage, schema.tables.metadata, MetadataKey.commitCounter) + 1
    var session = Session(
      storage: storage, schema: schema, commit: commit, storeUUID: uuid, serialFloor: serialFloor, engine: engine)
    // Somebody may have made one since it was looked at.
    try parts.requirePossible(session, path)
    var entries = 0
    if parts.referrers { try session.rebuildReferrers() }
    if parts.indexes {
      entries += try session.removeWrongIndexEntries()
      entries += try session.addMissingIndexEntries()
    }
    if parts.blobs { try session.repairBlobs(removesPieces: parts.orphanBlobs) }
    if parts.derived {
      // These do change objects.
      try session.storage.record(schema, commit: commit)
      try session.beginHistory(author: options.author)
      try session.noteAllDerived(includesTimes: false)
      try session.refreshDerived()
      try session.writeHistory()
    }
    try session.writeCounters()
    try session.storage.commit()
    commitSignal.noteCommit()
    return (entries, commit)
  }
}

/// What there is to make anew.
private struct RepairParts {
  var referrers = false
  var indexes = false
  var blobs = false
  var orphanBlobs = false
  var derived = false

  /// Refuses what snapshots would show otherwise.
  func requirePossible(_ session: borrowing Session, _ path: String) throws(StoreError) {
    guard referrers || orphanBlobs, try session.countEntries(session.schema.tables.snapshots) > 0 else { return }
    throw StoreError(
      .corrupted,
      "hidden lists, or large values that nobody has, cannot be repaired in \(path) as long as there are snapshots, which show what they "
        + "were; delete the snapshots first, or salvage the store")
  }

  init(_ report: CheckReport) {
    for damage in report.issues where damage.isDerived {
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
