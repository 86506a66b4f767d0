#if Postgres
  import KVCloneCore

  /// Reports the progress of a copy, and ends it when it is cancelled.
  final class CopyProgress {
    private static let pause = Duration.milliseconds(50)
    /// The entries and bytes after which the clock and the cancellation are read.
    private static let step = (entryCount: 1024, byteCount: 1 << 20)

    let start = ContinuousClock.now
    private let report: (@Sendable (OperationProgress) -> Void)?
    private let cancellation: Cancellation?
    private var phase = OperationProgress.Phase.copy
    private var total: Int?
    private var completed = 0
    private var unreported = (entryCount: 0, byteCount: 0)
    private var lastReport: ContinuousClock.Instant?

    init(_ report: (@Sendable (OperationProgress) -> Void)?, _ cancellation: Cancellation?) {
      self.report = report
      self.cancellation = cancellation
    }

    /// Begins a phase with a number of entries.
    func begin(_ phase: OperationProgress.Phase, of total: UInt64?) throws(StoreError) {
      self.phase = phase
      self.total = total.map { Int(clamping: $0) }
      completed = 0
      unreported = (0, 0)
      lastReport = nil
      try tell()
    }

    /// Counts an entry.
    func advance(_ byteCount: Int) throws(StoreError) {
      unreported.entryCount += 1
      unreported.byteCount += byteCount
      if unreported.entryCount >= Self.step.entryCount || unreported.byteCount >= Self.step.byteCount { try tell() }
    }

    private func tell() throws(StoreError) {
      completed += unreported.entryCount
      unreported = (0, 0)
      try check()
      let now = ContinuousClock.now
      if let lastReport, now - lastReport < Self.pause { return }
      lastReport = now
      report?(OperationProgress(phase: phase, completed: total.map { min($0, completed) } ?? completed, total: total))
      // A receiver of progress may cancel, and a small copy reports once.
      try check()
    }

    private func check() throws(StoreError) {
      if cancellation?.isCancelled == true {
        throw StoreError(.cancelled, "the copy was cancelled; its partial output was removed")
      }
    }
  }
#endif
