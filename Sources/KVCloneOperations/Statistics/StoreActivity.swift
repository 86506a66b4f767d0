package import KVCloneCore
import KVCloneRecords

/// The activity of a store, in numbers that every storage engine has, for the metrics of a service.
package struct StoreActivity: Sendable {
  /// The number of committed write transactions.
  package let commit: UInt64
  /// The number of objects by concrete entity. An engine without pages counts only entities with a table of their own,
  /// because other counts read all records.
  package let counts: [String: Int]
  /// The number of named snapshots.
  package let snapshotCount: Int
  /// The number of open readers: of all processes if the engine lists them, otherwise the pinned snapshots of this one.
  package let readerCount: Int
  /// The reader of the oldest state; nil without readers.
  package let oldestReader: ActiveReader?
  /// The holder of the write lock; nil if it is free.
  package let writer: WriteLockHolder?
  /// The statistics of pages; nil for an engine without pages.
  package let pages: StoreStatistics?

  /// Reads the numbers of a store.
  package init(of store: ObjectStore) throws(StoreError) {
    if store.engine.space != nil {
      let statistics = try StoreStatistics(of: store)
      commit = statistics.commit
      counts = statistics.counts
      snapshotCount = statistics.snapshotCount
      readerCount = statistics.readerCount
      oldestReader = statistics.oldestReader
      writer = statistics.writer
      pages = statistics
      return
    }
    let readers = try ReaderListing.readers(of: store)
    // Ended before the holder is queried, so that one connection suffices.
    do {
      let session = try store.readSession()
      commit = try session.counter(MetadataKey.commitCounter)
      counts = try ObjectCounts.ofTables(session)
      snapshotCount = try Snapshots.namedCount(session.storage, store.schema.tables)
    }
    readerCount = readers.count
    oldestReader = readers.first
    writer = store.engine.writer()
    pages = nil
  }

  /// Reads the store once, for a probe of its liveness.
  ///
  /// - Returns: the error, if the store cannot be read, and whether a restart of the process may help. It does not help
  ///   against missing reader slots, an unreachable database server or connections that are all in use.
  package static func failure(toRead store: ObjectStore) -> (error: StoreError, mayRestartHelp: Bool)? {
    do throws(StoreError) {
      _ = try store.readSession().counter(MetadataKey.commitCounter)
      return nil
    } catch {
      let isOfServer = store.engine.network != nil && (error.kind == .io || error.kind == .busy)
      return (error, error.kind != .readersFull && !isOfServer)
    }
  }
}
