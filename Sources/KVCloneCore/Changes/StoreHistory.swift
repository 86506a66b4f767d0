#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import KVCloneRecords

/// Turns the history of a store on and off, and purges it.
package struct StoreHistory {
  private let store: ObjectStore

  package init(_ store: ObjectStore) {
    self.store = store
  }

  package func turn(on tracks: Bool) throws(StoreError) {
    if try store.tracksHistory() == tracks { return }
    _ = try change { (session) throws(StoreError) in
      let table = session.schema.tables.metadata
      if tracks, try HistoryWriter.start(in: session) == nil {
        try Metadata.put(&session.storage, table, MetadataKey.history, CounterValue(session.commit))
      } else if !tracks {
        let name = MetadataKey.bytes(MetadataKey.history)
        try session.storage.delete(table, name.span.bytes)
      }
      session.state.history = nil
      return 0
    }
    if !tracks { _ = try delete(through: .max) }
  }

  func purge(before date: Date) throws(StoreError) -> Int {
    let session = try store.readSession()
    var last = try HistoryReader.firstCommit(after: nil, in: session)
    try HistoryReader.forEachTransaction(after: last, in: session) { (commit, header) throws(StoreError) in
      guard header.time < date.timeIntervalSinceReferenceDate else { return false }
      last = commit
      return true
    }
    return try purge(through: last)
  }

  func purge(before token: HistoryToken) throws(StoreError) -> Int {
    do throws(StoreError) {
      return try purge(through: try HistoryReader.firstCommit(after: token, in: store.readSession()))
    } catch {
      guard error.kind == .historyExpired else { throw error }
      return 0
    }
  }

  private func purge(through last: UInt64) throws(StoreError) -> Int {
    guard let start = try HistoryWriter.start(in: store.readSession()), last > start else { return 0 }
    // From here on, the entries are unreachable: if this is interrupted, a later purge deletes the rest.
    _ = try change { (session) throws(StoreError) in
      guard let start = try HistoryWriter.start(in: session), last > start else { return 0 }
      try Metadata.put(&session.storage, session.schema.tables.metadata, MetadataKey.history, CounterValue(last))
      return 0
    }
    return try delete(through: last)
  }

  /// Deletes entries that no reader uses anymore; returns the number of transactions.
  private func delete(through last: UInt64) throws(StoreError) -> Int {
    let limit = 1000
    var transactions = 0
    var isDone = false
    while !isDone {
      transactions += try change { (session) throws(StoreError) in
        // If the history was turned on again concurrently, its new entries stay.
        let end = min(last, try HistoryWriter.start(in: session) ?? .max)
        let deleted = try HistoryWriter.delete(through: end, limit: limit, in: &session)
        isDone = deleted.entries < limit
        return deleted.transactions
      }
    }
    return transactions
  }

  /// Runs a write transaction on the history itself.
  private func change(_ body: (inout Session) throws(StoreError) -> Int) throws(StoreError) -> Int {
    try retryIfMapFull { () throws(StoreError) in
      var session = try store.writeSession(label: "history")
      let result = try body(&session)
      if session.storage.changeCount == 0 { return result }
      try session.writeCounters()
      // It only deletes, or writes a few bytes.
      session.storage.markDeleteOnly()
      try session.storage.commit()
      return result
    }
  }
}
