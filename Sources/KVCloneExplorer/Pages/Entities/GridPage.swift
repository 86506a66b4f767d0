import KVClone
import KVCloneCore

/// The objects of an entity that match a predicate, in an order: one page of them.
struct GridPage: Page {
  var query: GridQuery
  var rows: [GridRow] = []
  var count: MatchCount?
  /// The message of a query that takes too long.
  var timeLimit: String?
  private(set) var plan: [String] = []
  private(set) var sortsMatches = false
  /// URLs of other pages of the results.
  private(set) var first: String?
  private(set) var previous: String?
  private(set) var next: String?
  private let model: ManagedObjectModel

  init(query: GridQuery, _ context: PageContext) {
    self.query = query
    model = context.model
  }

  var title: String { query.entity.name }
  var status: Int { query.problem?.error.status ?? (timeLimit == nil ? 200 : 503) }
  var section: PageSection { .entities }

  func breadcrumbs(_ context: PageContext) -> [(name: String, link: String)] {
    let above = model.superentities(of: query.entity.name).reversed()
    return [("Entities", context.link([]))] + above.map { ($0, context.link(["entities", $0])) }
  }

  /// Shows rows, and links to those before and after them.
  mutating func show(_ part: GridReader.Part, _ context: PageContext) {
    (rows, plan, sortsMatches) = (part.rows, part.plan, part.sortsMatches)
    func link(_ after: String?, _ before: String?) -> String {
      context.link(replacing: [("after", after), ("before", before)], as: context.format)
    }
    guard let position = query.position else {
      if part.hasMore { next = part.last.map { link($0, nil) } }
      return
    }
    first = link(nil, nil)
    // Rows before a position exist, or existed.
    if position.isBackward {
      next = link(part.last ?? position.text, nil)
      if part.rows.isEmpty { next = link(nil, nil) }
      if part.hasMore { previous = part.first.map { link(nil, $0) } }
    } else {
      previous = link(nil, part.first ?? position.text)
      if part.hasMore { next = part.last.map { link($0, nil) } }
    }
  }

  // MARK: Data

  func write(to json: inout JSONWriter) {
    json.member("entity", query.entity.name)
    json.nullable("where", query.predicateText.isEmpty ? nil : query.predicateText)
    json.member("sort", query.sort.map(\.text))
    count?.write(to: &json)
    json.key("objects")
    json.beginArray()
    for row in rows {
      json.beginObject()
      json.member("id", row.name.id)
      json.nullable("name", row.name.text)
      json.key("values")
      json.beginObject()
      for (column, cell) in zip(query.columns, row.cells) {
        json.key(column.name)
        cell.write(to: &json)
      }
      json.endObject()
      json.endObject()
    }
    json.endArray()
    json.nullable("previous", previous)
    json.nullable("next", next)
  }

  var table: PageTable {
    PageTable(columns: ["id"] + query.columns.map(\.name), rows: rows.map { [$0.name.id] + $0.cells.map(\.text) })
  }

  // MARK: HTML

  func html(_ context: PageContext) -> HTML {
    let isFailed = query.problem != nil || timeLimit != nil
    return """
      \(bar(context))\(problem)\(timeLimit.map { Components.notice($0, "error") })
      \(isFailed ? nil : Components.live("objects", objects(context)))
      \(settings(context))\(isFailed ? nil : planDetails(context))
      """
  }

  private func bar(_ context: PageContext) -> HTML {
    let explain = context.link(["entities", query.entity.name, "explain"], planItems)
    return Components.predicateBar(
      target: context.target(["entities", query.entity.name]), value: query.predicateText,
      kept: query.kept(context, except: ["where"]), words: Words.all(of: query.entity.name, in: model),
      history: query.entity.name, problem: query.problem?.message,
      actions: query.problem == nil ? Components.buttonLink("Explain", explain) : .empty)
  }

  /// The items of the page of the query plan.
  private var planItems: [(name: String, value: String?)] {
    [
      ("where", query.predicateText.isEmpty ? nil : query.predicateText),
      ("sort", query.sort.isEmpty ? nil : GridSort.text(query.sort)),
      ("subentities", query.includesSubentities ? nil : "0"),
    ]
  }

  /// The position of an error in the predicate.
  private var problem: HTML? {
    guard let excerpt = query.problem?.excerpt, let caret = query.problem?.caret else { return nil }
    return "<pre class=\"code\" aria-label=\"Position of the error\">\(excerpt)\n\(caret)</pre>"
  }

