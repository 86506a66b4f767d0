import KVCloneBranches
package import KVCloneCore
import KVCloneLMDB
import KVCloneRecords

/// Checks a store that is open.
struct StoreCheck {
  private let store: ObjectStore
  private let progress: (@Sendable (OperationProgress) -> Void)?
  private let cancellation: Cancellation?

  init(
    _ store: ObjectStore, _ progress: (@Sendable (OperationProgress) -> Void)? = nil,
    _ cancellation: Cancellation? = nil
  ) {
    self.store = store
    self.progress = progress
    self.cancellation = cancellation
  }

  /// - Parameter refusals: the failed reads of earlier attempts.
  func check(_ options: CheckOptions, _ refusals: PageRefusals = PageRefusals()) throws(StoreError) -> CheckReport {
    try store.engine.requireStore(for: "a check")
    let report = try checkAll(options, refusals)
    // The pages that a cancelled check could not read are not corrupted.
    if cancellation?.isCancelled == true { throw StoreError(.cancelled, "the check was cancelled") }
    return report
  }

  private func checkAll(_ options: CheckOptions, _ refusals: PageRefusals) throws(StoreError) -> CheckReport {
    guard let environment = store.engine.files?.environment else { return try checkThroughEngine(options) }
    let watch = PageWatch.reporting(try store.engine.facts(), progress, cancellation)
    let file = try storeErrors { () throws(LMDBError) in
      try PageFile(pinning: environment, watch: watch, refusals: refusals)
    }
    return try CheckPasses(file, options) { (map) throws(StoreError) in try FileCheck.check(file, map, run(options)) }
      .report
  }

  /// Creates a run with the state of the open store.
  private func run(_ options: CheckOptions) -> CheckRun {
    let run = CheckRun(schema: store.schema, options: options, progress: progress, cancellation: cancellation)
    run.expectedUUID = store.uuid
    run.isNewerFormat = store.formatVersion > FormatLimits.formatVersion
    return run
  }

  /// Checks the tables of another engine, without knowledge of its pages.
  private func checkThroughEngine(_ options: CheckOptions) throws(StoreError) -> CheckReport {
    let run = run(options)
    var history: [StorageTable] = []
    for code in TableCode.history {
      if let table = try? store.engine.openTables([code], create: false).first { history.append(table) }
    }
    run.begin(history, try BranchTables(store.engine, store.schema.tables))
    let session = try store.readSession()
    try StoreChecker(session).check(run)
    return run.report(pageCount: try store.engine.facts().pageCount)
  }
}

extension CheckReport {
  /// Checks the integrity of an open store on a separate thread; see ``ObjectStore/check(_:)``.
  ///
  /// - Parameters:
  ///   - options: what is read, and when the check stops.
  ///   - progress: receives the bytes that were read (phase `read`), and the objects that were checked (phase
  ///     `objects`), on the thread of the check.
  ///   - cancellation: cancels the check from another thread, as the cancellation of the task does.
  /// - Throws: `cancelled`; the errors of ``ObjectStore/check(_:)``.
  package static func of(
    _ store: ObjectStore, _ options: CheckOptions, progress: @escaping @Sendable (OperationProgress) -> Void,
    cancellation: Cancellation
  ) async throws(StoreError) -> CheckReport {
    try await cancellation.onOwnThread { () throws(StoreError) in
      try StoreCheck(store, progress, cancellation).check(options)
    }
  }
}
