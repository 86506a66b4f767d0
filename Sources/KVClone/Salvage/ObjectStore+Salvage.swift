#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import KVCloneLMDB
import KVCloneModel
import KVCloneRecords

extension ObjectStore {
  /// Makes a new store of what is readable in a damaged one: every object whose record has the right checksum, with its id, its values and
  /// its links, and says what was lost.
  ///
  /// The damaged store is only read, not mapped, and no byte of it is trusted. What cannot be reached any more is looked for on all pages
  /// of the file. Indexes, derived attributes and counts are made anew, snapshots and the history of changes stay behind. The new store is
  /// the same one, with the same UUID, so ids and URIs that others keep are valid. It appears when it is complete, and has passed
  /// ``check(_:)``.
  ///
  /// Memory is flat: a few bits a page and an object, 12 bytes a large value, and what the losses need.
  ///
  /// - Parameters:
  ///   - source: the damaged store's directory. Nobody writes it meanwhile.
  ///   - path: the directory to make; its parent is there, and nothing else at the path.
  ///   - options: a model, where the store's own is lost.
  ///   - progress: is told how far it has come, on the thread that does it.
  ///   - cancellation: ends it from another thread.
  /// - Throws: `noStore`, `notAStore` (nothing of a store is left), `damaged` (its model cannot be read, and none was given),
  ///   `incompatibleModel` (the one that was given is not the store's), `newerFormat`, `olderFormat`, `busy` (the store is written),
  ///   `alreadyOpen` (in this process), `storeExists`, `diskFull`, `cancelled`, and what the file system has to say.
  @available(*, noasync, message: "use the asynchronous form")
  @discardableResult
  public static func salvage(
    from source: String, to path: String, options: SalvageOptions = SalvageOptions(),
    progress: (@Sendable (BackupProgress) -> Void)? = nil, cancellation: Cancellation? = nil
  ) throws(StoreError) -> SalvageReport {
    try runSalvage(source, path, options, BackupRun(progress, cancellation))
  }

  /// Salvages from asynchronous code, on a thread of its own. Cancelling the task ends it with `cancelled` and nothing left of it.
  @discardableResult
  public static func salvage(
    from source: String, to path: String, options: SalvageOptions = SalvageOptions(),
    progress: (@Sendable (BackupProgress) -> Void)? = nil, cancellation: Cancellation = Cancellation()
  ) async throws(StoreError) -> SalvageReport {
    let run = BackupRun(progress, cancellation)
    return try await BackupRun.onOwnThread(cancellation) { () throws(StoreError) in
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
    let tables = try openTables(engine, metadata, catalog)
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
    let session = Session(
      storage: StorageTransaction(try engine.beginRead()), schema: schema, commit: 0, storeUUID: UUID(),
      serialFloor: SerialHighWaterMark())
    for entity in schema.entities where !entity.isAbstract { run.report.counts[entity.name] = 0 }
    for rootCode in schema.rootCodes {
      for (code, count) in try session.counts(rootCode: rootCode) {
        run.report.counts[schema.entity(code: code)?.name ?? "", default: 0] += count
        run.report.objectCount += count
      }
    }
  }
}
