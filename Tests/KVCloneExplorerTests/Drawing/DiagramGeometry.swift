@testable import KVCloneExplorer

/// Checks a layout for what makes a diagram illegible.
struct DiagramGeometry {
  private(set) var problems: [String] = []

  private struct Segment {
    let route: Int
    let from: DiagramPoint
    let to: DiagramPoint

    var isHorizontal: Bool { from.y == to.y }
    /// The constant coordinate, and the range of the other one.
    var level: Int { isHorizontal ? from.y : from.x }
    var low: Int { isHorizontal ? min(from.x, to.x) : min(from.y, to.y) }
    var high: Int { isHorizontal ? max(from.x, to.x) : max(from.y, to.y) }
  }

  init(_ layout: DiagramLayout, _ graph: DiagramGraph) {
    checkBoxes(layout)
    let segments = layout.routes.enumerated().flatMap { index, route in
      route.lines.flatMap { line in
        zip(line, line.dropFirst()).map { Segment(route: index, from: $0, to: $1) }
      }
    }
    check(segments, layout)
    checkSharing(segments)
    checkEnds(layout, graph)
  }

  private mutating func checkBoxes(_ layout: DiagramLayout) {
    for (one, box) in layout.boxes.enumerated() {
      if box.x < 0 || box.y < 0 || box.right > layout.width || box.bottom > layout.height {
        problems.append("box \(one) is outside")
      }
      for (two, other) in layout.boxes.enumerated() where two > one {
        if box.x < other.right, other.x < box.right, box.y < other.bottom, other.y < box.bottom {
          problems.append("boxes \(one) and \(two) overlap")
        }
      }
    }
  }

  private mutating func check(_ segments: [Segment], _ layout: DiagramLayout) {
    for segment in segments {
      if segment.from.x != segment.to.x, segment.from.y != segment.to.y {
        problems.append("route \(segment.route) has a slanting line")
      }
      let (left, right) = (min(segment.from.x, segment.to.x), max(segment.from.x, segment.to.x))
      let (top, bottom) = (min(segment.from.y, segment.to.y), max(segment.from.y, segment.to.y))
      if left < 0 || top < 0 || right > layout.width || bottom > layout.height {
        problems.append("route \(segment.route) is outside")
      }
      for (index, box) in layout.boxes.enumerated() {
        if left < box.right, right > box.x, top < box.bottom, bottom > box.y {
          problems.append("route \(segment.route) crosses box \(index)")
        }
      }
    }
  }

  /// Lines of different routes may cross, and nothing else.
  private mutating func checkSharing(_ segments: [Segment]) {
    let groups = Dictionary(grouping: segments) { [$0.isHorizontal ? 1 : 0, $0.level] }
    for group in groups.values {
      for (place, one) in group.enumerated() {
        for two in group[(place + 1)...] where two.route != one.route && one.low <= two.high && two.low <= one.high {
          problems.append("routes \(one.route) and \(two.route) share a line at \(one.from)")
        }
      }
    }
  }

  /// Every net has its ends at the sides of its boxes, within its row or head.
  private mutating func checkEnds(_ layout: DiagramLayout, _ graph: DiagramGraph) {
    for (index, net) in graph.nets.enumerated() {
      let routes = layout.routes.filter { $0.net == index }
      for pin in [net.hub] + net.others {
        let box = layout.boxes[pin.node]
        let ends = routes.flatMap { [$0.hub] + $0.others }
        let isThere = ends.contains { end in
          guard end.point.x == (end.isRight ? box.right : box.x), end.point.y > box.y, end.point.y < box.bottom else {
            return false
          }
          guard case .row(let row) = pin.anchor else { return end.point.y <= box.y + box.headHeight }
          let top = box.y + box.headHeight + row * DiagramMetrics.rowHeight
          // A row without a free place uses the head.
          return end.point.y > top && end.point.y < top + DiagramMetrics.rowHeight
            || end.point.y < box.y + box.headHeight
        }
        if !isThere { problems.append("net \(index) has no end at box \(pin.node)") }
      }
      for route in routes {
        let points = Set(route.lines.joined())
        for end in [route.hub] + route.others where !points.contains(end.point) {
          problems.append("net \(index) has an end without a line")
        }
        if !net.isTree,
          route.lines.first?.first != route.hub.point || route.lines.first?.last != route.others.first?.point
        {
          problems.append("net \(index) does not lead from the hub to the other end")
        }
      }
    }
  }
}
