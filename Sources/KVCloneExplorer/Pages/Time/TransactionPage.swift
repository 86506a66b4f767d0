import KVClone
import KVCloneCore

/// The objects that one transaction of the history changed.
struct TransactionPage: Page {
  let content: TransactionChanges
  let isFirst: Bool
  /// The newest snapshot before the transaction.
  let before: String?
  /// The deleted objects that it has.
  let kept: Set<ObjectID>

  static func read(_ context: PageContext) async throws -> TransactionPage {
    guard let commit = UInt64(try context.parameter("commit")) else {
      throw ExplorerError(.notFound, "the path does not end with the number of a commit; choose one in the history")
    }
    let position = try TransactionChanges.Position(context.query["after"])
    let limit = try context.rowLimit()
    let reader = BoundedReader(store: context.store, deadline: context.deadline)
    let content = try await reader.read(at: nil) { transaction in
      try TransactionChanges(commit, after: position, limit: limit, in: transaction)
    }
    let before = try context.store.snapshots().last { $0.commit < commit }?.name
    var kept: Set<ObjectID> = []
    let deleted = content.changes.filter { $0.kind == .deleted }.map(\.id)
    if let before, !deleted.isEmpty {
      kept = try await reader.read(at: before) { past in Set(try deleted.filter { try past.exists($0) }) }
    }
    return TransactionPage(content: content, isFirst: position == nil, before: before, kept: kept)
  }

  private var transaction: HistoryTransaction { content.transaction }

  var title: String { "Transaction \(transaction.commit)" }

  var section: PageSection { .time }

  func breadcrumbs(_ context: PageContext) -> [(name: String, link: String)] {
    [("Time", context.link(["time"], [("at", nil)]))]
  }

  // MARK: HTML

  func html(_ context: PageContext) -> HTML {
    var html = Components.definitions([
      ("Time", Components.time(transaction.date.timeText)),
      ("Operation", text(transaction.operation)), ("Author", text(transaction.author)),
    ])
    html += Components.figures([
      ("Inserted", Components.number(transaction.insertedCount)),
      ("Changed", Components.number(transaction.updatedCount)),
      ("Deleted", Components.number(transaction.deletedCount)),
    ])
    if content.changes.isEmpty {
      return html + Components.empty(isFirst ? "The transaction changed no object." : "No object is on this page.")
    }
    return html
      + Components.table(
        "Objects of transaction \(transaction.commit)",
        columns: [Components.Column("Object"), Components.Column("Change"), Components.Column("Properties")],
        rows: content.changes.map { change in
          [object(change, context), change.kind.badge, ComparisonTable.properties(change.properties)]
        })
      + Components.pager(
        Self.summary(content.changes.count), first: isFirst ? nil : context.link(replacing: [("after", nil)]),
        next: content.next.map { context.link(replacing: [("after", $0.text)]) })
  }

  private func text(_ value: String) -> HTML {
    value.isEmpty ? Components.missing : "\(Excerpt.beginning(of: value, 200))"
  }

  private static func summary(_ count: Int) -> HTML {
    "\(Components.number(count)) \(count == 1 ? "object" : "objects") on this page"
  }

  /// The object in the present, or, if the transaction deleted it, in the snapshot before.
  private func object(_ change: TransactionChanges.Change, _ context: PageContext) -> HTML {
    let name = change.name
    if change.exists {
      return "<a class=\"object\" href=\"\(context.link(name.path, [("at", nil)]))\">\(name.label)</a>"
    }
    if let before, kept.contains(change.id) {
      let link = Components.link(name.id, context.link(name.path, [("at", before)]))
      return "\(link) \(Components.muted("in \(before)"))"
    }
    return "\(name.id) \(change.kind == .deleted ? nil : Components.muted("deleted since"))"
  }

  // MARK: Documents

  func write(to json: inout JSONWriter) {
    json.transaction(transaction)
    json.list("changes", content.changes) { json, change in
      json.member("object", change.name.id)
      json.member("change", change.kind.word)
      json.member("exists", change.exists)
      json.member("properties", change.properties)
    }
    json.nullable("next", content.next?.text)
  }

  var table: PageTable {
    PageTable(
      columns: ["object", "change", "properties"],
      rows: content.changes.map { [$0.name.id, $0.kind.word, $0.properties.joined(separator: " ")] })
  }
}
