extension Components {
  /// A column of a table.
  struct Column: Sendable {
    enum Order: String, Sendable {
      case ascending, descending
    }

    var title: HTML
    /// Whether cells are aligned right.
    var isNumeric = false
    /// The order of the rows by this column; nil if they are in another order.
    var order: Order?
    /// The page that sorts by this column; nil without one.
    var sortTarget: String?

    init(_ title: HTML, isNumeric: Bool = false, order: Order? = nil, sortTarget: String? = nil) {
      self.title = title
      self.isNumeric = isNumeric
      self.order = order
      self.sortTarget = sortTarget
    }

    fileprivate var heading: HTML {
      let sort: HTML? = order.map { " aria-sort=\"\($0.rawValue)\"" }
      let arrow = order == .ascending ? "▲" : order == .descending ? "▼" : "↕"
      var content = title
      if let sortTarget {
        content = "<a class=\"sort\" href=\"\(sortTarget)\">\(title)<span aria-hidden=\"true\">\(arrow)</span></a>"
      }
      return "<th scope=\"col\"\(isNumeric ? " class=\"numeric\"" as HTML : "")\(sort)>\(content)</th>"
    }
  }

  /// A table; cells of `numeric` columns are aligned right. The first cell of a row is its heading.
  static func table(_ caption: String, columns: [(title: HTML, isNumeric: Bool)], rows: [[HTML]]) -> HTML {
    table(caption, columns: columns.map { Column($0.title, isNumeric: $0.isNumeric) }, rows: rows)
  }

  /// A table that scrolls inside its box: the heads of its columns, and its first column, remain visible.
  ///
  /// j and k move between the first links of the rows.
  static func table(_ caption: String, columns: [Column], rows: [[HTML]]) -> HTML {
    var html = scroll(caption) + "<table class=\"grid\"><caption>\(caption)</caption><thead><tr>"
    for column in columns { html += column.heading }
    html += "</tr></thead><tbody>"
    for row in rows {
      html += "<tr>"
      for (index, cell) in row.enumerated() {
        let numeric: HTML? = index < columns.count && columns[index].isNumeric ? " class=\"numeric\"" : nil
        html += index == 0 ? "<th scope=\"row\"\(numeric)>\(cell)</th>" : "<td\(numeric)>\(cell)</td>"
      }
      html += "</tr>"
    }
    return html + "</tbody></table></div>"
  }

  /// The start of a box that scrolls, also with the keyboard.
  private static func scroll(_ label: String) -> HTML {
    "<div class=\"scroll\" role=\"region\" aria-label=\"\(label)\" tabindex=\"0\">"
  }

  /// Links to the pages before and after this one, for keyset paging; nil where no such page exists.
  static func pager(_ summary: HTML, first: String? = nil, previous: String? = nil, next: String? = nil) -> HTML {
    func item(_ title: String, _ target: String?, _ relation: String) -> HTML {
      guard let target else { return "<span class=\"button off\" aria-disabled=\"true\">\(title)</span>" }
      return "<a class=\"button\" href=\"\(target)\" rel=\"\(relation)\">\(title)</a>"
    }
    var html: HTML = "<nav class=\"pager\" aria-label=\"Pages\"><p>\(summary)</p>"
    if first != nil || previous == nil { html += item("First", first, "first") }
    if previous != nil { html += item("Previous", previous, "prev") }
    return html + item("Next", next, "next") + "</nav>"
  }

  /// Old and new values of properties, side by side.
  ///
  /// - Parameter rows: a nil side did not exist: the property's object was inserted or deleted.
  static func comparison(
    _ caption: String, old: String, new: String, rows: [(name: HTML, old: HTML?, new: HTML?)]
  ) -> HTML {
    comparison(caption, states: [(old, "old"), (new, "new")], rows: rows.map { ($0.name, [$0.old, $0.new]) })
  }

  /// The values of an object's properties in several states, side by side.
  ///
  /// - Parameters:
  ///   - states: their titles, and the kind of their values: `old`, `new`, `ours`, `theirs` or empty.
  ///   - rows: one value for each state; nil for a state without the object.
  static func comparison(
    _ caption: String, states: [(title: String, kind: String)], rows: [(name: HTML, values: [HTML?])]
  ) -> HTML {
    var html = scroll(caption) + "<table class=\"grid comparison\"><caption>\(caption)</caption><thead><tr>"
    html += "<th scope=\"col\">Property</th>"
    for state in states { html += "<th scope=\"col\">\(state.title)</th>" }
    html += "</tr></thead><tbody>"
    for row in rows {
      html += "<tr><th scope=\"row\">\(row.name)</th>"
      for (state, value) in zip(states, row.values) {
        html += value.map { "<td class=\"\(state.kind)\">\($0)</td>" as HTML } ?? "<td class=\"absent\">–</td>"
      }
      html += "</tr>"
    }
    return html + "</tbody></table></div>"
  }
}
