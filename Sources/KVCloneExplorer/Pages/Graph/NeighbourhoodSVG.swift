/// Draws a ``Neighbourhood``: the object in the middle, and labels along rays around it.
struct NeighbourhoodSVG {
  let graph: Neighbourhood
  let layout: RadialLayout
  let context: PageContext

  private static let centreSize = (width: 160.0, height: 48.0)
  private static let margin = 24.0
  private static let textSize = 12.0

  init(_ graph: Neighbourhood, _ context: PageContext) {
    self.graph = graph
    self.context = context
    layout = graph.layout
  }

  /// The drawing, with the centre at the origin.
  var svg: HTML {
    let (left, top, right, bottom) = bounds
    var html: HTML = """
      <svg class="graph" viewBox="\(left) \(top) \(right - left) \(bottom - top)" role="group" \
      aria-labelledby="graph-title" aria-describedby="graph-description"><title id="graph-title">Neighbours of \
      \(graph.centre.title)</title><desc id="graph-description">The list below the drawing has the same content.</desc>

      """
    for link in graph.links { html += chord(link) }
    for (index, node) in graph.first.enumerated() where isVisible(node) {
      let label = layout.first[index]
      let (x, y) = label.point(0)
      html += "<path class=\"wire\" d=\"M0 0L\(x) \(y)\"/>"
      html += edgeName(node.label, label)
    }
    for (index, nodes) in graph.second.enumerated() {
      for (place, node) in nodes.enumerated() where isVisible(node) {
        let label = layout.second[index][place]
        html += curve(layout.first[index], length(of: graph.first[index]), label) + edgeName(node.label, label)
      }
    }
    html += centre
    for (index, node) in graph.first.enumerated() where isVisible(node) { html += self.node(node, layout.first[index]) }
    for (index, nodes) in graph.second.enumerated() {
      for (place, node) in nodes.enumerated() where isVisible(node) {
        html += self.node(node, layout.second[index][place])
      }
    }
    return html + "</svg>"
  }

  /// Whether a node is drawn. A node for the rest of a relationship stays in the layout when no object remains.
  private func isVisible(_ node: Neighbourhood.Node) -> Bool { node.name != nil || node.hiddenCount > 0 }

  private var bounds: (left: Double, top: Double, right: Double, bottom: Double) {
    var (left, top) = (-Self.centreSize.width / 2, -Self.centreSize.height / 2)
    var (right, bottom) = (-left, -top)
    for label in layout.first + layout.second.joined() {
      let (x, y) = label.point(RadialLayout.labelLength)
      (left, right, top, bottom) = (min(left, x), max(right, x), min(top, y), max(bottom, y))
    }
    let margin = Self.margin
    return (left - margin, top - margin, right + margin, bottom + margin)
  }

  // MARK: Edges

  private func curve(
    _ parent: RadialLayout.Label, _ length: Double, _ child: RadialLayout.Label
  ) -> HTML {
    let start = parent.point(length)
    let near = parent.point(RadialLayout.labelLength + RadialLayout.edgeLength / 3)
    let far = child.point(-RadialLayout.edgeLength * 0.75)
    let end = child.point(0)
    return """
      <path class="wire" d="M\(start.x) \(start.y)C\(near.x) \(near.y) \(far.x) \(far.y) \(end.x) \(end.y)"/>
      """
  }

  /// A relationship between two nodes elsewhere in the drawing.
  private func chord(_ link: Neighbourhood.Link) -> HTML {
    guard let from = innerEnd(link.from), let to = innerEnd(link.to) else { return .empty }
    return """
      <path class="wire faint" d="M\(from.x) \(from.y)Q\(0) \(0) \(to.x) \(to.y)"><title>\(link.from) \
      \(link.relationship) \(link.to)</title></path>
      """
  }

