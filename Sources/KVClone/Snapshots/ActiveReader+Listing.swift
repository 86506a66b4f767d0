#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import KVCloneLMDB
import KVCloneRecords

extension ObjectStore {
  /// The readers that are open on the store's file, in this process and others, those of the oldest state first.
  ///
  /// What this call reads itself is not among them. Each may have ended when the answer arrives.
  ///
  /// - Throws: `closed`, `forked`, `damaged`, `io`.
  public func activeReaders() throws(StoreError) -> [ActiveReader] {
    if !pinned.isForked { pinned.endExpired() }
    guard let readers = try engine.readers() else { return try pinnedReaders() }
    return try describe(readers)
  }

  /// Clears the places of readers whose process is gone, which keep pages from being used again. The store does so by
  /// itself when it is opened, every so many commits, and when there is no place or no room left.
  ///
  /// - Returns: how many places there were. A process can have several, of which some were idle, and so in no list.
  /// - Throws: `closed`, `forked`, `io`.
  @discardableResult
  public func clearStaleReaders() throws(StoreError) -> Int { try engine.clearStaleReaders() }

  /// The readers of a store that this process has not open. It need not have a place left for a reader of ours.
  ///
  /// - Returns: those that are there when the stale ones were cleared, if that is asked for, how many those were, and who writes.
  package static func activeReaders(at path: String, clearsStale: Bool) throws(StoreError)
    -> ReaderListing
  {
    var options = StoreOptions()
    options.isReadOnly = true
    options.keepsStaleReaders = true
    let environment = try storeErrors { () throws(LMDBError) in
      try LMDBEnvironment.open(at: path, options: options.lmdb)
    }
    defer { environment.close() }
    let engine = LMDBEngine(environment)
    let clearedCount = clearsStale ? try engine.clearStaleReaders() : 0
    let readers = try engine.readers() ?? []
    let writer = engine.writer()
    do throws(StoreError) {
      let store = try assemble(engine, path: path, model: nil, options: options)
      return ReaderListing(readers: try store.describe(readers), clearedCount: clearedCount, writer: writer)
    } catch {
      // Who has all the places is what one wants to know then.
      guard error.kind == .readersFull else { throw error }
      return ReaderListing(
        readers: readers.map { ActiveReader($0, age: $0.age) }, clearedCount: clearedCount, writer: writer)
    }
  }

  /// Adds what the history tells.
  private func describe(_ readers: [StorageReader]) throws(StoreError) -> [ActiveReader] {
    let agesByLag = try leastAges(Set(readers.lazy.filter { $0.age == nil && $0.lag > 0 }.map(\.lag)))
    return readers.map { ActiveReader($0, age: $0.age ?? agesByLag[$0.lag]) }
  }

  /// How long ago the first commit was that a reader does not see that is so far behind.
  ///
  /// Each commit of LMDB's is one of the store's: tables are made with the store, and opening them commits nothing.
  private func leastAges(_ lags: Set<UInt64>) throws(StoreError) -> [UInt64: Duration] {
    if lags.isEmpty { return [:] }
    let session: Session
    do throws(StoreError) {
      session = try readSession()
    } catch {
      if error.kind == .readersFull { return [:] }
      throw error
    }
    let last = try session.counter(MetadataKey.commitCounter)
    let now = Date()
    var ages: [UInt64: Duration] = [:]
    for lag in lags where lag <= last {
      guard let date = try session.date(ofCommit: last - lag + 1) else { continue }
      ages[lag] = .seconds(max(0, now.timeIntervalSince(date)))
    }
    return ages
  }

  /// Of an engine that knows of no readers: what is pinned.
  private func pinnedReaders() throws(StoreError) -> [ActiveReader] {
    let readers = pinned.alive
    if readers.isEmpty { return [] }
    let last = try readSession().counter(MetadataKey.commitCounter)
    let process = ProcessNames.ownID
    return readers.map { reader in
      ActiveReader(
        processID: process, thread: nil, owner: Self.owner(reader.owner, ProcessNames.name(process)),
        isThisProcess: true, kind: .pinned, age: reader.age, lag: last > reader.commit ? last - reader.commit : 0,
        retainedBytes: nil, isStale: false)
    }
  }

  fileprivate static func owner(_ name: String?, _ processName: String) -> String {
    guard let name, !name.isEmpty else { return processName }
    return name
  }
}

/// Who uses a store that this process has not open.
package struct ReaderListing: Sendable {
  /// Those that are there when the stale ones were cleared, if that was asked for.
  package let readers: [ActiveReader]
  /// How many places were cleared.
  package let clearedCount: Int
  /// Who writes.
  package let writer: WriteLockHolder?
}

extension ActiveReader {
  fileprivate init(_ reader: StorageReader, age: Duration?) {
    self.init(
      processID: reader.processID, thread: reader.thread,
      owner: ObjectStore.owner(reader.pinOwner, reader.processName), isThisProcess: reader.isThisProcess,
      kind: !reader.isThisProcess ? .unknown : reader.pinOwner == nil ? .transaction : .pinned, age: age,
      lag: reader.lag, retainedBytes: reader.retainedBytes, isStale: reader.isStale)
  }
}
