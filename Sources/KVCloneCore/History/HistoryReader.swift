#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  import Foundation
#endif
import KVCloneModel
package import KVCloneRecords

/// Reads the history of changes.
package enum HistoryReader {
  /// Returns the position after the last visible commit.
  package static func currentToken(in session: borrowing Session) throws(StoreError) -> HistoryToken {
    if let shownCommit = session.shownCommit { return HistoryToken(store: session.storeUUID, commit: shownCommit) }
    return HistoryToken(store: session.storeUUID, commit: try session.counter(MetadataKey.commitCounter))
  }

  /// Returns the commit after which to continue from a token; nil is the start of the history.
  ///
  /// - Throws: `historyDisabled`, `historyExpired`, `invalidHistoryToken`.
  static func firstCommit(after token: HistoryToken?, in session: borrowing Session) throws(StoreError) -> UInt64 {
    guard let start = try HistoryWriter.start(in: session) else {
      throw StoreError(
        .historyDisabled,
        "the store does not record a history of changes; open it with tracksHistory, or run `history --on`")
    }
    guard let token else { return start }
    guard token.store == session.storeUUID else {
      throw StoreError(.invalidHistoryToken, "the token \(token) belongs to another store; use a token of this store")
    }
    guard token.commit >= start else {
      throw StoreError(
        .historyExpired,
        "the history up to commit \(start) was purged, and the token is at commit \(token.commit); read the objects "
          + "themselves, and continue from the current token")
    }
    guard token.commit <= (try session.counter(MetadataKey.commitCounter)) else {
      throw StoreError(
        .invalidHistoryToken,
        "the token is at commit \(token.commit), which this store never had; if it was restored from a backup, read "
          + "the objects themselves, and continue from the current token")
    }
    return token.commit
  }

  /// Calls `body` with each transaction after a commit, until it returns false. Parts are skipped.
  package static func forEachTransaction(
    after commit: UInt64, in session: borrowing Session, _ body: (UInt64, ChangeHeader) throws(StoreError) -> Bool
  ) throws(StoreError) {
    // A write transaction may already have written entries of its own.
    let last = try session.counter(MetadataKey.commitCounter)
    var next = commit + 1
    var windows = ReadWindows(session.storage)
    while next <= last {
      windows.next()
      let key = ShortKey.change(commit: next, part: 0)
      guard let entry = try session.storage.seek(session.schema.tables.changes, key.bytes, .atOrAfter) else { return }
      let place = try HistoryWriter.changeKey(entry.key)
      guard place.number <= last else { return }
      let found = ShortKey.change(commit: place.number, part: place.part)
      guard place.part == 0 else { throw Self.damagedHistory(place.number) }
      let header: ChangeHeader
      do throws(RecordError) {
        header = try ChangeHeader(stored: entry.value, seed: ValueEnvelope.seed(tableCode: .changes, key: found))
      } catch {
        throw Self.damagedHistory(place.number)
      }
      guard try body(place.number, header) else { return }
      next = place.number + 1
    }
  }

  /// Returns the transactions after a commit, at most `limit`.
  static func transactions(after commit: UInt64, limit: Int?, in session: borrowing Session) throws(StoreError)
    -> [HistoryTransaction]
  {
    var found: [HistoryTransaction] = []
    guard limit ?? 1 > 0, let source = historySource(of: session) else { return found }
    try forEachTransaction(after: commit, in: session) { (commit, header) throws(StoreError) in
      found.append(HistoryTransaction(commit, header, source))
      return found.count != limit
    }
    return found
  }

  /// Returns a source that later reads the changes of this session's transactions; nil for sessions without an engine.
  static func historySource(of session: borrowing Session) -> HistorySource? {
    session.engine.map { HistorySource(engine: $0, schema: session.schema, storeUUID: session.storeUUID) }
  }

  /// Calls `body` with each part of a transaction from a number on, until it returns false.
  ///
  /// - Throws: `historyExpired` if the transaction is no longer in the history.
  package static func forEachPart(
    of commit: UInt64, from first: UInt32 = 0, in session: borrowing Session,
    _ body: (ChangePart) throws(StoreError) -> Bool
  ) throws(StoreError) {
    guard let start = try HistoryWriter.start(in: session), commit > start,
      let header = try entry(commit, 0, as: ChangeHeader.self, in: session)
    else {
      throw StoreError(.historyExpired, "the history of commit \(commit) was purged; read the objects themselves")
    }
    var windows = ReadWindows(session.storage)
    for number in min(first, header.partCount)..<header.partCount {
      windows.next()
      guard let part = try entry(commit, number + 1, as: ChangePart.self, in: session) else {
        throw Self.damagedHistory(commit)
      }
      guard try body(part) else { return }
    }
  }

  /// Calls `body` with each change of a transaction, until it returns false.
  static func forEachChange(
    of commit: UInt64, in session: borrowing Session, _ body: (HistoryChange) throws(StoreError) -> Bool
  ) throws(StoreError) {
    try forEachPart(of: commit, in: session) { (part) throws(StoreError) in
      switch part {
      case .inserted(let entries):
        for entry in entries {
          for serial in entry.first.serial..<entry.first.serial + entry.count {
            let id = ObjectID(rootCode: entry.first.rootCode, serial: serial)
            guard try body(.inserted(id)) else { return false }
          }
        }
      case .updated(let entries):
        for entry in entries {
          let names = entry.properties.map { session.schema.propertyNames[$0] ?? "#\($0)" }
          guard try body(.updated(entry.id, properties: names)) else { return false }
        }
      case .deleted(let entries):
        for entry in entries {
          let values = try session.schema.values(ofTombstone: entry.tombstone, entityCode: entry.entityCode)
          let name = session.schema.entity(code: entry.entityCode)?.name ?? "#\(entry.entityCode)"
          guard try body(.deleted(entry.id, entity: name, tombstone: values)) else { return false }
        }
      }
      return true
    }
  }

  /// Returns the time of a commit, by the clock of the writing process; nil if it is no longer known.
  package static func date(ofCommit commit: UInt64, in session: borrowing Session) throws(StoreError) -> Date? {
    guard let start = try HistoryWriter.start(in: session), commit > start else { return nil }
    return try entry(commit, 0, as: ChangeHeader.self, in: session).map {
      Date(timeIntervalSinceReferenceDate: $0.time)
    }
  }

  private static func entry<Value: ValueCodec>(
    _ commit: UInt64, _ part: UInt32, as type: Value.Type, in session: borrowing Session
  ) throws(StoreError) -> Value? {
    let key = ShortKey.change(commit: commit, part: part)
    guard let value = try session.storage.get(session.schema.tables.changes, key.bytes) else { return nil }
    do throws(RecordError) {
      return try Value(stored: value, seed: ValueEnvelope.seed(tableCode: .changes, key: key))
    } catch {
      throw Self.damagedHistory(commit)
    }
  }

  private static func damagedHistory(_ commit: UInt64) -> StoreError {
    StoreError(
      .corrupted,
      "the history of commit \(commit) is corrupted; run `check` to see the extent, or purge the history up to it")
  }
}
