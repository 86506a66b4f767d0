#if Service
  import CoreMetrics
  import KVClone
  import KVCloneOperations
  import Synchronization

  /// The metrics of one store, with the names that `kvclone stat --format prometheus` uses.
  final class StoreMetrics: Sendable {
    private let factory: any MetricsFactory
    private let common: [(String, String)]
    private let writes: CoreMetrics.Timer
    private let failedWrites: Counter
    private let commits: Counter
    /// The commit up to which the counter has been advanced.
    private let countedCommit = Mutex<UInt64?>(nil)

    init(_ configuration: StoreServiceConfiguration) {
      factory = configuration.metricsFactory ?? MetricsSystem.factory
      common = configuration.name.map { [("store", $0)] } ?? []
      writes = CoreMetrics.Timer(label: "kvclone_write_duration", dimensions: common, factory: factory)
      failedWrites = Counter(label: "kvclone_writes_failed_total", dimensions: common, factory: factory)
      commits = Counter(label: "kvclone_commits_total", dimensions: common, factory: factory)
    }

    /// Records a write transaction of this process: from the request to the durable commit, including the wait for the
    /// write lock.
    func recordWrite(_ duration: Duration, isDone: Bool) {
      if isDone {
        let (seconds, attoseconds) = duration.components
        writes.recordNanoseconds(seconds &* 1_000_000_000 &+ attoseconds / 1_000_000_000)
      } else {
        failedWrites.increment()
      }
    }

    func record(_ activity: StoreActivity) {
      let news = countedCommit.withLock { counted -> UInt64 in
        // The first reading is the starting point, not activity of this process.
        defer { counted = activity.commit }
        return counted.map { activity.commit > $0 ? activity.commit - $0 : 0 } ?? 0
      }
      if news > 0 { commits.increment(by: Int64(clamping: news)) }
      if let pages = activity.pages { record(pages) }
      for (entity, count) in activity.counts { gauge("kvclone_objects", Double(count), [("entity", entity)]) }
      gauge("kvclone_snapshots", Double(activity.snapshotCount))
      gauge("kvclone_readers", Double(activity.readerCount))
      let oldest = activity.oldestReader
      gauge("kvclone_oldest_reader_lag_commits", Double(oldest?.lag ?? 0))
      gauge("kvclone_oldest_reader_retained_bytes", Double(oldest?.retainedBytes ?? 0))
      // Without a history, the age of another process's reader is unknown. A gauge keeps its last value, so it is set
      // to NaN.
      let age: Duration? = if let oldest { oldest.age } else { .zero }
      gauge("kvclone_oldest_reader_age_seconds", age?.inSeconds ?? .nan)
      gauge("kvclone_writer_held_seconds", (activity.writer?.age ?? .zero).inSeconds)
    }

    /// Records the gauges of a data file, which a store in a cluster does not have.
    private func record(_ statistics: StoreStatistics) {
      gauge("kvclone_file_bytes", Double(statistics.fileBytes))
      let free = statistics.freePages
      let pages = [
        ("used", statistics.usedPages), ("reusable", free.reusable), ("held", free.held), ("recent", free.recent),
      ]
      for (state, count) in pages { gauge("kvclone_pages", Double(count), [("state", state)]) }
    }

    private func gauge(_ label: String, _ value: Double, _ dimensions: [(String, String)] = []) {
      Gauge(label: label, dimensions: common + dimensions, factory: factory).record(value)
    }
  }

  extension Duration {
    var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
  }
#endif
