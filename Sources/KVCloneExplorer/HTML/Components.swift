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

  /// A text in monospace: an id, a value, a predicate or a name from the model.
  static func code(_ text: String) -> HTML { "<code>\(text)</code>" }

  /// A text of less importance.
  static func muted(_ text: String) -> HTML { "<span class=\"muted\">\(text)</span>" }

  /// The absence of a value.
  static let missing: HTML = "<span class=\"missing\">nil</span>"

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

  /// A date.
  ///
  /// - Parameter text: in RFC 3339.
  static func time(_ text: String) -> HTML { "<time datetime=\"\(text)\">\(text)</time>" }

  /// A share of a whole as a bar. The number is beside it, in text: the bar is hidden from screen readers.
  ///
  /// - Parameter share: from 0 to 1.
  static func bar(_ share: Double) -> HTML {
    let width = share.isFinite ? 100 * min(max(share, 0), 1) : 0
    return """
      <svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">\
      <rect class="track" width="100" height="8"/><rect class="fill" width="\(width)" height="8"/></svg>
      """
  }

  /// A list of names and values.
  static func definitions(_ items: [(name: String, value: HTML)]) -> HTML {
    var html: HTML = "<dl class=\"definitions\">"
    for item in items { html += "<div><dt>\(item.name)</dt><dd>\(item.value)</dd></div>" }
    return html + "</dl>"
  }

  /// Numbers that summarize a page, side by side.
  static func figures(_ items: [(name: String, value: HTML)]) -> HTML {
    var html: HTML = "<dl class=\"figures\">"
    for item in items { html += "<div><dt>\(item.name)</dt><dd>\(item.value)</dd></div>" }
    return html + "</dl>"
  }

  /// A part of a page with a heading.
  static func section(_ title: String, _ content: HTML) -> HTML { "<section><h2>\(title)</h2>\(content)</section>" }

  /// A part of a page that the script refreshes after commits, without moving the scroll position.
  ///
  /// - Parameter id: unique in the page, and the same in every rendering of it.
  static func live(_ id: String, _ content: HTML) -> HTML { "<div id=\"\(id)\" data-live>\(content)</div>" }

  /// Parts in columns that wrap at narrow widths.
  static func columns(_ parts: [HTML]) -> HTML {
    var html: HTML = "<div class=\"columns\">"
    for part in parts { html += "<div>\(part)</div>" }
    return html + "</div>"
  }

  /// A message for content that is empty, with a remedy.
  ///
  /// - Parameter kind: `info`, `warning` or `error`.
  static func notice(_ text: String, _ kind: String = "info") -> HTML {
    notice("\(text)" as HTML, kind)
  }

  /// A message with links.
  static func notice(_ content: HTML, _ kind: String = "info") -> HTML {
    "<p class=\"notice \(kind)\"\(kind == "error" ? " role=\"alert\"" as HTML : "")>\(content)</p>"
  }

  /// A statement that a list has no items, and the next step.
  static func empty(_ title: String, _ remedy: HTML = .empty) -> HTML {
    "<div class=\"empty\"><p><strong>\(title)</strong></p>\(remedy.isEmpty ? nil : "<p>\(remedy)</p>" as HTML)</div>"
  }

  /// Links and buttons that belong to a page or a section.
  static func toolbar(_ items: [HTML], label: String = "Actions") -> HTML {
    var html: HTML = "<ul class=\"toolbar\" aria-label=\"\(label)\">"
    for item in items { html += "<li>\(item)</li>" }
    return html + "</ul>"
  }

  /// Alternatives of one view, such as text and hex; one of them is current.
  static func tabs(_ label: String, _ items: [(title: String, target: String, isCurrent: Bool)]) -> HTML {
    var html: HTML = "<nav class=\"tabs\" aria-label=\"\(label)\"><ul>"
    for item in items {
      let current: HTML = item.isCurrent ? " aria-current=\"page\"" : ""
      html += "<li><a href=\"\(item.target)\"\(current)>\(item.title)</a></li>"
    }
    return html + "</ul></nav>"
  }
}
