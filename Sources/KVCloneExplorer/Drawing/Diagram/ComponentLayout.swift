/// The layout of a connected graph, with its upper left corner at the origin.
struct ComponentLayout {
  /// By node.
  private(set) var boxes: [DiagramBox] = []
  /// The nets' positions are those of this graph.
  private(set) var routes: [DiagramLayout.Route] = []
  private(set) var width = 0
  private(set) var height = 0

  init(_ graph: DiagramGraph) {
    let heights = graph.nodes.map {
      DiagramMetrics.headHeight + $0.rowCount * DiagramMetrics.rowHeight + DiagramMetrics.foot
    }
    let assignment = ColumnAssignment(graph, heights: heights).columns
    var items = ColumnPlacement(ColumnItems(graph, assignment)).items
    let columnCount = items.columns.count
    var tracks: [ChannelRouting] = []
    for channel in 0..<columnCount { tracks.append(ChannelRouting(channel: channel, &items)) }

    var edges: [(left: Int, right: Int)] = []
    var x = 0
    for column in 0..<columnCount {
      let widths = items.columns[column].compactMap { items.items[$0].node.map { graph.nodes[$0].width } }
      let width = widths.max() ?? 0
      edges.append((x, x + width))
      x += width
      let isUsed = column < columnCount - 1 || tracks[column].trackCount > 0
      if isUsed {
        x += 2 * DiagramMetrics.channelPadding + max(0, tracks[column].trackCount - 1) * DiagramMetrics.trackPitch
      }
    }
    boxes = graph.nodes.indices.map { node in
      let item = items.items[node]
      let (left, right) = edges[item.column]
      return DiagramBox(
        x: left, y: item.y, width: right - left, height: item.height, headHeight: items.headHeights[node])
    }
    for index in items.sections.indices {
      routes.append(Self.route(index, items, tracks, edges, graph))
    }
    width = x
    let lines = routes.flatMap { $0.lines.joined().map(\.y) }
    height = max(boxes.map(\.bottom).max() ?? 0, lines.max() ?? 0)
    let top = min(0, lines.min() ?? 0)
    if top < 0 { moveDown(by: -top) }
  }

  private mutating func moveDown(by distance: Int) {
    height += distance
    for box in boxes.indices { boxes[box].y += distance }
    for route in routes.indices {
      routes[route].hub.point.y += distance
      for end in routes[route].others.indices { routes[route].others[end].point.y += distance }
      for line in routes[route].lines.indices {
        for point in routes[route].lines[line].indices { routes[route].lines[line][point].y += distance }
      }
    }
  }

  // MARK: Lines

  private static func route(
    _ index: Int, _ items: ColumnItems, _ tracks: [ChannelRouting], _ edges: [(left: Int, right: Int)],
    _ graph: DiagramGraph
  ) -> DiagramLayout.Route {
    let section = items.sections[index]
    let net = graph.nets[section.net]
    var ends: [(terminal: ColumnItems.Terminal, end: DiagramEnd)] = []
    var stubs: [[DiagramPoint]] = []
    /// The points of a net with two ends, from the left one.
    var line: [DiagramPoint] = []
    for (place, channel) in section.channels.enumerated() {
      let (left, right) = (section.left[place], section.right[place])
      let x0 = edges[channel].right
      let x1 = channel + 1 < edges.count ? edges[channel + 1].left : x0
      let track = tracks[channel].tracks[index].map {
        x0 + DiagramMetrics.channelPadding + $0 * DiagramMetrics.trackPitch
      }
      for (terminals, x, isRight) in [(left, x0, true), (right, x1, false)] {
        for terminal in terminals {
          let point = DiagramPoint(x: x, y: items.y(terminal))
          if terminal.anchor != nil { ends.append((terminal, DiagramEnd(point: point, isRight: isRight))) }
          if let track {
            stubs.append([point, DiagramPoint(x: track, y: point.y)])
            let turn = DiagramPoint(x: track, y: point.y)
            // The second end in the channel is reached from the track.
            line += line.last?.x == track ? [turn, point] : [point, turn]
          } else {
            line.append(point)
            if isRight, let end = right.first { stubs.append([point, DiagramPoint(x: x1, y: items.y(end))]) }
          }
          if !isRight, terminal.anchor == nil {
            stubs.append([point, DiagramPoint(x: edges[channel + 1].right, y: point.y)])
          }
        }
      }
      if let track {
        let heights = (left + right).map(items.y)
        stubs.append([
          DiagramPoint(x: track, y: heights.min() ?? 0), DiagramPoint(x: track, y: heights.max() ?? 0),
        ])
      }
    }
    // A self-relation has both ends at the same box.
    let hubIndex =
      ends.firstIndex { $0.terminal.item == net.hub.node && $0.terminal.anchor == net.hub.anchor } ?? 0
    let hub = ends[hubIndex].end
    var others = ends.map(\.end)
    others.remove(at: hubIndex)
    if net.isTree {
      return DiagramLayout.Route(net: section.net, hub: hub, others: others, lines: stubs)
    }
    if line.first != hub.point { line.reverse() }
    return DiagramLayout.Route(net: section.net, hub: hub, others: others, lines: [simplified(line)])
  }

  /// A line without repeated points, and without those in the middle of a segment.
  private static func simplified(_ line: [DiagramPoint]) -> [DiagramPoint] {
    var result: [DiagramPoint] = []
    for point in line where point != result.last {
      if result.count > 1 {
        let (one, two) = (result[result.count - 2], result[result.count - 1])
        if one.x == two.x && two.x == point.x || one.y == two.y && two.y == point.y { result.removeLast() }
      }
      result.append(point)
    }
    return result
  }
}
