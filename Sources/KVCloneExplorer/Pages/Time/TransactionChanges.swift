import KVClone
import KVCloneRecords

/// A page of the changes of one transaction: deletions, then insertions, then updates, each in the order of ids.
struct TransactionChanges: Sendable {
  struct Change: Sendable {
    var id: ObjectID
    var kind: SnapshotDifference.Kind
    /// The object in the present; without a text if it no longer exists.
    var name: DisplayName
    var exists: Bool
    var properties: [String]
  }

  /// The position of a change: the number of its part of the record in the history, and the object.
  struct Position: Sendable, Equatable {
    var part: UInt32
    var id: ObjectID

    var text: String { "\(part)-\(ListPosition.text(id))" }

    /// - Throws: ``ExplorerError`` if the text is not a position.
    init?(_ text: String?) throws {
      guard let text else { return nil }
      let parts = text.split(separator: "-", maxSplits: 1).map(String.init)
      guard parts.count == 2, let part = UInt32(parts[0]), let id = try ListPosition.parse(parts[1]) else {
        throw ListPosition.malformed
      }
      (self.part, self.id) = (part, id)
    }

    init(part: UInt32, id: ObjectID) { (self.part, self.id) = (part, id) }
  }

  let transaction: HistoryTransaction
  private(set) var changes: [Change] = []
  /// The position of the last change, if others follow.
  private(set) var next: Position?

  /// - Throws: `notFound` if the history has no transaction with this number; `historyDisabled`, `historyExpired`.
  init(
    _ commit: UInt64, after position: Position?, limit: Int, in reader: borrowing ReadTransaction
  ) throws {
    let store = try reader.currentToken().store
    guard commit > 0,
      let found = try reader.history(after: HistoryToken(store: store, commit: commit - 1), limit: 1).first,
      found.commit == commit
    else {
      throw ExplorerError(.notFound, "the history has no transaction with this number; choose one in its list")
    }
    transaction = found
    let model = reader._withSession { session in session.schema.model }
    var page = Collector(position: position, limit: limit)
    try reader._withSession { session in
      try HistoryReader.forEachPart(of: commit, from: page.part, in: session) { (part) throws(StoreError) in
        page.add(part, session.schema)
      }
    }
    next = page.next
    for change in page.found {
      let exists = try change.kind != .deleted && reader.exists(change.id)
      let name =
        try exists
        ? DisplayName.read(change.id, in: model, reader) : DisplayName(entity: change.entity, serial: change.id.serial)
      changes.append(
        Change(id: change.id, kind: change.kind, name: name, exists: exists, properties: change.properties))
    }
  }

  /// The changes of a page, as the history has them.
  private struct Collector {
    private(set) var found: [(id: ObjectID, kind: SnapshotDifference.Kind, entity: String, properties: [String])] = []
    private(set) var next: Position?
    private(set) var part: UInt32
    /// The part of the last change.
    private var lastPart: UInt32 = 0
    private let position: Position?
    private let limit: Int

    init(position: Position?, limit: Int) {
      (self.position, self.limit) = (position, limit)
      part = position?.part ?? 0
    }

    /// Adds the changes of the next part; returns whether to continue.
    mutating func add(_ content: ChangePart, _ schema: Schema) -> Bool {
      defer { part += 1 }
      func root(_ id: ObjectID) -> String { schema.entity(code: id.rootCode)?.name ?? "#\(id.rootCode)" }
      switch content {
      case .deleted(let entries):
        for entry in entries where isBehind(entry.id) {
          let entity = schema.entity(code: entry.entityCode)?.name ?? "#\(entry.entityCode)"
          if !add(entry.id, .deleted, entity) { return false }
        }
      case .inserted(let entries):
        for entry in entries {
          // One entry can have millions of objects.
          var serial = entry.first.serial
          let end = serial + entry.count
          if let position, position.part == part {
            if position.id.rootCode > entry.first.rootCode { continue }
            if position.id.rootCode == entry.first.rootCode { serial = max(serial, position.id.serial + 1) }
          }
          while serial < end {
            let id = ObjectID(rootCode: entry.first.rootCode, serial: serial)
            if !add(id, .inserted, root(id)) { return false }
            serial += 1
          }
        }
      case .updated(let entries):
        for entry in entries where isBehind(entry.id) {
          let names = entry.properties.map { schema.propertyNames[$0] ?? "#\($0)" }
          if !add(entry.id, .updated, root(entry.id), names) { return false }
        }
      }
      return true
    }

    private func isBehind(_ id: ObjectID) -> Bool {
      guard let position, position.part == part else { return true }
      return id > position.id
    }

    private mutating func add(
      _ id: ObjectID, _ kind: SnapshotDifference.Kind, _ entity: String, _ properties: [String] = []
    ) -> Bool {
      // One more shows that the list continues.
      if found.count == limit, let last = found.last {
        next = Position(part: lastPart, id: last.id)
        return false
      }
      found.append((id, kind, entity, properties))
      lastPart = part
      return true
    }
  }
}
