#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
public import KVCloneCore
import KVCloneLMDB
import KVCloneModel
import KVCloneRecords

extension ObjectStore {
  /// Salvages a corrupted store into a new store, and reports the losses. Recovers every object with a valid checksum,
  /// with its id, values and links.
  ///
  /// The corrupted store is only read, without mapping it, and its bytes are untrusted. Unreachable data is searched
  /// for on all pages of the file. Indexes, derived attributes and counts are rebuilt. Snapshots and the change history
  /// are not salvaged. The new store is the same store with the same UUID, so existing ids and URIs stay valid. It
  /// appears at `path` only when it is complete and has passed ``check(_:)``.
  ///
  /// Memory use: a few bits per page and per object, 12 bytes per blob, and the losses.
  ///
  /// - Parameters:
  ///   - source: the directory of the corrupted store. No process may write it during the salvage.
  ///   - path: the directory to create. Its parent must exist, and nothing may exist at the path.
  ///   - options: a model for a store with an unreadable model, and the size of the report.
  ///   - progress: receives progress on the thread that runs the salvage.
  ///   - cancellation: cancels the salvage from another thread.
  /// - Returns: the recovered objects and the losses.
  /// - Throws: `storeNotFound`; `invalidStore` (no data of a store is left); `corrupted` (the model is unreadable, and
  ///   none was given); `incompatibleModel` (the given model does not match); `newerFormat`; `olderFormat`; `busy` (the
  ///   store is being written); `alreadyOpen` (in this process); `storeExists`; `diskFull`; `cancelled`; `io`. No
  ///   partial output remains.
  @available(*, noasync, message: "use the asynchronous form")
  @discardableResult
  public static func salvage(
    from source: String, to path: String, options: SalvageOptions = SalvageOptions(),
    progress: (@Sendable (OperationProgress) -> Void)? = nil, cancellation: Cancellation? = nil
  ) throws(StoreError) -> SalvageReport {
    try runSalvage(source, path, options, BackupRun(progress, cancellation))
  }

  /// Salvages a corrupted store from asynchronous code, on a separate thread.
  ///
  /// Cancelling the task ends the salvage with `cancelled` and removes partial output.
  @discardableResult
  public static func salvage(
    from source: String, to path: String, options: SalvageOptions = SalvageOptions(),
    progress: (@Sendable (OperationProgress) -> Void)? = nil, cancellation: Cancellation = Cancellation()
  ) async throws(StoreError) -> SalvageReport {
    let run = BackupRun(progress, cancellation)
    return try await cancellation.onOwnThread { () throws(StoreError) in
      try runSalvage(source, path, options, run)
    }
  }

  private static func runSalvage(
    _ path: String, _ target: String, _ options: SalvageOptions, _ steps: BackupRun
  ) throws(StoreError) -> SalvageReport {
    let run = SalvageRun(options, steps)
    try steps.check()
    let file = try SalvageSource.open(path, run)
    // Before the long reading, and again when it is over.
    let copy = try storeErrors { () throws(LMDBError) in try StoreCopy(to: target, copyOnWrite: .offUnlessMirrored) }
    do throws(StoreError) {
      try fill(copy, from: try SalvageSource(path, file, run), run)
    } catch {
      try steps.check()
      try steps.requireCurrent(file, path)
      throw error
    }
    try steps.requireCurrent(file, path)
    copy.removeReaderLock()
    try steps.sync(copy)
    run.report.commit = try steps.verify(copy, .everything, of: target).commit
    run.report.byteCount = copy.byteCount
    try steps.publish(copy)
    run.report.duration = ContinuousClock.now - steps.start
    return run.report
  }

  private static func fill(
    _ copy: borrowing StoreCopy, from source: SalvageSource, _ run: SalvageRun
  ) throws(StoreError) {
    let names = TableCode.fixed.map { $0.name ?? "" }
    let environment = try storeErrors { () throws(LMDBError) in try copy.openEnvironment(tables: names) }
    defer { environment.close() }
    let engine = LMDBEngine(environment)
    let metadata = try engine.openTables([.metadata], create: false)[0]
    let description = try SalvageMetadata(source, run)
    let first = try SalvageWriter(engine, run.steps)
    let catalog = try description.write(first, metadata, source, run)
    try first.finish()
    _ = try engine.openTables(catalog.tableCodes, create: true)
    let tables = try SchemaTables.open(engine, metadata, catalog)
    // Derived attributes are computed when all is there that they are made of.
    let plain = try Schema(catalog, tables: tables, maintainsDerived: false)
    let writer = try SalvageWriter(engine, run.steps)
    let lost = source.lost(catalog.tableCodes)
    try SalvageCopy(source: source, writer: writer, schema: plain, run: run, lost: lost).copy()
    try writer.finish()
    let format = try Metadata.format(StorageTransaction(try engine.beginRead()), metadata)
    let stored = try Metadata.counter(
      StorageTransaction(try engine.beginRead()), metadata, MetadataKey.commitCounter)
    // A damaged meta page may have been that of a later commit.
    let isUncertain =
      description.isUncertain || run.report.lossCounts[.state] != nil || !source.file.metaFindings.isEmpty
    // Commits that nothing tells of any more may be known to others.
    let commit = max(stored, run.lastCommit) + (isUncertain ? 1 << 10 : 1)
    func mend(_ schema: Schema) -> SalvageMend {
      SalvageMend(
        engine: engine, schema: schema, storeUUID: format?.storeUUID ?? UUID(), commit: commit, run: run)
    }
    try mend(plain).mend()
    let schema = try Schema(catalog, tables: tables)
    try mend(schema).makeDerived(isUncertain: isUncertain)
    try count(schema, engine, run)
  }

  private static func count(_ schema: Schema, _ engine: LMDBEngine, _ run: SalvageRun) throws(StoreError) {
    let session = StoreContext(uuid: UUID()).session(try engine.beginRead(), schema)
    for entity in schema.entities where !entity.isAbstract { run.report.counts[entity.name] = 0 }
    for rootCode in schema.rootCodes {
      for (code, count) in try session.counts(rootCode: rootCode) {
        run.report.counts[schema.entity(code: code)?.name ?? "", default: 0] += count
        run.report.objectCount += count
      }
    }
  }
}
