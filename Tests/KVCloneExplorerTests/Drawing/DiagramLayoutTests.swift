import KVCloneTestSupport
import Testing

@testable import KVCloneExplorer

/// No line passes under a box, and no two lines have a segment in common.
@Suite(.bounded) struct DiagramLayoutTests {
  @Test(arguments: 1...80)
  func generatedGraphsHaveNoOverlaps(count: Int) {
    let graph = Self.graph(count, seed: UInt64(count))
    let layout = DiagramLayout(graph)
    let problems = DiagramGeometry(layout, graph).problems
    #expect(problems.isEmpty, "\(problems.prefix(5))")
    let isEqual = DiagramLayout(graph) == layout
    #expect(isEqual, "the graph has several layouts")
  }

  @Test func linesBetweenTheSameBoxesHaveTracksOfTheirOwn() {
    var graph = Self.boxes(2, rows: 12)
    for row in 0..<12 { graph.nets.append(Self.net(0, row, 1, 11 - row)) }
    let layout = DiagramLayout(graph)
    #expect(DiagramGeometry(layout, graph).problems == [])
    let tracks = layout.routes.compactMap { route in route.lines[0].count > 2 ? route.lines[0][1].x : nil }
    #expect(tracks.count == 12 && Set(tracks).count == 12)
  }

  @Test func linesFromABoxToItselfLeaveAndReturnOnOneSide() throws {
    var graph = Self.boxes(1, rows: 3)
    graph.nets = [
      Self.net(0, 0, 0, 2),
      DiagramGraph.Net(hub: .init(node: 0, anchor: .row(1)), others: [.init(node: 0, anchor: .head)]),
    ]
    let layout = DiagramLayout(graph)
    #expect(DiagramGeometry(layout, graph).problems == [])
    let route = try #require(layout.routes.first)
    #expect(route.hub.isRight && route.others[0].isRight && route.lines[0].count == 4)
  }

  @Test func headsGrowWithTheLinesThatEndThere() {
    var graph = Self.boxes(41, rows: 1)
    for leaf in 1...40 {
      graph.nets.append(
        DiagramGraph.Net(hub: .init(node: leaf, anchor: .row(0)), others: [.init(node: 0, anchor: .head)]))
    }
    let layout = DiagramLayout(graph)
    #expect(DiagramGeometry(layout, graph).problems == [])
    #expect(layout.boxes[0].headHeight > DiagramMetrics.headHeight)
    // Not one long column.
    #expect(layout.height < 2 * layout.width && layout.width < 4 * layout.height)
  }

  @Test func manyLinesToOneRowUseTheHead() {
    var graph = Self.boxes(9, rows: 1)
    for leaf in 1...8 { graph.nets.append(Self.net(leaf, 0, 0, 0)) }
    #expect(DiagramGeometry(DiagramLayout(graph), graph).problems == [])
  }

  @Test func subentitiesAreToTheRightOfTheirParents() {
    var graph = Self.boxes(13, rows: 2)
    for parent in 0..<4 {
      let children = (1...3).map { DiagramGraph.Pin(node: 3 * parent + $0, anchor: .head) }
      graph.nets.append(DiagramGraph.Net(hub: .init(node: parent, anchor: .head), others: children, isTree: true))
    }
    let layout = DiagramLayout(graph)
    #expect(DiagramGeometry(layout, graph).problems == [])
    for net in graph.nets {
      for child in net.others { #expect(layout.boxes[net.hub.node].right < layout.boxes[child.node].x) }
    }
  }

  @Test func boxesWithoutLinesFillRows() {
    let graph = Self.boxes(30, rows: 4)
    let layout = DiagramLayout(graph)
    #expect(DiagramGeometry(layout, graph).problems == [])
    #expect(Set(layout.boxes.map(\.y)).count > 2 && Set(layout.boxes.map(\.x)).count > 2)
  }

  @Test func anEmptyGraphHasAnEmptyLayout() {
    let layout = DiagramLayout(DiagramGraph(nodes: [], nets: []))
    #expect(layout.boxes.isEmpty && layout.routes.isEmpty && layout.width > 0 && layout.height > 0)
  }

  /// The geometry checks detect overlaps.
  @Test func geometryFindsOverlaps() throws {
    var graph = Self.boxes(3, rows: 1)
    graph.nets = [Self.net(0, 0, 2, 0)]
    // Nets of a row that are routed as if they were alone.
    let line = try #require(DiagramLayout(graph).routes.first)
    var twice = DiagramLayout(graph)
    twice.routes = [line, DiagramLayout.Route(net: 0, hub: line.hub, others: line.others, lines: line.lines)]
    #expect(DiagramGeometry(twice, graph).problems.contains { $0.contains("share a line") })
    twice.boxes[1].x = line.hub.point.x + 5
    twice.boxes[1].y = line.hub.point.y - 5
    #expect(DiagramGeometry(twice, graph).problems.contains { $0.contains("crosses box 1") })
    twice.boxes[1] = twice.boxes[0]
    #expect(DiagramGeometry(twice, graph).problems.contains { $0.contains("overlap") })
  }

  private static func boxes(_ count: Int, rows: Int) -> DiagramGraph {
    DiagramGraph(
      nodes: (0..<count).map { DiagramGraph.Node(name: "Box \($0)", width: 200, rowCount: rows) }, nets: [])
  }

  private static func net(_ from: Int, _ row: Int, _ to: Int, _ other: Int) -> DiagramGraph.Net {
    DiagramGraph.Net(hub: .init(node: from, anchor: .row(row)), others: [.init(node: to, anchor: .row(other))])
  }

  /// A graph with trees, lines from boxes to themselves, a box with many lines, and parts without lines.
  private static func graph(_ count: Int, seed: UInt64) -> DiagramGraph {
    var random = SeededGenerator(seed: seed)
    let nodes = (0..<count).map { index in
      DiagramGraph.Node(
        name: "Box \(index)", width: Int.random(in: 16...34, using: &random) * 10,
        rowCount: Int.random(in: 0...14, using: &random))
    }
    func pin(_ node: Int) -> DiagramGraph.Pin {
      if nodes[node].rowCount == 0 || Int.random(in: 0..<5, using: &random) == 0 {
        return .init(node: node, anchor: .head)
      }
      return .init(node: node, anchor: .row(Int.random(in: 0..<nodes[node].rowCount, using: &random)))
    }
    var graph = DiagramGraph(nodes: nodes, nets: [])
    for _ in 0..<(count * Int.random(in: 1...4, using: &random) / 2) {
      let from = Int.random(in: 0..<count, using: &random)
      var to = Int.random(in: 0..<count, using: &random)
      switch Int.random(in: 0..<10, using: &random) {
      case 0: to = from
      case 1, 2: to = 0
      default: break
      }
      let (one, two) = (pin(from), pin(to))
      if one != two { graph.nets.append(DiagramGraph.Net(hub: one, others: [two])) }
    }
    for parent in stride(from: 0, to: count, by: 8) where Bool.random(using: &random) {
      let last = min(count - 1, parent + Int.random(in: 0...6, using: &random))
      if last == parent { continue }
      let children = ((parent + 1)...last).map { DiagramGraph.Pin(node: $0, anchor: .head) }
      graph.nets.append(DiagramGraph.Net(hub: .init(node: parent, anchor: .head), others: children, isTree: true))
    }
    return graph
  }
}
