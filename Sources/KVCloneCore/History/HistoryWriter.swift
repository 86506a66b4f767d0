#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
package import KVCloneModel
import KVCloneRecords

/// Writes the changes of a write transaction to the history (`changes` in `Format.md`).
package enum HistoryWriter {
  /// The maximum size of the buffered tombstones.
  private static var tombstoneLimit: Int { 1 << 20 }

  /// Returns the commit after which the history is complete; nil if no history is kept.
  package static func start(in session: borrowing Session) throws(StoreError) -> UInt64? {
    try Metadata.get(session.storage, session.schema.tables.metadata, MetadataKey.history, as: CounterValue.self)?.value
  }

  /// Starts to record changes, if the store keeps a history.
  package static func begin(author: String, in session: inout Session) throws(StoreError) {
    session.state.author = author
    if try start(in: session) != nil { session.state.history = HistoryRecorder() }
  }

  /// Records the deletion of the object with the record in `scratch`.
  package static func noteDeletion(_ id: ObjectID, _ entity: CompiledEntity, in session: inout Session)
    throws(StoreError)
  {
    guard var history = session.state.history else { return }
    // A second reference to the deletions would force a copy.
    session.state.history = nil
    defer { session.state.history = history }
    let tombstone = history.isBorn(id) ? [] : try tombstone(id, entity, in: session)
    history.noteDeletion(.init(id: id, entityCode: entity.code, tombstone: tombstone))
    guard history.deletions.count == FormatLimits.changePartCapacity || history.tombstoneBytes > Self.tombstoneLimit
    else { return }
    try writePart(.deleted(history.deletions), history.writtenParts + 1, in: &session)
    history.deletionsAreWritten()
  }

  /// Writes the transaction's changes, before its commit.
  package static func finish(in session: inout Session) throws(StoreError) {
    guard var history = session.state.history else { return }
    session.state.history = nil
    var inserted: (entries: Int, objects: UInt64) = (0, 0)
    history.forEachInserted { entry in
      inserted.entries += 1
      inserted.objects += entry.count
    }
    let updatedCount = history.updatedCount
    let deletedCount = history.writtenDeletions + UInt64(history.deletions.count)
    if inserted.entries == 0, updatedCount == 0, deletedCount == 0 { return }
    var number = history.writtenParts
    let partCount =
      number + Self.partCount(history.deletions.count) + Self.partCount(inserted.entries)
      + Self.partCount(updatedCount)
    let header = ChangeHeader(
      partCount: partCount, time: Date().timeIntervalSinceReferenceDate, insertedCount: inserted.objects,
      updatedCount: UInt64(updatedCount), deletedCount: deletedCount, author: session.state.author,
      operation: session.state.operation)
    try write(header, isFirst: number == 0, in: &session)
    if !history.deletions.isEmpty {
      number += 1
      try writePart(.deleted(history.deletions), number, in: &session)
      history.deletionsAreWritten()
    }
    try writeInserted(history, &number, in: &session)
    try writeUpdated(history, &number, in: &session)
  }

  private static func writeInserted(_ history: HistoryRecorder, _ number: inout UInt32, in session: inout Session)
    throws(StoreError)
  {
    var entries: [ChangePart.Inserted] = []
    try history.forEachInserted { (entry) throws(StoreError) in
      entries.append(entry)
      guard entries.count == FormatLimits.changePartCapacity else { return }
      number += 1
      try writePart(.inserted(entries), number, in: &session)
      entries.removeAll(keepingCapacity: true)
    }
    if entries.isEmpty { return }
    number += 1
    try writePart(.inserted(entries), number, in: &session)
  }

  private static func writeUpdated(_ history: HistoryRecorder, _ number: inout UInt32, in session: inout Session)
    throws(StoreError)
  {
    var entries: [ChangePart.Updated] = []
    try history.forEachUpdated { (entry) throws(StoreError) in
      entries.append(entry)
      guard entries.count == FormatLimits.changePartCapacity else { return }
      number += 1
      try writePart(.updated(entries), number, in: &session)
      entries.removeAll(keepingCapacity: true)
    }
    if entries.isEmpty { return }
    number += 1
    try writePart(.updated(entries), number, in: &session)
  }

  private static func partCount(_ entries: Int) -> UInt32 {
    UInt32((entries + FormatLimits.changePartCapacity - 1) / FormatLimits.changePartCapacity)
  }

  /// Writes the transaction's header. Parts are appended in the order of their keys, behind all earlier commits, so
  /// that pages are filled; only a header of already written parts comes before them.
  private static func write(_ header: ChangeHeader, isFirst: Bool, in session: inout Session) throws(StoreError) {
    let key = ShortKey.change(commit: session.commit, part: 0)
    let bytes = header.encoded(seed: ValueEnvelope.seed(tableCode: .changes, key: key))
    if isFirst {
      try session.storage.append(session.schema.tables.changes, key.bytes, bytes.span.bytes)
    } else {
      try session.storage.put(session.schema.tables.changes, key.bytes, bytes.span.bytes)
    }
  }

  private static func writePart(_ part: ChangePart, _ number: UInt32, in session: inout Session) throws(StoreError) {
    let key = ShortKey.change(commit: session.commit, part: number)
    let bytes = part.encoded(seed: ValueEnvelope.seed(tableCode: .changes, key: key))
    try session.storage.append(session.schema.tables.changes, key.bytes, bytes.span.bytes)
  }

  // MARK: Purging

  /// Deletes entries of commits up to `last`, at most `limit` of them; returns the numbers of entries and transactions.
  static func delete(through last: UInt64, limit: Int, in session: inout Session) throws(StoreError)
    -> (entries: Int, transactions: Int)
  {
    let table = session.schema.tables.changes
    var keys: [(commit: UInt64, part: UInt32)] = []
    let first = ShortKey.change(commit: 0, part: 0)
    let end = ShortKey.change(commit: min(last, .max - 1) + 1, part: 0)
    try session.storage.scan(table, from: first.bytes, before: end.bytes) { (key, _) throws(StoreError) in
      let place = try Self.changeKey(key)
      guard place.number <= last else { return false }
      keys.append((place.number, place.part))
      return keys.count < limit
    }
    for place in keys {
      let key = ShortKey.change(commit: place.commit, part: place.part)
      try session.storage.delete(table, key.bytes)
    }
    return (keys.count, keys.count { $0.part == 0 })
  }

  /// Returns the commit and the part in a key of the table.
  package static func changeKey(_ key: borrowing RawSpan) throws(StoreError) -> (number: UInt64, part: UInt32) {
    do throws(RecordError) {
      return try NumberKey.numberAndPart(copy key)
    } catch {
      throw StoreError(.corrupted, "the history of changes has a malformed key; run `check` to see the extent")
    }
  }
}
