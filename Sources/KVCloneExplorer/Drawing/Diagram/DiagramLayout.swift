/// The positions of the boxes and the lines of a diagram.
///
/// Boxes are in columns. Lines are horizontal and vertical: they leave boxes at their left and right sides, turn in the
/// channels between columns, and pass other columns in lanes between boxes. So no line crosses a box, and lines have no
/// segment in common. (Sugiyama, Tagawa and Toda, Methods for Visual Understanding of Hierarchical System Structures,
/// 1981; Hashimoto and Stevens, Wire Routing by Optimizing Channel Assignment, 1971.) Equal graphs have equal layouts.
struct DiagramLayout: Sendable, Hashable {
  /// A line, or a part of a tree.
  struct Route: Sendable, Hashable {
    /// The position of the net in the graph.
    var net: Int
    /// The end at the hub; of the part of a tree that leads to one side.
    var hub: DiagramEnd
    /// The other ends.
    var others: [DiagramEnd]
    /// The lines: a single one from the hub to the other end, or those of a tree.
    var lines: [[DiagramPoint]]
  }

  /// By node.
  var boxes: [DiagramBox]
  var routes: [Route] = []
  private(set) var width = 0
  private(set) var height = 0

  init(_ graph: DiagramGraph) {
    boxes = graph.nodes.map { DiagramBox(width: $0.width, height: 0) }
    var parts: [(nodes: [Int], nets: [Int], layout: ComponentLayout)] = []
    for nodes in graph.components() {
      let (part, nets) = graph.part(nodes)
      parts.append((nodes, nets, ComponentLayout(part)))
    }
    // Large parts first; single boxes end up together at the bottom.
    let order = parts.indices.sorted {
      let (one, two) = (parts[$0].layout, parts[$1].layout)
      return one.height != two.height ? one.height > two.height : $0 < $1
    }
    let area = parts.reduce(0) {
      $0 + ($1.layout.width + DiagramMetrics.partGap) * ($1.layout.height + DiagramMetrics.partGap)
    }
    let widest = parts.map(\.layout.width).max() ?? 0
    let wanted = max(widest, Int(Double(area * 16 / 10).squareRoot()))
    var shelf = Shelf(wanted)
    for index in order {
      let (nodes, nets, layout) = parts[index]
      let corner = shelf.place(layout.width, layout.height)
      for (place, node) in nodes.enumerated() { boxes[node] = layout.boxes[place].moved(by: corner) }
      routes += layout.routes.map { $0.moved(by: corner, nets) }
    }
    routes.sort { $0.net < $1.net }
    width = shelf.width + DiagramMetrics.margin
    height = shelf.bottom + DiagramMetrics.margin
  }

  /// Places rectangles in rows from left to right; those that are lower than their row are below each other.
  private struct Shelf {
    let limit: Int
    private var top = DiagramMetrics.margin
    private(set) var bottom = DiagramMetrics.margin
    private(set) var width = DiagramMetrics.margin
    /// The left and right edges of the current stack, and its bottom.
    private var left = DiagramMetrics.margin
    private var stackRight = 0
    private var stackBottom = 0

    init(_ limit: Int) { self.limit = limit + 2 * DiagramMetrics.margin }

    mutating func place(_ width: Int, _ height: Int) -> DiagramPoint {
      let gap = DiagramMetrics.partGap
      if stackRight > 0, left + width <= max(stackRight, left), stackBottom + gap + height <= bottom {
        let corner = DiagramPoint(x: left, y: stackBottom + gap)
        return filled(corner, width, height)
      }
      if stackRight > 0 {
        left = stackRight + gap
        if left + width > limit {
          left = DiagramMetrics.margin
          top = bottom + gap
        }
      }
      stackRight = 0
      return filled(DiagramPoint(x: left, y: top), width, height)
    }

    private mutating func filled(_ corner: DiagramPoint, _ width: Int, _ height: Int) -> DiagramPoint {
      stackRight = max(stackRight, corner.x + width)
      stackBottom = corner.y + height
      bottom = max(bottom, stackBottom)
      self.width = max(self.width, stackRight)
      return corner
    }
  }
}

/// The place where a line meets a box.
struct DiagramEnd: Sendable, Hashable {
  var point: DiagramPoint
  /// Whether the line leaves the box to the right.
  var isRight: Bool
}

extension DiagramBox {
  func moved(by corner: DiagramPoint) -> DiagramBox {
    var box = self
    box.x += corner.x
    box.y += corner.y
    return box
  }
}

extension DiagramLayout.Route {
  fileprivate func moved(by corner: DiagramPoint, _ nets: [Int]) -> Self {
    func moved(_ point: DiagramPoint) -> DiagramPoint { DiagramPoint(x: point.x + corner.x, y: point.y + corner.y) }
    var route = self
    route.net = nets[net]
    route.hub.point = moved(hub.point)
    for index in others.indices { route.others[index].point = moved(others[index].point) }
    route.lines = lines.map { $0.map(moved) }
    return route
  }
}
