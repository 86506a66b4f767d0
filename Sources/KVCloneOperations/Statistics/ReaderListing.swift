#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import KVClone
package import KVCloneCore
import KVCloneLMDB
import KVCloneRecords

/// The readers and the writer of a store that this process has not opened.
package struct ReaderListing: Sendable {
  /// The remaining readers after stale ones were cleared, if that was requested.
  package let readers: [ActiveReader]
  /// The number of cleared reader slots.
  package let clearedCount: Int
  /// The holder of the write lock.
  package let writer: WriteLockHolder?

  /// Lists the readers of a store. No reader slot needs to be free.
  ///
  /// - Parameter clearsStale: whether to free the slots of ended processes first.
  package init(at path: String, clearsStale: Bool) throws(StoreError) {
    var options = StoreOptions()
    options.isReadOnly = true
    options.keepsStaleReaders = true
    let environment = try storeErrors { () throws(LMDBError) in
      try LMDBEnvironment.open(at: path, options: options.lmdb)
    }
    defer { environment.close() }
    let engine = LMDBEngine(environment)
    clearedCount = clearsStale ? try engine.clearStaleReaders() : 0
    let readers = try engine.readers() ?? []
    writer = engine.writer()
    do throws(StoreError) {
      let store = try StoreOpening.assemble(engine, path: path, model: nil, options: options)
      self.readers = try Self.describe(readers, store)
    } catch {
      // If all reader slots are in use, the list is needed most.
      guard error.kind == .readersFull else { throw error }
      self.readers = readers.map { ActiveReader($0, age: $0.age) }
    }
  }

  /// Returns the readers of an open store.
  static func readers(of store: ObjectStore) throws(StoreError) -> [ActiveReader] {
    let pinned = PinnedSnapshots.of(store)
    if !pinned.isForked { pinned.endExpired() }
    guard let readers = try store.engine.readers() else { return try pinnedReaders(store) }
    return try describe(readers, store)
  }

  /// Adds information from the history.
  private static func describe(_ readers: [StorageReader], _ store: ObjectStore) throws(StoreError) -> [ActiveReader] {
    let agesByLag = try leastAges(Set(readers.lazy.filter { $0.age == nil && $0.lag > 0 }.map(\.lag)), store)
    return readers.map { ActiveReader($0, age: $0.age ?? agesByLag[$0.lag]) }
  }

  /// Returns, by lag, the age of the oldest commit that a reader with that lag does not see.
  ///
  /// Each commit of LMDB is one of the store: tables are created with the store, and opening them commits nothing.
  private static func leastAges(_ lags: Set<UInt64>, _ store: ObjectStore) throws(StoreError) -> [UInt64: Duration] {
    if lags.isEmpty { return [:] }
    let session: Session
    do throws(StoreError) {
      session = try store.readSession()
    } catch {
      if error.kind == .readersFull { return [:] }
      throw error
    }
    let last = try session.counter(MetadataKey.commitCounter)
    let now = Date()
    var ages: [UInt64: Duration] = [:]
    for lag in lags where lag <= last {
      guard let date = try HistoryReader.date(ofCommit: last - lag + 1, in: session) else { continue }
      ages[lag] = .seconds(max(0, now.timeIntervalSince(date)))
    }
    return ages
  }

  /// Returns the pinned snapshots, for an engine without a list of readers.
  private static func pinnedReaders(_ store: ObjectStore) throws(StoreError) -> [ActiveReader] {
    let readers = PinnedSnapshots.of(store).alive
    if readers.isEmpty { return [] }
    let last = try lastCommit(of: store) ?? readers.reduce(0) { max($0, $1.commit) }
    let process = ProcessNames.ownID
    return readers.map { reader in
      ActiveReader(
        processID: process, thread: nil, owner: owner(reader.owner, ProcessNames.name(process)),
        isThisProcess: true, kind: .pinned, age: reader.age, lag: last > reader.commit ? last - reader.commit : 0,
        retainedBytes: nil, isStale: false)
    }
  }

  /// Returns the last commit, or nil if pinned snapshots and transactions use all connections: then the list is needed
  /// most.
  private static func lastCommit(of store: ObjectStore) throws(StoreError) -> UInt64? {
    do throws(StoreError) {
      return try store.readSession().counter(MetadataKey.commitCounter)
    } catch {
      if error.kind == .busy { return nil }
      throw error
    }
  }

  fileprivate static func owner(_ name: String?, _ processName: String) -> String {
    guard let name, !name.isEmpty else { return processName }
    return name
  }
}

extension ActiveReader {
  fileprivate init(_ reader: StorageReader, age: Duration?) {
    self.init(
      processID: reader.processID, thread: reader.thread,
      owner: ReaderListing.owner(reader.pinOwner, reader.processName), isThisProcess: reader.isThisProcess,
      kind: !reader.isThisProcess ? .unknown : reader.pinOwner == nil ? .transaction : .pinned, age: age,
      lag: reader.lag, retainedBytes: reader.retainedBytes, isStale: reader.isStale)
  }
}
