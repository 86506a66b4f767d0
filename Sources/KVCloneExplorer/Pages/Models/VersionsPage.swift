import KVClone

/// The models that the store had, and the differences between two of them.
struct VersionsPage: Page {
  /// The largest number of models: the latest.
  static let limit = 100

  /// Ascending by number.
  let stored: [StoredModel]
  /// The numbers of the compared models.
  let from: Int
  let to: Int

  var title: String { "Model versions" }
  var section: PageSection { .model }

  func breadcrumbs(_ context: PageContext) -> [(name: String, link: String)] { [("Model", context.link(["model"]))] }

  private var difference: ModelDifference? {
    guard from != to, let old = stored.first(where: { $0.number == from }),
      let new = stored.first(where: { $0.number == to })
    else { return nil }
    return ModelDifference(from: old.model, to: new.model, through: stored.map(\.model))
  }

  func html(_ context: PageContext) -> HTML {
    var html = ModelPage.tabs(.versions, context)
    html += Components.section("Models of this store", list(context))
    html += Components.section("Differences", comparison(context))
    if let current = stored.last { html += Components.section("Version hashes of entities", hashes(current.model)) }
    return html
  }

  private func list(_ context: PageContext) -> HTML {
    let columns: [(title: HTML, isNumeric: Bool)] = [
      ("Number", true), ("Version", false), ("Entities", true), ("Hash", false), ("Snapshots", false),
    ]
    let rows = stored.reversed().map { item -> [HTML] in
      let badge: HTML? = item.number == stored.last?.number ? " \(Components.badge("current", "good"))" : nil
      let shown = item.snapshots.prefix(5).map { name in
        Components.link(name, context.link(["model"], [("at", name)]))
      }
      var snapshots: HTML = ""
      for (index, link) in shown.enumerated() { snapshots += index == 0 ? link : ", \(link)" }
      if item.snapshots.count > 5 { snapshots += " and \(item.snapshots.count - 5) more" }
      return [
        "\(item.number)", "\(item.model.versionIdentifier)\(badge)", Components.number(item.model.entities.count),
        "<code title=\"\(item.model.modelHash.hex)\">\(item.model.modelHash.hex.prefix(12))</code>", snapshots,
      ]
    }
    return Components.table("Models", columns: columns, rows: rows)
  }

  private func comparison(_ context: PageContext) -> HTML {
    if stored.count < 2 {
      return Components.empty(
        "The store has had one model.",
        Components.link("Plan a migration to another version", context.link(["model", "migration"])))
    }
    let options = stored.map { (value: String($0.number), title: "\($0.number): \($0.model.versionIdentifier)") }
    let target = context.target(["model", "versions"])
    var html: HTML = """
      <form class="row" method="get" action="\(target)">\(Components.hidden(context.branchItems))\
      \(Components.select("From", name: "from", options: options, selected: String(from)))\
      \(Components.select("To", name: "to", options: options, selected: String(to)))\
      \(Components.button("Compare", "primary"))</form>
      """
    guard let difference else { return html + Components.notice("Choose two different models.") }
    if difference.isEmpty {
      html += Components.notice("No difference in stored data: only annotations, defaults, bounds or the order differ.")
    } else {
      html += ChangeTable.html(difference.changes)
    }
    for warning in difference.warnings { html += Components.notice("\(warning)", "warning") }
    return html
  }

  private func hashes(_ model: ManagedObjectModel) -> HTML {
    let rows = model.versionHashes.sorted { $0.key < $1.key }.map { pair -> [HTML] in
      ["\(pair.key)", Components.code(pair.value.hex)]
    }
    return Components.table("Version hashes", columns: [("Entity", false), ("Hash", false)], rows: rows)
  }

  func write(to json: inout JSONWriter) {
    json.list("models", stored) { json, item in
      json.member("number", item.number)
      json.member("name", item.model.name)
      json.member("version", item.model.versionIdentifier)
      json.member("hash", item.model.modelHash.hex)
      json.member("entities", item.model.entities.count)
      json.member("snapshots", item.snapshots)
    }
    json.member("from", from)
    json.member("to", to)
    json.list("changes", difference?.changes ?? []) { $0.change($1) }
    json.warnings(difference?.warnings ?? [])
  }

  var table: PageTable { ChangeTable.table(difference?.changes ?? []) }
}

/// Differences between versions as rows.
enum ChangeTable {
  static func html(_ changes: [ModelDifference.Change]) -> HTML {
    let columns: [(title: HTML, isNumeric: Bool)] = [
      ("Place", false), ("Change", false), ("Aspect", false), ("Before", false), ("After", false), ("Objects", false),
    ]
    return Components.table("Differences", columns: columns, rows: changes.map(row))
  }

  private static func row(_ change: ModelDifference.Change) -> [HTML] {
    let kind: String =
      switch change.kind {
      case .added: "good"
      case .removed: "bad"
      case .renamed: "share"
      case .changed: "neutral"
      }
    let before = change.kind == .renamed ? change.formerName : change.old
    let work: HTML =
      change.work.reason.map { "\(Components.badge("cannot be inferred", "bad")) \($0)" }
      ?? "\(description(change.work))"
    return [
      "\(change.property.map { "\(change.entity).\($0)" } ?? change.entity)",
      Components.badge(change.kind.rawValue, kind), "\(change.aspect ?? "")", "\(before ?? "")", "\(change.new ?? "")",
      work,
    ]
  }

  private static func description(_ work: MigrationWork) -> String {
    switch work {
    case .none, .metadata: "unchanged"
    case .index: "indexed"
    case .objects: "rewritten"
    case .deletion: "deleted"
    case .refused(let reason): reason
    }
  }

  static func table(_ changes: [ModelDifference.Change]) -> PageTable {
    PageTable(
      columns: ["kind", "entity", "property", "formerName", "aspect", "old", "new", "work", "reason"],
      rows: changes.map {
        [
          $0.kind.rawValue, $0.entity, $0.property, $0.formerName, $0.aspect, $0.old, $0.new, $0.work.name,
          $0.work.reason,
        ]
      })
  }
}
