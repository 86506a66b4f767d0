package import KVClone

/// A model as a picture: a box for each entity with its own properties, a curve from each relationship to its inverse,
/// a dashed one from an entity to its parent.
package struct ModelSVG {
  private static let boxWidth = 250
  private static let rowHeight = 18
  private static let headHeight = 28
  private static let gap = 70

  private struct Box {
    let entity: EntityDescription
    var x = 0
    var y = 0

    var rows: [(name: String, text: String)] {
      entity.attributes.sorted { $0.name < $1.name }.map { ($0.name, "\($0.name): \($0.type.rawValue)") }
        + entity.relationships.sorted { $0.name < $1.name }.map {
          ($0.name, "\($0.name) \($0.isToMany ? "→→" : "→") \($0.destinationEntityName)")
        }
    }
    var height: Int {
      ModelSVG.headHeight + max(1, entity.attributes.count + entity.relationships.count) * rowHeight + 8
    }

    /// The vertical middle of a property's row; that of the head for inherited names.
    func middle(of property: String) -> Int {
      guard let row = rows.firstIndex(where: { $0.name == property }) else { return y + headHeight / 2 }
      return y + headHeight + row * rowHeight + rowHeight / 2 + 4
    }
  }

  private var boxes: [Box]
  private var width = 0
  private var height = 0
  private let model: ManagedObjectModel

  /// Arranges boxes by name in columns of about equal height.
  package init(_ model: ManagedObjectModel) {
    self.model = model
    boxes = model.entities.sorted { $0.name < $1.name }.map { Box(entity: $0) }
    let columns = max(1, Int(Double(boxes.count).squareRoot().rounded(.up)))
    var ends = [Int](repeating: ModelSVG.gap / 2, count: columns)
    for index in boxes.indices {
      let column = ends.indices.min { ends[$0] < ends[$1] } ?? 0
      boxes[index].x = ModelSVG.gap / 2 + column * (ModelSVG.boxWidth + ModelSVG.gap)
      boxes[index].y = ends[column]
      ends[column] += boxes[index].height + ModelSVG.gap / 2
    }
    width = columns * (ModelSVG.boxWidth + ModelSVG.gap)
    height = ends.max() ?? 0
  }

  /// Colours for dark pages. Those for light ones, and for viewers without style sheets, are in the shapes.
  private static let styleSheet = """
    <style>@media (prefers-color-scheme: dark) {
    .paper { fill: #16191d } .box { fill: #22272e; stroke: #768390 } .head { fill: #1f3a5f; stroke: #768390 }
    .abstract { fill: #373e47; stroke: #768390 } text { fill: #e6edf3 }
    .link { stroke: #6cb6ff } .parent { stroke: #adbac7 }
    }</style>

    """

  /// The document.
  package var text: String {
    var svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"\(width)\" height=\"\(height)\" "
    svg += "viewBox=\"0 0 \(width) \(height)\" font-family=\"sans-serif\" font-size=\"12\">\n"
    svg += "<title>\(Text.xml(model.name))</title>\n\(Self.styleSheet)"
    svg += "<rect class=\"paper\" width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
    for box in boxes { svg += lines(from: box) }
    for box in boxes { svg += drawing(of: box) }
    return svg + "</svg>\n"
  }

  private func box(_ entity: String) -> Box? { boxes.first { $0.entity.name == entity } }

  private func lines(from source: Box) -> String {
    var svg = ""
    if let parent = source.entity.superentityName.flatMap(box) {
      svg += curve(
        source, source.y + 14, parent, parent.y + 14,
        style: "class=\"parent\" stroke=\"#555555\" stroke-dasharray=\"5 4\"")
    }
    for relationship in source.entity.relationships {
      let inverse = model.inverse(of: relationship.name, in: source.entity.name)
      // A pair is one line, drawn from its first side.
      if let inverse, (inverse.entityName, inverse.relationship.name) < (source.entity.name, relationship.name) {
        continue
      }
      guard let target = box(inverse?.entityName ?? relationship.destinationEntityName) else { continue }
      let end = inverse.map { target.middle(of: $0.relationship.name) } ?? target.y + ModelSVG.headHeight / 2
      svg += curve(
        source, source.middle(of: relationship.name), target, end, style: "class=\"link\" stroke=\"#3572b0\"")
    }
    return svg
  }

  /// A curve between the facing sides of two boxes; on one side if a box leads to itself or to one above it.
  private func curve(_ source: Box, _ start: Int, _ target: Box, _ end: Int, style: String) -> String {
    let isRight = target.x > source.x
    let isSame = target.x == source.x
    let x0 = isRight || isSame ? source.x + ModelSVG.boxWidth : source.x
    let x1 = isRight ? target.x : target.x + ModelSVG.boxWidth
    let bend0 = isRight || isSame ? x0 + ModelSVG.gap / 2 : x0 - ModelSVG.gap / 2
    let bend1 = isRight ? x1 - ModelSVG.gap / 2 : x1 + ModelSVG.gap / 2
    return "<path d=\"M \(x0) \(start) C \(bend0) \(start), \(bend1) \(end), \(x1) \(end)\" fill=\"none\" \(style)/>\n"
  }

  private func drawing(of box: Box) -> String {
    let fill =
      box.entity.isAbstract ? "class=\"abstract\" fill=\"#eeeeee\"" : "class=\"head\" fill=\"#dce9f5\""
    var svg =
      "<g><rect class=\"box\" x=\"\(box.x)\" y=\"\(box.y)\" width=\"\(ModelSVG.boxWidth)\" height=\"\(box.height)\" rx=\"4\" "
    svg += "fill=\"#fafafa\" stroke=\"#888888\"/>\n"
    svg +=
      "<rect x=\"\(box.x)\" y=\"\(box.y)\" width=\"\(ModelSVG.boxWidth)\" height=\"\(ModelSVG.headHeight)\" rx=\"4\" "
    svg += "\(fill) stroke=\"#888888\"/>\n"
    let title = box.entity.name + (box.entity.isAbstract ? " (abstract)" : "")
    svg += label(title, box.x + 8, box.y + 19, "font-weight=\"bold\"")
    for (index, row) in box.rows.enumerated() {
      svg += label(row.text, box.x + 8, box.y + ModelSVG.headHeight + index * ModelSVG.rowHeight + 17, "")
    }
    return svg + "</g>\n"
  }

  /// A line of text, cut to the box.
  private func label(_ text: String, _ x: Int, _ y: Int, _ style: String) -> String {
    "<text x=\"\(x)\" y=\"\(y)\" \(style)>\(Text.xml(Text.cut(text, 38)))</text>\n"
  }
}
