import KVClone
import KVCloneCore

/// The differences between two states, with filters.
struct ComparisonPage: Page {
  let from: StoreState
  let to: StoreState
  let filter: Comparison.Filter
  let comparison: Comparison
  /// The names of all snapshots, newest first.
  let snapshots: [String]
  let isFirst: Bool

  static func read(_ context: PageContext) throws -> ComparisonPage {
    let query = context.query
    let after = try ListPosition.parse(query["after"])
    let limit = try context.rowLimit()
    let filter = Comparison.Filter(entity: query["entity"].nonEmpty, kind: try kind(query["kind"].nonEmpty))
    let budget = Comparison.Budget(context.deadline)
    let store = context.store
    let from = try StoreState(store, named: query["from"])
    let to = try StoreState(store, named: query["to"])
    return ComparisonPage(
      from: from, to: to, filter: filter,
      comparison: try Comparison(
        store, from: from, to: to, filter, after: after, limit: limit, writesJSON: context.format == .json,
        budget: budget),
      snapshots: try store.snapshots().map(\.name).reversed(), isFirst: after == nil)
  }

  private static func kind(_ word: String?) throws -> SnapshotDifference.Kind? {
    guard let word else { return nil }
    guard let kind = SnapshotDifference.Kind(word: word) else {
      throw ExplorerError(.badRequest, "kind is not inserted, updated or deleted; remove it, or correct it")
    }
    return kind
  }

  private var isSame: Bool { from.name == to.name }

  var title: String { "Changes from \(from.title) to \(to.title)" }

  var section: PageSection { .time }

  func breadcrumbs(_ context: PageContext) -> [(name: String, link: String)] {
    [("Time", context.link(["time"], [("at", nil)]))]
  }

  func html(_ context: PageContext) -> HTML {
    var html = form(context)
    if isSame {
      return html + Components.empty("Both states are the same.", "Choose two states to compare.")
    }
    html += Components.toolbar([
      Components.buttonLink("Swap", context.link(comparing: to.name, from.name)),
      Components.buttonLink("Browse \(from.title)", browse(from, context)),
      Components.buttonLink("Browse \(to.title)", browse(to, context)),
    ])
    if comparison.hasAllCounts, comparison.total.total == 0 {
      return html + Components.empty("No object differs between these states.")
    }
    html += figures
    html += Components.section("By entity", entities(context))
    return html + Components.section("Objects", list(context))
  }

  private func browse(_ state: StoreState, _ context: PageContext) -> String {
    context.link([], context.items(of: state.name))
  }

  private func form(_ context: PageContext) -> HTML {
    var options = [(value: "", title: "present")]
    if context.branchName != nil { options += [(StateName.base, "base"), (StateName.store, "store")] }
    options += snapshots.map { (value: $0, title: $0) }
    return """
      <form class="row" action="\(context.target(["compare"]))" method="get" aria-label="States">\
      \(Components.hidden(context.branchItems))\
      \(Components.select("From", name: "from", options: options, selected: from.name))\
      \(Components.select("To", name: "to", options: options, selected: to.name))\
      \(Components.button("Compare"))</form>
      """
  }

  private var figures: HTML {
    let total = comparison.total
    return Components.figures([
      ("Inserted", count(total.inserted)), ("Changed", count(total.updated)), ("Deleted", count(total.deleted)),
    ])
      + (comparison.hasAllCounts
        ? .empty : Components.notice("The counts are lower bounds: counting reached the time limit."))
  }

  /// A count, or a lower bound of it.
  private func count(_ number: Int) -> HTML {
    "\(comparison.hasAllCounts ? nil : "≥ " as HTML)\(Components.number(number))"
  }

  private func link(_ context: PageContext, _ entity: String?, _ kind: SnapshotDifference.Kind?) -> String {
    context.link(comparing: from.name, to.name, [("entity", entity), ("kind", kind?.word)])
  }

  private func entities(_ context: PageContext) -> HTML {
    let rows = comparison.counts.sorted { $0.key < $1.key }.map { entity, counts -> [HTML] in
      let cells = [
        (SnapshotDifference.Kind.inserted, counts.inserted), (.updated, counts.updated), (.deleted, counts.deleted),
      ].map { kind, number -> HTML in
        number == 0
          ? Components.number(0) : "<a href=\"\(link(context, entity, kind))\">\(Components.number(number))</a>"
      }
      return [Components.link(entity, link(context, entity, nil))] + cells
    }
    return Components.table(
      "Objects that differ, by entity",
      columns: [
        Components.Column("Entity"), Components.Column("Inserted", isNumeric: true),
        Components.Column("Changed", isNumeric: true), Components.Column("Deleted", isNumeric: true),
      ], rows: rows)
  }

