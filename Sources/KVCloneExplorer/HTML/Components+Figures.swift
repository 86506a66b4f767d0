extension Components {
  /// A node of a tree.
  struct TreeNode: Sendable {
    var label: HTML
    var children: [TreeNode] = []
    /// Whether the children are visible at first.
    var isOpen = true

    init(_ label: HTML, _ children: [TreeNode] = [], isOpen: Bool = true) {
      self.label = label
      self.children = children
      self.isOpen = isOpen
    }
  }

  /// A tree with connectors, and buttons that open and close all of its nodes.
  static func tree(_ label: String, _ nodes: [TreeNode]) -> HTML {
    """
    <div class="foldable" data-tree><p class="controls script">\
    <button type="button" class="button small" data-expand="all">Expand all</button>\
    <button type="button" class="button small" data-expand="none">Collapse all</button></p>\
    <ul class="tree" aria-label="\(label)">\(HTML(nodes.map(item)))</ul></div>
    """
  }

  private static func item(_ node: TreeNode) -> HTML {
    if node.children.isEmpty { return "<li><span class=\"node\">\(node.label)</span></li>" }
    let open: HTML = node.isOpen ? " open" : ""
    return """
      <li><details\(open)><summary><span class="node">\(node.label)</span></summary>\
      <ul>\(HTML(node.children.map(item)))</ul></details></li>
      """
  }

  /// A part that is closed at first.
  static func details(_ summary: String, _ content: HTML, isOpen: Bool = false) -> HTML {
    "<details class=\"fold\"\(isOpen ? " open" as HTML : "")><summary>\(summary)</summary>\(content)</details>"
  }

  /// An image in a box of a fixed size, so that nothing moves when it arrives.
  ///
  /// - Parameter target: the page or file that a click opens; nil without a link.
  static func image(_ source: String, alternative: String, target: String? = nil, isLarge: Bool = false) -> HTML {
    let image: HTML = "<img src=\"\(source)\" alt=\"\(alternative)\" loading=\"lazy\" decoding=\"async\">"
    let size: HTML = isLarge ? " large" : ""
    guard let target else { return "<span class=\"preview\(size)\">\(image)</span>" }
    return "<a class=\"preview\(size)\" href=\"\(target)\">\(image)</a>"
  }

  /// A drawing that fills the width, such as a treemap.
  ///
  /// - Parameter svg: with a `viewBox`, without `width` and `height`.
  static func drawing(_ caption: String, _ svg: HTML) -> HTML {
    """
    <figure class="drawing"><div class="sheet" role="group" aria-label="\(caption)" tabindex="0">\(svg)</div>\
    <figcaption>\(caption)</figcaption></figure>
    """
  }

  /// A diagram that the script pans and zooms. Without it, the whole diagram is visible.
  ///
  /// A large diagram starts at a scale that is legible, at a shape with the class `current` if it has one.
  ///
  /// - Parameter svg: with a `viewBox`, without `width` and `height`. Its shapes have classes of the style sheet:
  ///   `box`, `head`, `link`, `parent`, and a colour as for badges.
  static func diagram(_ caption: String, _ svg: HTML) -> HTML {
    """
    <figure class="diagram" data-panzoom><div class="controls script" role="group" aria-label="Zoom">\
    <button type="button" class="button small" data-zoom="in" aria-label="Zoom in">+</button>\
    <button type="button" class="button small" data-zoom="out" aria-label="Zoom out">−</button>\
    <button type="button" class="button small" data-zoom="fit">Fit</button></div>\
    <div class="canvas" role="group" aria-label="\(caption)" tabindex="0">\(svg)</div>\
    <figcaption>\(caption)</figcaption></figure>
    """
  }

  /// The meaning of the colours of a drawing.
  ///
  /// - Parameter items: kinds as for badges.
  static func legend(_ items: [(title: String, kind: String)]) -> HTML {
    var html: HTML = "<ul class=\"legend\" aria-label=\"Legend\">"
    for item in items { html += "<li><span class=\"swatch \(item.kind)\"></span>\(item.title)</li>" }
    return html + "</ul>"
  }

  /// A moment of a timeline.
  struct Moment: Sendable {
    /// In RFC 3339; nil for the present.
    var time: String?
    var title: HTML
    var detail: HTML
    var isCurrent: Bool

    init(time: String?, title: HTML, detail: HTML = .empty, isCurrent: Bool = false) {
      self.time = time
      self.title = title
      self.detail = detail
      self.isCurrent = isCurrent
    }
  }

  static func timeline(_ label: String, _ moments: [Moment]) -> HTML {
    var html: HTML = "<ol class=\"timeline\" aria-label=\"\(label)\">"
    for moment in moments {
      let current: HTML = moment.isCurrent ? " aria-current=\"true\"" : ""
      html += """
        <li\(current)><p class="title">\(moment.title)</p><p class="muted">\(moment.time.map(time) ?? "now")</p>\
        \(moment.detail.isEmpty ? nil : "<div>\(moment.detail)</div>" as HTML)</li>
        """
    }
    return html + "</ol>"
  }

  /// The part of an operation that is done.
  ///
  /// - Parameter total: nil while it is unknown.
  static func progress(_ label: String, done: Int, total: Int?) -> HTML {
    let state: HTML = total.map { "\(number(done)) of \(number($0))" } ?? number(done)
    let bounds: HTML? = total.map { " value=\"\(done)\" max=\"\(max($0, 1))\"" }
    return """
      <div class="progress"><p><span>\(label)</span> <span class="number">\(state)</span></p>\
      <progress aria-label="\(label)"\(bounds)></progress></div>
      """
  }

  /// Lines of text, with their numbers. Long lines wrap.
  ///
  /// - Parameter first: the number of the first line.
  static func lines(_ label: String, _ lines: [String], first: Int = 1) -> HTML {
    var html: HTML = "<ol class=\"lines\" aria-label=\"\(label)\" start=\"\(first)\">"
    for line in lines { html += "<li>\(line)</li>" }
    return html + "</ol>"
  }

  /// Bytes in hex, 16 a row.
  ///
  /// - Parameter start: the offset of the first byte.
  static func hex(_ label: String, _ bytes: some Collection<UInt8>, start: Int = 0) -> HTML {
    var html: HTML = """
      <div class="scroll" role="region" aria-label="\(label)" tabindex="0"><table class="hex">\
      <caption>\(label)</caption><thead><tr>\
      <th scope="col">Offset</th><th scope="col">Bytes</th><th scope="col">Text</th></tr></thead><tbody>
      """
    var offset = start
    var rest = bytes[...]
    while !rest.isEmpty {
      let row = rest.prefix(16)
      rest = rest.dropFirst(16)
      let characters = String(row.map { $0 >= 0x20 && $0 < 0x7F ? Character(Unicode.Scalar($0)) : "·" })
      let (left, right) = (row.prefix(8).map(digits), row.dropFirst(8).map(digits))
      let values = left.joined(separator: " ") + (right.isEmpty ? "" : "  " + right.joined(separator: " "))
      html += "<tr><th scope=\"row\">\(digits(offset))</th><td>\(values)</td><td>\(characters)</td></tr>"
      offset += 16
    }
    return html + "</tbody></table></div>"
  }

  private static func digits(_ byte: UInt8) -> String {
    (byte < 16 ? "0" : "") + String(byte, radix: 16)
  }

  private static func digits(_ offset: Int) -> String {
    let text = String(offset, radix: 16)
    return String(repeating: "0", count: max(0, 8 - text.count)) + text
  }
}
