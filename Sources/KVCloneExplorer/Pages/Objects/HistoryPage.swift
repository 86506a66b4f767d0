import KVClone

/// The changes of an object that the history of the store has, the latest first.
struct HistoryPage: Page {
  static let remedy =
    "The store records no history of changes. Turn it on with `kvclone history --on`, or StoreOptions.tracksHistory; "
    + "commits are recorded from then on."

  var name: DisplayName
  var links: ObjectLinks
  /// Nil if the store records no history.
  var changes: ObjectChanges?

  var title: String { "History of \(name.title)" }
  var section: PageSection { .entities }

  func breadcrumbs(_ context: PageContext) -> [(name: String, link: String)] {
    ObjectPage.trail(name, context) + [(name.id, links.object)]
  }

  func html(_ context: PageContext) -> HTML {
    guard let changes else { return Components.notice(Self.remedy, "info") }
    var html: HTML = ""
    if !changes.found.isEmpty {
      let rows = changes.found.map { change -> [HTML] in
        [
          Components.link(
            "\(change.commit)", context.link(["time", "transactions", "\(change.commit)"], [("at", nil)])),
          Components.time(change.date), Self.badge(change.kind),
          AttributeText.separated(change.properties.map(Components.code), by: ", "),
          change.operation.isEmpty ? Components.missing : "\(change.operation)",
          change.author.isEmpty ? Components.missing : "\(change.author)",
        ]
      }
      html += Components.table(
        "Changes of \(name.id)",
        columns: [
          ("Commit", true), ("Time", false), ("Change", false), ("Properties", false), ("Operation", false),
          ("Author", false),
        ], rows: rows)
    }
    if let next = changes.next {
      html +=
        changes.found.isEmpty
        ? Components.notice("The last \(changes.examined) transactions of the history did not change the object.") : ""
      return html + "<p>\(Components.link("Search earlier transactions", links.history(before: next)))</p>"
    }
    return html
      + (changes.reachesInsertion
        ? "" : "<p class=\"muted\">The history has no earlier changes: it begins after commit \(changes.start).</p>")
  }

  private static func badge(_ kind: ObjectChanges.Kind) -> HTML {
    switch kind {
    case .inserted: Components.badge("inserted", "good")
    case .updated: Components.badge("changed", "neutral")
    case .deleted: Components.badge("deleted", "bad")
    }
  }

  func write(to json: inout JSONWriter) {
    json.member("id", name.id)
    json.member("tracksHistory", changes != nil)
    json.list("changes", changes?.found ?? []) { json, change in
      json.member("commit", change.commit)
      json.member("date", change.date)
      json.member("kind", change.kind.rawValue)
      json.member("properties", change.properties)
      json.member("operation", change.operation)
      json.member("author", change.author)
    }
    json.nullable("next", changes?.next.map { links.history(before: $0) })
  }

  var table: PageTable {
    PageTable(
      columns: ["commit", "date", "kind", "properties", "operation", "author"],
      rows: (changes?.found ?? []).map { change in
        [
          String(change.commit), change.date, change.kind.rawValue, change.properties.joined(separator: " "),
          change.operation, change.author,
        ]
      })
  }

  static func read(_ id: ObjectID, _ context: PageContext) async throws -> HistoryPage {
    var before: UInt64?
    if let text = context.query["before"] {
      guard let commit = UInt64(text) else {
        throw ExplorerError(.badRequest, "before is not the number of a commit; remove it, or correct it")
      }
      before = commit
    }
    let limit = before
    let deadline = ContinuousClock.now + context.options.requestTimeLimit / 2
    return try await context.read { transaction in
      let model = transaction._withSession { session in session.schema.model }
      let name = try DisplayName.read(id, in: model, transaction)
      let changes = try transaction._withSession { session in
        try ObjectChanges(of: id, before: limit, until: deadline, in: session)
      }
      return HistoryPage(name: name, links: ObjectLinks(name, context), changes: changes)
    }
  }
}
