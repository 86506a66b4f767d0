/// Parts that pages share, with the classes of the style sheet.
enum Components {
  /// A link.
  static func link(_ text: String, _ target: String) -> HTML { "<a href=\"\(target)\">\(text)</a>" }

  /// A label, such as `derived`.
  ///
  /// - Parameter kind: of the colour: `neutral`, `good`, `warning`, `bad`, `follow`, `share` or `skip`.
  static func badge(_ text: String, _ kind: String = "neutral") -> HTML {
    "<span class=\"badge \(kind)\">\(text)</span>"
  }

  /// A number with its unit, such as `1.2 MB`, with the exact one as its title.
  static func bytes(_ count: UInt64) -> HTML {
    "<data class=\"number\" value=\"\(count)\" title=\"\(count) bytes\">\(Text.bytes(count))</data>"
  }

  /// A count with separators of thousands.
  static func number(_ count: Int) -> HTML { "<data class=\"number\" value=\"\(count)\">\(grouped(count))</data>" }

  private static func grouped(_ count: Int) -> String {
    let digits = String(count.magnitude)
    var result = ""
    for (index, digit) in digits.enumerated() {
      if index > 0, (digits.count - index).isMultiple(of: 3) { result += "\u{202F}" }
      result.append(digit)
    }
    return count < 0 ? "−\(result)" : result
  }

  /// A table; cells of `numeric` columns are aligned right.
  static func table(_ caption: String, columns: [(title: HTML, isNumeric: Bool)], rows: [[HTML]]) -> HTML {
    var html: HTML = "<div class=\"scroll\"><table><caption>\(caption)</caption><thead><tr>"
    for column in columns {
      html += "<th scope=\"col\"\(column.isNumeric ? " class=\"numeric\"" as HTML : "")>\(column.title)</th>"
    }
    html += "</tr></thead><tbody>"
    for row in rows {
      html += "<tr>"
      for (index, cell) in row.enumerated() {
        html += "<td\(columns[index].isNumeric ? " class=\"numeric\"" as HTML : "")>\(cell)</td>"
      }
      html += "</tr>"
    }
    return html + "</tbody></table></div>"
  }

  /// A list of names and values.
  static func definitions(_ items: [(name: String, value: HTML)]) -> HTML {
    var html: HTML = "<dl class=\"definitions\">"
    for item in items { html += "<div><dt>\(item.name)</dt><dd>\(item.value)</dd></div>" }
    return html + "</dl>"
  }

  /// A part of a page with a heading.
  static func section(_ title: String, _ content: HTML) -> HTML { "<section><h2>\(title)</h2>\(content)</section>" }

  /// A message in place of content, with a remedy.
  ///
  /// - Parameter kind: `info`, `warning` or `error`.
  static func notice(_ text: String, _ kind: String = "info") -> HTML {
    "<p class=\"notice \(kind)\"\(kind == "error" ? " role=\"alert\"" as HTML : "")>\(text)</p>"
  }
}