  private func objects(_ context: PageContext) -> HTML {
    if rows.isEmpty, query.position == nil {
      return query.predicate == nil
        ? Components.empty("There are no objects of \(query.entity.name).")
        : Components.empty(
          "No object matches the predicate.",
          Components.link("Remove the predicate", context.link(replacing: [("where", nil)])))
    }
    if rows.isEmpty {
      let target = context.link(replacing: [("after", nil), ("before", nil)])
      return Components.empty("There are no objects on this page.", Components.link("First page", target))
    }
    let columns = [Components.Column("Object")] + query.columns.map { column(for: $0, context) }
    let table = Components.table(
      "Objects of \(query.entity.name)", columns: columns,
      rows: rows.map { row in
        [row.name.link(context)]
          + zip(query.columns, row.cells).map { column, cell in cell.html(column, of: row.name, context) }
      })
    return table + Components.pager(count?.html ?? "", first: first, previous: previous, next: next) + exports(context)
  }

  /// The link to all results; none for an order that no index has, in which an export is refused.
  private func exports(_ context: PageContext) -> HTML {
    let isShort = if case .exact(let count) = count { count <= GridExport.rowCount } else { false }
    if sortsMatches, !isShort, IndexAdvice.text(query, in: model) != nil { return .empty }
    let all = context.link(replacing: [("all", "1"), ("after", nil), ("before", nil)], as: .csv)
    return Components.toolbar([Components.link("All results as CSV", all)], label: "Exports")
  }

  private func column(for column: GridColumn, _ context: PageContext) -> Components.Column {
    let title: HTML = "<span title=\"\(column.typeName)\">\(column.name)</span>"
    guard let key = column.sortKey else { return Components.Column(title, isNumeric: column.isNumeric) }
    let current = query.sort.first.flatMap { $0.key == key ? $0 : nil }
    var wanted = current ?? GridSort(key)
    if let current { wanted.isAscending = !current.isAscending }
    let target = context.link(replacing: [("sort", wanted.text), ("after", nil), ("before", nil)])
    return Components.Column(
      title, isNumeric: column.isNumeric, order: current.map { $0.isAscending ? .ascending : .descending },
      sortTarget: target)
  }

  private func settings(_ context: PageContext) -> HTML {
    let available = GridColumn.all(of: query.entity.name, in: model)
    let chosen = Set(query.columns.map(\.name))
    let options = available.map { column in
      (
        value: column.name, title: "\(column.name) \(Components.muted(column.typeName))" as HTML,
        isChecked: chosen.contains(column.name)
      )
    }
    let subentities: HTML? =
      model.directSubentities(of: query.entity.name).isEmpty
      ? nil
      : Components.select(
        "Subentities", name: "subentities", options: [("1", "include"), ("0", "exclude")],
        selected: query.includesSubentities ? "1" : "0")
    let limits = Set([20, GridQuery.defaultLimit, 100, 200, 500, query.limit]).sorted()
    let kept = query.kept(context, except: ["columns", "subentities", "limit", "sort"])
    let form: HTML = """
      <form class="stack" method="get" action="\(context.target(["entities", query.entity.name]))">\
      \(Components.hidden(kept))\
      \(Components.checkboxes("Columns", name: "columns", options: options))\
      <div class="row">\(Components.field(
        "Sort by", name: "sort", value: GridSort.text(query.sort), placeholder: "name,-date",
        hint: "-KEY descending, KEY[cd] without case and accents", isMonospaced: true))\
      \(subentities)\
      \(Components.select(
        "Rows", name: "limit", options: limits.map { (String($0), String($0)) }, selected: String(query.limit)))\
      \(Components.button("Apply"))</div></form>
      """
    return Components.details("Columns and order", form)
  }

  private func planDetails(_ context: PageContext) -> HTML {
    let advice = sortsMatches && !query.sort.isEmpty ? IndexAdvice.text(query, in: model) : nil
    return Components.details("Query plan", ExplainPage.content(plan, advice))
  }
}

extension PageContext {
  /// Returns the URL of this page with some items replaced, in a format.
  func link(replacing items: [(name: String, value: String?)], as format: PageFormat) -> String {
    let link = link(replacing: items)
    guard format != .html else { return link }
    let end = link.firstIndex(of: "?") ?? link.endIndex
    return link[..<end] + format.suffix + link[end...]
  }
}