  private func list(_ context: PageContext) -> HTML {
    var html = Components.tabs(
      "Kind of change",
      [("All", link(context, filter.entity, nil), filter.kind == nil)]
        + SnapshotDifference.Kind.allKinds.map {
          ($0.title.capitalized, link(context, filter.entity, $0), filter.kind == $0)
        })
    if let entity = filter.entity {
      html += "<p>Only objects of \(entity). \(Components.link("All entities", link(context, nil, filter.kind)))</p>"
    }
    if comparison.rows.isEmpty, comparison.next == nil {
      return html + Components.empty("No object on this page matches the filter.")
    }
    if !comparison.rows.isEmpty { html += ComparisonTable.html(comparison.rows, from: from, to: to, context) }
    if comparison.isCut {
      html += Components.notice("The time limit was reached. The next page continues after the last object examined.")
    }
    let next = comparison.next.map { context.link(replacing: [("after", ListPosition.text($0))]) }
    return html
      + Components.pager(
        "\(Components.number(comparison.rows.count)) \(comparison.rows.count == 1 ? "object" : "objects") on this page",
        first: isFirst ? nil : context.link(replacing: [("after", nil)]), next: next)
  }

  func write(to json: inout JSONWriter) {
    json.nullable("from", from.name.nonEmpty)
    json.nullable("to", to.name.nonEmpty)
    comparison.write(to: &json)
    comparison.writeDifferences(to: &json)
    json.nullable("next", comparison.next.map(ListPosition.text))
  }

  var table: PageTable {
    PageTable(
      columns: ["object", "entity", "change", "properties"],
      rows: comparison.rows.map {
        [$0.object.text, $0.object.entity, $0.kind.word, $0.properties.joined(separator: " ")]
      })
  }
}

/// The rows of a comparison as a table.
enum ComparisonTable {
  private static let maximumNames = 12

  static func html(_ rows: [Comparison.Row], from: StoreState, to: StoreState, _ context: PageContext) -> HTML {
    html("Objects that differ", rows) { link($0, context.link(comparing: from.name, to.name, object: $0.object)) }
  }

  /// - Parameters:
  ///   - change: the title of the kinds of differences.
  ///   - object: the cell of an object.
  static func html(
    _ caption: String, _ rows: [Comparison.Row], change: HTML = "Change",
    badge: (SnapshotDifference.Kind) -> HTML = { $0.badge }, object: (Comparison.Row) -> HTML
  ) -> HTML {
    Components.table(
      caption, columns: [("Object", false), (change, false), ("Properties", false)],
      rows: rows.map { [object($0), badge($0.kind), properties($0.properties)] })
  }

  /// A link to the comparison of the object.
  static func link(_ row: Comparison.Row, _ target: String) -> HTML {
    guard let title = row.title else { return Components.link(row.object.text, target) }
    return """
      <a class="object" href="\(target)"><span class="name">\(title)</span> <span class="id">\(row.object.text)</span></a>
      """
  }

  static func properties(_ names: [String]) -> HTML {
    let shown = names.prefix(maximumNames).map { "\(Components.code($0)) " as HTML }
    return names.count > maximumNames ? "\(shown)and \(names.count - maximumNames) more" : HTML(shown)
  }
}

extension Comparison {
  /// The counts as figures, with lower bounds marked.
  ///
  /// - Parameter titles: of inserted, updated and deleted objects.
  func figures(_ titles: (String, String, String)) -> [(name: String, value: HTML)] {
    let mark: HTML? = hasAllCounts ? nil : "≥ "
    return [(titles.0, total.inserted), (titles.1, total.updated), (titles.2, total.deleted)].map { title, count in
      (title, "\(mark)\(Components.number(count))")
    }
  }

  static let emptyTable = PageTable(columns: ["object", "change", "properties"], rows: [])

  /// The objects of the page as rows.
  var table: PageTable {
    PageTable(
      columns: Self.emptyTable.columns,
      rows: rows.map { [$0.object.text, $0.kind.word, $0.properties.joined(separator: " ")] })
  }

  /// Writes the member `differences`, for rows with JSON.
  func writeDifferences(to json: inout JSONWriter) {
    json.key("differences")
    json.beginArray()
    for row in rows { json.raw(row.json ?? "{}") }
    json.endArray()
  }

  /// Writes the members `counts` and `complete`.
  func write(to json: inout JSONWriter) {
    json.list("counts", counts.sorted { $0.key < $1.key }) { json, item in
      json.member("entity", item.key)
      json.member("inserted", item.value.inserted)
      json.member("updated", item.value.updated)
      json.member("deleted", item.value.deleted)
    }
    json.member("complete", hasAllCounts)
  }
}

extension String {
  /// The text, or nil if it is empty.
  var nonEmpty: String? { isEmpty ? nil : self }
}

extension String? {
  /// The text, or nil if it is empty, as a form sends a field without a value.
  var nonEmpty: String? { self?.nonEmpty }
}
