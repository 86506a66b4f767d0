#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import KVClone
public import KVCloneCore
import KVCloneLMDB
import KVCloneRecords

extension ObjectStore {
  /// Returns the open readers of the store in all processes, ordered from the oldest state to the latest.
  ///
  /// The read of this call itself is not included. Each reader may have ended when the call returns.
  ///
  /// - Throws: `closed`, `forked`, `corrupted`, `io`.
  public func activeReaders() throws(StoreError) -> [ActiveReader] {
    if !pinned.isForked { pinned.endExpired() }
    guard let readers = try engine.readers() else { return try pinnedReaders() }
    return try describe(readers)
  }

  /// Frees the reader slots of ended processes, which keep pages from being reused.
  ///
  /// The store does this automatically when it is opened, at regular commits, and when it runs out of reader slots or
  /// space.
  ///
  /// - Returns: the number of freed slots. A process can have several slots, including idle ones that are not listed as
  ///   readers.
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
      guard let date = try HistoryReader.date(ofCommit: last - lag + 1, in: session) else { continue }
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
