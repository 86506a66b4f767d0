/// Draws a ``ModelDiagram``: in a page, with links and the classes of its style sheet, or as a file of its own.
package struct ModelDiagramSVG: Sendable {
  /// The pages that a diagram links to.
  struct Links: Sendable {
    var entity: @Sendable (String) -> String
    var property: @Sendable (_ entity: String, _ name: String) -> String
    var objects: @Sendable (String) -> String
  }

  private let diagram: ModelDiagram
  private let links: Links?
  /// The numbers of objects in words; empty without a store.
  private let counts: [String: String]

  package init(_ diagram: ModelDiagram) { self.init(diagram, links: nil) }

  init(_ diagram: ModelDiagram, links: Links?, counts: [String: String] = [:]) {
    self.diagram = diagram
    self.links = links
    self.counts = counts
  }

  /// Between a head and the first row.
  private static let headGap = 6
  /// The height of the legend of a file.
  private static let legendHeight = 40

  /// A document, with colours for light and for dark pages.
  package var text: String {
    let (width, height) = (max(diagram.layout.width, 640), diagram.layout.height + Self.legendHeight)
    let document: HTML = """
      <svg xmlns="http://www.w3.org/2000/svg" class="model" width="\(width)" height="\(height)" \
      viewBox="0 0 \(width) \(height)" font-family="sans-serif" font-size="12">
      \(heading)<style>\(HTML(stringLiteral: DiagramStyle.standalone))</style>
      <rect class="ground" width="100%" height="100%" fill="#ffffff"/>
      \(content)\(legend)</svg>

      """
    return document.text
  }

  /// The drawing as part of a page.
  var svg: HTML {
    let layout = diagram.layout
    return """
      <svg class="model" viewBox="0 0 \(layout.width) \(layout.height)" role="group" \
      aria-labelledby="model-title" aria-describedby="model-description">\(heading)\(content)</svg>
      """
  }

  private var heading: HTML {
    """
    <title id="model-title">\(diagram.modelName)</title><desc id="model-description">Boxes are entities with their own \
    properties. Lines lead from relationships to their inverses; arrows lead to parents.</desc>
    """
  }

  private var content: HTML {
    var html: HTML = "<g fill=\"none\" stroke=\"#566170\">"
    for route in diagram.layout.routes { html += line(route) }
    html += "</g>"
    for (place, entity) in diagram.entities.enumerated() { html += box(entity, diagram.layout.boxes[place]) }
    return html
  }

  // MARK: Lines

  private func line(_ route: DiagramLayout.Route) -> HTML {
    switch diagram.lines[route.net] {
    case .inheritance(let parent):
      let path = route.lines.map { DiagramPath.text($0) }.joined()
      let (x, y) = (route.hub.point.x, route.hub.point.y)
      let tail = route.hub.isRight ? x + 10 : x - 10
      return """
        <g><title>Subentities of \(parent)</title><path class="wire" d="\(path)"/>\
        <path class="mark" d="M\(x) \(y)L\(tail) \(y - 6)V\(y + 6)Z" fill="#ffffff"/></g>

        """
    case .relationship(let own, let inverse, let destination):
      guard let line = route.lines.first, let far = route.others.first else { return .empty }
      var html: HTML = "<g><title>\(Self.title(own, inverse, destination))</title>"
      if let inverse, inverse.treatment != own.treatment {
        let (first, second) = DiagramPath.halves(line)
        html += wire(first, own.treatment) + wire(second, inverse.treatment)
      } else {
        html += wire(line, own.treatment)
      }
      html += mark(own, at: far)
      if let inverse { html += mark(inverse, at: route.hub) }
      return html + "</g>\n"
    }
  }

  private static func title(_ own: ModelDiagram.End, _ inverse: ModelDiagram.End?, _ destination: String) -> String {
    guard let inverse else { return "\(own.entity).\(own.relationship) → \(destination)" }
    return "\(own.entity).\(own.relationship) ↔ \(inverse.entity).\(inverse.relationship)"
  }

  private func wire(_ line: [DiagramPoint], _ treatment: CloneTreatment.Kind) -> HTML {
    "<path class=\"wire \(treatment.rawValue)\" d=\"\(DiagramPath.text(line))\"/>"
  }

  /// The number of targets at their end: a crow's foot or a bar, with a circle if there may be none.
  private func mark(_ end: ModelDiagram.End, at place: DiagramEnd) -> HTML {
    let side = place.isRight ? 1 : -1
    let (x, y) = (place.point.x, place.point.y)
    let tip = x + side * 11
    let foot = end.isToMany ? "M\(tip) \(y)L\(x) \(y - 5)M\(tip) \(y)L\(x) \(y + 5)" : "M\(x + side * 6) \(y - 5)v10"
    let least: HTML =
      end.isOptional
      ? "<circle class=\"mark\" cx=\"\(x + side * (end.isToMany ? 15 : 11))\" cy=\"\(y)\" r=\"4\" fill=\"#ffffff\"/>"
      : "<path class=\"mark\" d=\"M\(x + side * (end.isToMany ? 15 : 11)) \(y - 5)v10\"/>"
    return "<path class=\"mark\" d=\"\(foot)\"/>\(least)"
  }

  // MARK: Boxes

  private func box(_ entity: ModelDiagram.Entity, _ box: DiagramBox) -> HTML {
    let hollow: HTML = entity.isAbstract ? " hollow" : ""
    let corner = 4
    let headBottom = entity.rows.isEmpty ? box.bottom - corner : box.y + box.headHeight - Self.headGap
    var html: HTML = """
      <g><rect class="plate" x="\(box.x)" y="\(box.y)" width="\(box.width)" height="\(box.height)" rx="\(corner)" \
      fill="#ffffff" stroke="#566170"/>\
      <path class="plate-head\(hollow)" d="M\(box.x) \(headBottom)V\(box.y + corner)q0 -4 4 -4H\
      \(box.right - corner)q4 0 4 4V\(headBottom)Z" fill="#eceff3" stroke="#566170"/>
      """
    html += head(entity, box)
    for (index, row) in entity.rows.enumerated() {
      let y = box.y + box.headHeight + index * DiagramMetrics.rowHeight
      if row.isRelationship, index > 0, !entity.rows[index - 1].isRelationship {
        html += "<path class=\"divider\" d=\"M\(box.x + 1) \(y)H\(box.right - 1)\"/>"
      }
      html += self.row(row, of: entity.name, box, y)
    }
    return html + "</g>\n"
  }

  private func head(_ entity: ModelDiagram.Entity, _ box: DiagramBox) -> HTML {
    let note = note(entity)
    let baseline = box.y + (box.headHeight - (entity.rows.isEmpty ? 0 : Self.headGap)) / 2 + 5
    let noteWidth = TextWidth.estimate(note, size: ModelDiagram.fontSize - 1)
    let name = TextWidth.cut(
      entity.name, to: Double(box.width - 30) - noteWidth, size: ModelDiagram.headFontSize, isBold: true)
    let title: HTML = """
      <title>\(entity.name)</title><text class="title\(entity.isAbstract ? " soft" as HTML : "")" x="\(box.x + 10)" \
      y="\(baseline)" font-weight="bold">\(name)</text>
      """
    var html: HTML = links.map { "<a href=\"\($0.entity(entity.name))\">\(title)</a>" } ?? title
    if note.isEmpty { return html }
    let label: HTML = """
      <text class="detail" x="\(box.right - ModelDiagram.rightPadding)" y="\(baseline)" text-anchor="end">\(note)</text>
      """
    if let links, counts[entity.name] != nil, !entity.isAbstract {
      html += "<a href=\"\(links.objects(entity.name))\"><title>Objects of \(entity.name)</title>\(label)</a>"
    } else {
      html += label
    }
    return html
  }

  private func note(_ entity: ModelDiagram.Entity) -> String {
    if entity.isAbstract { return "abstract" }
    return counts[entity.name] ?? ""
  }

  private func row(_ row: ModelDiagram.Row, of entity: String, _ box: DiagramBox, _ y: Int) -> HTML {
    let (name, detail) = ModelDiagram.texts(of: row, width: box.width)
    let soft: HTML = row.isDerivedOrTransient ? " class=\"soft\"" : ""
    var html: HTML = """
      <title>\(row.description)</title><rect class="strip" x="\(box.x + 1)" y="\(y + 1)" width="\(box.width - 2)" \
      height="\(DiagramMetrics.rowHeight - 2)" fill="none"/>
      """
    if row.treatment != .copy {
      html += "<circle class=\"dot \(row.treatment.rawValue)\" cx=\"\(box.x + 12)\" cy=\"\(y + 10)\" r=\"3\"/>"
    }
    html += "<text\(soft) x=\"\(box.x + ModelDiagram.indentation)\" y=\"\(y + 14)\">\(name)</text>"
    if !detail.isEmpty {
      html += """
        <text class="detail" x="\(box.right - ModelDiagram.rightPadding)" y="\(y + 14)" \
        text-anchor="end">\(detail)</text>
        """
    }
    return links.map { "<a href=\"\($0.property(entity, row.name))\">\(html)</a>" } ?? "<g>\(html)</g>"
  }

  // MARK: Legend

  /// The meaning of the colours.
  static let legend: [(kind: CloneTreatment.Kind, title: String)] = [
    (.follow, "clone follows"), (.share, "clone shares"), (.skip, "clone omits"), (.rebuild, "clone rebuilds"),
  ]

  private var legend: HTML {
    var html: HTML = "<g>"
    var x = DiagramMetrics.margin
    let y = diagram.layout.height + Self.legendHeight / 2 - 8
    for item in Self.legend {
      html += """
        <circle class="dot \(item.kind.rawValue)" cx="\(x + 4)" cy="\(y)" r="3"/>\
        <text class="detail" x="\(x + 14)" y="\(y + 4)">\(item.title)</text>
        """
      x += 34 + Int(TextWidth.estimate(item.title, size: ModelDiagram.fontSize - 1))
    }
    return html + "</g>\n"
  }
}