  private func innerEnd(_ name: String) -> (x: Double, y: Double)? {
    if name == graph.centre.id { return (0, 0) }
    if let index = graph.first.firstIndex(where: { $0.name?.id == name }) { return layout.first[index].point(0) }
    for (index, nodes) in graph.second.enumerated() {
      if let place = nodes.firstIndex(where: { $0.name?.id == name }) { return layout.second[index][place].point(0) }
    }
    return nil
  }

  /// The name of a relationship, along the ray at the inner end of a label.
  private func edgeName(_ relationship: String, _ label: RadialLayout.Label) -> HTML {
    let text = TextWidth.cut(relationship, to: RadialLayout.edgeLength * 0.6, size: Self.textSize - 2)
    return """
      <g transform="\(transform(label))"><text class="detail halo" x="\(label.isTurned ? 8 : -8)" y="-3" \
      text-anchor="\(label.isTurned ? "start" : "end")">\(text)</text></g>
      """
  }

  /// Moves the origin to a label's inner end, with the x axis along its text.
  private func transform(_ label: RadialLayout.Label) -> HTML {
    let (x, y) = label.point(0)
    let degrees = label.angle * 180 / Double.pi + (label.isTurned ? 180 : 0)
    return "translate(\(x) \(y)) rotate(\(degrees))"
  }

  // MARK: Nodes

  private var centre: HTML {
    let (width, height) = Self.centreSize
    let title = TextWidth.cut(graph.centre.title, to: width - 16, size: 13, isBold: true)
    let detail = TextWidth.cut(graph.centre.id, to: width - 16, size: 11)
    return """
      <a href="\(context.link(graph.centre.path))" data-item><title>\(graph.centre.title), \(graph.centre.id)</title>\
      <rect class="plate current" x="\(-width / 2)" y="\(-height / 2)" width="\(width)" height="\(height)" rx="8"/>\
      <text class="title" y="-3" text-anchor="middle">\(title)</text>\
      <text class="detail" y="15" text-anchor="middle">\(detail)</text></a>

      """
  }

  /// The two lines of a node, cut to the longest label.
  private func texts(_ node: Neighbourhood.Node) -> (title: String, detail: String) {
    let room = RadialLayout.labelLength - 16
    let (title, detail) =
      node.name.map { ($0.title, $0.text == nil ? "" : $0.id) } ?? (node.hiddenText, node.label)
    return (
      TextWidth.cut(title, to: room, size: Self.textSize), TextWidth.cut(detail, to: room, size: Self.textSize - 1)
    )
  }

  private func length(of node: Neighbourhood.Node) -> Double {
    let (title, detail) = texts(node)
    let text = max(
      TextWidth.estimate(title, size: Self.textSize), TextWidth.estimate(detail, size: Self.textSize - 1))
    return min(RadialLayout.labelLength, max(48, text + 16))
  }

  private func node(_ node: Neighbourhood.Node, _ label: RadialLayout.Label) -> HTML {
    let (title, detail) = texts(node)
    let (length, height) = (length(of: node), RadialLayout.labelHeight)
    let origin = graph.origin(of: node)
    let relationship = node.isIncoming ? "refers by \(node.relationship) to" : "\(node.relationship) of"
    let description =
      node.name.map { "\($0.title), \($0.id), \(relationship) \(origin)" }
      ?? "\(node.hiddenText): \(relationship) \(origin)"
    let kind: HTML = node.name == nil ? " hollow" : ""
    // Texts begin at the inner end; rotated ones end there.
    let start: HTML = label.isTurned ? "x=\"-8\" text-anchor=\"end\"" : "x=\"8\""
    var html: HTML = """
      <g transform="\(transform(label))"><a href="\(GraphLinks.target(of: node, in: graph, context))" data-item>\
      <title>\(description)</title><rect class="plate\(kind)" x="\(label.isTurned ? -length : 0)" y="\(-height / 2)" \
      width="\(length)" height="\(height)" rx="6"/><text \(start) y="\(detail.isEmpty ? 4 : -2)">\(title)</text>
      """
    if !detail.isEmpty { html += "<text class=\"detail\" \(start) y=\"11\">\(detail)</text>" }
    return html + "</a></g>\n"
  }
}
