import KVClone
import KVCloneCore

/// The differences between two states: a page of the list, and the counts of all.
struct Comparison: Sendable {
  struct Row: Sendable {
    var object: ObjectName
    var kind: SnapshotDifference.Kind
    var properties: [String]
    /// The text that names the object; nil for objects without one, and in documents.
    var title: String?
    /// The JSON object of the difference; nil for other formats.
    var json: String?
  }

  struct Counts: Sendable, Equatable {
    var inserted = 0
    var updated = 0
    var deleted = 0

    var total: Int { inserted + updated + deleted }

    mutating func note(_ kind: SnapshotDifference.Kind) {
      switch kind {
      case .inserted: inserted += 1
      case .updated: updated += 1
      case .deleted: deleted += 1
      }
    }

    static func + (left: Counts, right: Counts) -> Counts {
      Counts(
        inserted: left.inserted + right.inserted, updated: left.updated + right.updated,
        deleted: left.deleted + right.deleted)
    }
  }

  /// The differences that a page lists.
  struct Filter: Sendable {
    var entity: String?
    var kind: SnapshotDifference.Kind?

    func accepts(_ difference: SnapshotDifference) -> Bool {
      entity ?? difference.entityName == difference.entityName && kind ?? difference.kind == difference.kind
    }
  }

  /// When reading stops early. A closure gets the number of differences that were examined so far.
  struct Budget: Sendable {
    var isOverForRows: @Sendable (Int) -> Bool
    var isOverForCounts: @Sendable (Int) -> Bool

    /// Half of the time until the deadline for the rows, a quarter for the counts. At least one difference is
    /// examined, so that a list continues, unless even that takes the whole time.
    init(_ deadline: Deadline) {
      let start = ContinuousClock.now
      let limit = deadline.end - start
      isOverForRows = { examined in
        Task.isCancelled || ContinuousClock.now - start > (examined == 0 ? limit : limit / 2)
      }
      isOverForCounts = { _ in Task.isCancelled || ContinuousClock.now - start > limit * 3 / 4 }
    }

    init(rows: Int, counts: Int) {
      isOverForRows = { $0 >= rows }
      isOverForCounts = { $0 >= counts }
    }
  }

  private(set) var rows: [Row] = []
  /// By the name of the concrete entity.
  private(set) var counts: [String: Counts] = [:]
  /// Whether the counts include all differences.
  private(set) var hasAllCounts = true
  /// The position after the last examined difference; nil at the end of the list.
  private(set) var next: ObjectID?
  /// Whether the rows end because of the budget.
  private(set) var isCut = false

  var total: Counts { counts.values.reduce(Counts(), +) }

  /// The longest JSON of a page in bytes: one difference has all of its values.
  private static let maximumJSON = 1 << 20

  /// Reads a page of differences.
  ///
  /// - Parameters:
  ///   - after: the position of the page; nil for the first one.
  ///   - writesJSON: whether the rows have JSON.
  /// - Throws: ``ExplorerError`` with `timeLimit` if not even the first difference was found in time.
  init(
    _ store: ObjectStore, from: StoreState, to: StoreState, _ filter: Filter = Filter(), after: ObjectID? = nil,
    limit: Int, writesJSON: Bool = false, budget: Budget
  ) throws {
    try from.read(store) { old in
      try to.read(store) { new in
        try readRows(store, from, to, filter, after, limit, budget) { difference, row in
          if writesJSON {
            row.json = try JSONWriter.object { try $0.difference(difference, old, new, .list) }
          } else {
            row.title = Self.title(difference, old, new)
          }
        }
      }
    }
    let cache = ComparisonCounts.of(store)
    let key = try ComparisonCounts.Key(store, from, to)
    // The first page counts on, and the others show what it has found.
    if let known = cache.find(key), known.isComplete || after != nil {
      (counts, hasAllCounts) = (known.counts, known.isComplete)
      return
    }
    try count(store, from, to, budget)
    if try ComparisonCounts.Key(store, from, to) == key {
      cache.keep(ComparisonCounts.Entry(counts: counts, isComplete: hasAllCounts), key)
    }
  }

  private static func title(
    _ difference: SnapshotDifference, _ old: borrowing ReadTransaction, _ new: borrowing ReadTransaction
  ) -> String? {
    // The present may have changed since the comparison began.
    func name(_ state: borrowing ReadTransaction) -> DisplayName? {
      try? DisplayName.read(difference.id, in: state._withSession { $0.schema.model }, state)
    }
    return (difference.kind == .deleted ? name(old) : name(new))?.text
  }

  private mutating func readRows(
    _ store: ObjectStore, _ from: StoreState, _ to: StoreState, _ filter: Filter, _ after: ObjectID?, _ limit: Int,
    _ budget: Budget, describe: (SnapshotDifference, inout Row) throws -> Void
  ) throws {
    var examined = 0
    var last: ObjectID?
    var size = 0
    do {
      try StoreState.diff(
        store, from: from, to: to, after: after, isCancelled: { budget.isOverForRows(examined) }
      ) { difference in
        // One more shows that the list continues.
        if rows.count == limit || size > Self.maximumJSON {
          next = last
          return false
        }
        examined += 1
        last = difference.id
        guard filter.accepts(difference) else { return true }
        var row = Row(
          object: ObjectName(entity: difference.entityName, serial: difference.id.serial), kind: difference.kind,
          properties: difference.propertyNames)
        try describe(difference, &row)
        size += row.json?.utf8.count ?? 0
        rows.append(row)
        return true
      }
    } catch let error as StoreError where error.kind == .cancelled {
      guard let last else { throw Self.overdue }
      (next, isCut) = (last, true)
    }
  }

  private mutating func count(_ store: ObjectStore, _ from: StoreState, _ to: StoreState, _ budget: Budget) throws {
    var examined = 0
    do {
      try StoreState.diff(store, from: from, to: to, isCancelled: { budget.isOverForCounts(examined) }) { difference in
        examined += 1
        counts[difference.entityName, default: Counts()].note(difference.kind)
        return true
      }
    } catch let error as StoreError where error.kind == .cancelled {
      hasAllCounts = false
    }
  }

  private static let overdue = ExplorerError(
    .timeLimit,
    "the comparison takes too long; compare two states with fewer changes between them, or use `kvclone snapshot diff`")
}

extension SnapshotDifference.Kind {
  static let allKinds: [SnapshotDifference.Kind] = [.inserted, .updated, .deleted]

  /// - Parameter word: as in URLs.
  init?(word: String) {
    guard let kind = Self.allKinds.first(where: { $0.word == word }) else { return nil }
    self = kind
  }

  /// The name on pages.
  var title: String { self == .updated ? "changed" : word }

  var badge: HTML {
    Components.badge(title, self == .inserted ? "good" : self == .deleted ? "bad" : "warning")
  }
}

/// Positions in lists of objects, as in URLs: the code of the root entity and the serial, also of deleted objects.
enum ListPosition {
  static func text(_ id: ObjectID) -> String { "\(id.rootCode)-\(id.serial)" }

  /// - Throws: ``ExplorerError`` if the text is not a position.
  static func parse(_ text: String?) throws -> ObjectID? {
    guard let text else { return nil }
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 2, let root = UInt16(parts[0]), let serial = UInt64(parts[1]), serial <= ObjectID.maximumSerial
    else { throw malformed }
    return ObjectID(rootCode: root, serial: serial)
  }

  static var malformed: ExplorerError {
    ExplorerError(.badRequest, "after is not a position in this list; go to its first page")
  }
}
