import KVClone
import KVCloneRecords

/// Changes of one object in the history, searched backwards from the commit that last changed it.
///
/// The history is ordered by commit, so that a search reads transactions that changed other objects. It ends at a
/// number of transactions, or at a deadline, and continues from there on request.
struct ObjectChanges: Sendable {
  /// A search examines at most this number of transactions.
  static let examinedLimit = 2000
  private static let foundLimit = 50

  enum Kind: String, Sendable {
    case inserted, updated, deleted
  }

  struct Change: Sendable {
    var commit: UInt64
    /// In RFC 3339.
    var date: String
    var kind: Kind
    var properties: [String]
    var operation: String
    var author: String
  }

  var found: [Change] = []
  /// The commit from which to continue; nil at the end of the history, and at the object's insertion.
  var next: UInt64?
  /// The number of transactions that were searched.
  var examined = 0
  /// The commit after which the history is complete.
  var start: UInt64
  var reachesInsertion = false

  /// Returns nil if the store records no history.
  init?(
    of id: ObjectID, before limit: UInt64?, until deadline: ContinuousClock.Instant, in session: borrowing Session
  ) throws(StoreError) {
    guard let start = try HistoryWriter.start(in: session) else { return nil }
    self.start = start
    // Later transactions did not change the object.
    let last = try session.existingRecord(id).commit
    var position = min(last, limit.map { $0 == 0 ? 0 : $0 - 1 } ?? last)
    while position > start {
      if found.count == Self.foundLimit || examined == Self.examinedLimit || ContinuousClock.now >= deadline
        || Task.isCancelled
      {
        next = position + 1
        return
      }
      let key = ShortKey.change(commit: position, part: .max)
      guard let entry = try session.storage.seek(session.schema.tables.changes, key.bytes, .atOrBefore) else { return }
      let commit = try HistoryWriter.changeKey(entry.key).number
      if commit <= start { return }
      examined += 1
      if let change = try Self.change(of: id, in: commit, session) {
        found.append(change)
        reachesInsertion = change.kind == .inserted
        if reachesInsertion { return }
      }
      position = commit - 1
    }
  }

  private static func change(
    of id: ObjectID, in commit: UInt64, _ session: borrowing Session
  ) throws(StoreError) -> Change? {
    var kind: Kind?
    var properties: [UInt16] = []
    try HistoryReader.forEachPart(of: commit, in: session) { (part) throws(StoreError) in
      switch part {
      case .inserted(let entries):
        for entry in entries where entry.first.rootCode == id.rootCode && entry.first <= id {
          if id.serial - entry.first.serial < entry.count { kind = .inserted }
        }
      case .updated(let entries):
        if let entry = entries.first(where: { $0.id == id }) { (kind, properties) = (.updated, entry.properties) }
      case .deleted(let entries):
        if entries.contains(where: { $0.id == id }) { kind = .deleted }
      }
      return kind == nil
    }
    guard let kind, let header = try header(of: commit, session) else { return nil }
    let names = properties.map { session.schema.propertyNames[$0] ?? "#\($0)" }
    let date = CalendarText.text(secondsSince2001: header.time) ?? "\(header.time) s since 2001"
    return Change(
      commit: commit, date: date, kind: kind, properties: names, operation: header.operation, author: header.author)
  }

  private static func header(of commit: UInt64, _ session: borrowing Session) throws(StoreError) -> ChangeHeader? {
    let key = ShortKey.change(commit: commit, part: 0)
    guard let value = try session.storage.get(session.schema.tables.changes, key.bytes) else { return nil }
    do throws(RecordError) {
      return try ChangeHeader(stored: value, seed: ValueEnvelope.seed(tableCode: .changes, key: key))
    } catch {
      throw StoreError(
        .corrupted, "the history of commit \(commit) is corrupted: \(error) Run `check` to see the extent")
    }
  }
}
