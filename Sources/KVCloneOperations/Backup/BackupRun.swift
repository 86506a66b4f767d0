import KVCloneCore
import KVCloneLMDB
import KVCloneRecords
import Synchronization

/// The shared state of a backup, restore or reflink copy: progress, cancellation, and the verification of a new file
/// before it is published.
final class BackupRun: Sendable {
  private struct State {
    var phase = OperationProgress.Phase.copy
    var completed: UInt64 = 0
    var total: UInt64?
    var lastReport: ContinuousClock.Instant?
  }

  private static let pause = Duration.milliseconds(50)

  let start = ContinuousClock.now
  private let progress: (@Sendable (OperationProgress) -> Void)?
  private let cancellation: Cancellation?
  private let state = Mutex(State())

  init(_ progress: (@Sendable (OperationProgress) -> Void)?, _ cancellation: Cancellation?) {
    self.progress = progress
    self.cancellation = cancellation
  }

  // MARK: Progress

  /// Observes the reading of a file, which the cancellation stops.
  func watch() -> PageWatch {
    PageWatch { [self] byteCount in
      report { $0.completed &+= UInt64(byteCount) }
      return cancellation?.isCancelled != true
    }
  }

  func begin(_ phase: OperationProgress.Phase, of total: UInt64? = nil) {
    report(isDue: true) { $0 = State(phase: phase, total: total) }
  }

  func complete(_ byteCount: UInt64) { report { $0.completed = byteCount } }

  func advance(_ byteCount: Int) { report { $0.completed &+= UInt64(byteCount) } }

  private func report(isDue: Bool = false, _ change: (inout State) -> Void) {
    let now = ContinuousClock.now
    let news = state.withLock { state -> OperationProgress? in
      change(&state)
      if !isDue, let last = state.lastReport, now - last < Self.pause { return nil }
      state.lastReport = now
      let completed = state.total.map { min($0, state.completed) } ?? state.completed
      return OperationProgress(
        phase: state.phase, completed: Int(clamping: completed), total: state.total.map { Int(clamping: $0) })
    }
    if let news { progress?(news) }
  }

  func check() throws(StoreError) {
    if cancellation?.isCancelled == true {
      throw StoreError(.cancelled, "the operation was cancelled; its partial output was removed")
    }
  }

  /// Reads a file with `body`. Its errors may be caused by the cancellation, or by concurrent writes.
  func reading<R>(_ file: PageFile, _ path: String, _ body: () throws(StoreError) -> R) throws(StoreError) -> R {
    do throws(StoreError) {
      return try body()
    } catch {
      try check()
      try requireCurrent(file, path)
      throw error
    }
  }

  // MARK: Steps

  /// Copies the state that a file reads.
  func copy(_ file: PageFile, to copy: borrowing StoreCopy, of source: String) throws(StoreError) {
    begin(.copy)
    do throws(PageCopyError) {
      _ = try copy.copyPages(of: file) { begin(.copy, of: $0) }
    } catch {
      try check()
      try requireCurrent(file, source)
      switch error {
      case .system(let error): throw StoreError(error)
      case .corrupted(let error): throw StoreError(error)
      case .stopped: throw StoreError(.cancelled, "the operation was cancelled; its partial output was removed")
      }
    }
    try check()
    try requireCurrent(file, source)
  }

  func requireCurrent(_ file: PageFile, _ path: String) throws(StoreError) {
    if file.isStillCurrent { return }
    throw StoreError(
      .busy, "the store at \(path) changed while it was read; back it up, and use the backup as the source")
  }

  func sync(_ copy: borrowing StoreCopy, isForgotten: Bool = true) throws(StoreError) {
    begin(.sync)
    try storeErrors { () throws(LMDBError) in try copy.sync(isForgotten: isForgotten) }
    try check()
  }

  func publish(_ copy: consuming StoreCopy) throws(StoreError) {
    do throws(LMDBError) { try copy.publish() } catch { throw StoreError(error) }
  }

  /// Verifies the new file, and returns its commit number and its number of pages.
  func verify(
    _ copy: borrowing StoreCopy, _ verification: BackupOptions.Verification, of source: String
  ) throws(StoreError) -> (commit: UInt64, pageCount: Int) {
    let directory = copy.directory
    begin(.verify, of: verification == .none ? nil : 2 * copy.byteCount)
    let file = try storeErrors { () throws(LMDBError) in try PageFile(at: directory, watch: watch()) }
    let map = try storeErrors { () throws(LMDBError) in
      // The list of tables suffices to look up the format and the commit number.
      verification == .none ? try file.tableMap() : try file.walk(maximumFindings: 10)
    }
    try check()
    if let finding = map.findings.first {
      throw StoreError(PageError(page: finding.page, problem: finding.problem))
    }
    let engine = PageFileEngine(file, map)
    let format = try engine.format(source)
    let metadata = StorageTable(code: .metadata, handle: 0)
    let commit = try Metadata.counter(
      StorageTransaction(try engine.beginReading()), metadata, MetadataKey.commitCounter)
    complete(copy.byteCount)
    let options = CheckOptions(readData: true, maximumIssues: 10)
    let report: CheckReport?
    switch verification {
    case .none: report = nil
    case .values:
      // Without a model, only the values' own form is checked.
      let run = CheckRun(schema: try .unknown(), options: options)
      run.expectedUUID = format.storeUUID
      run.isNewerFormat = format.version > FormatLimits.formatVersion
      report = try FileCheck.check(file, map, run)
    case .everything: report = try FileCheck.check(file, map, options, source)
    }
    try check()
    if let report { try refuse(report.issues, source) }
    return (commit, map.pageCount)
  }

  /// - Throws: `corrupted`, with the first issue.
  func refuse(_ damages: [IntegrityIssue], _ path: String) throws(StoreError) {
    guard let first = damages.first else { return }
    let place = first.object.map { "\($0): " } ?? ""
    let more = damages.count > 1 ? ", and \(damages.count - 1) more" : ""
    throw StoreError(
      .corrupted,
      "the store at \(path) is corrupted: \(place)\(first.message)\(more); run `check` to see the extent; nothing was "
        + "copied",
      property: first.property, object: first.object)
  }
}
