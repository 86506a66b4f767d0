/// Boxes with rows, and the nets between them: the input of ``DiagramLayout``.
struct DiagramGraph: Sendable {
  /// A box: a head, and rows below it.
  struct Node: Sendable, Hashable {
    var name: String
    var width: Int
    var rowCount: Int
  }

  /// The part of a box where a net ends.
  enum Anchor: Sendable, Hashable {
    case head
    case row(Int)
  }

  /// An end of a net.
  struct Pin: Sendable, Hashable {
    var node: Int
    var anchor: Anchor
  }

  /// A line between two boxes, or a tree from one box to several.
  struct Net: Sendable, Hashable {
    /// The end that is left of the others, if possible.
    var hub: Pin
    /// One end of a line; the leaves of a tree.
    var others: [Pin]
    /// Whether the hub has to be left of the others: that of an entity and its subentities.
    var isTree = false
  }

  var nodes: [Node]
  var nets: [Net]

  /// Returns the nodes in connected parts, each in ascending order, by their first node.
  func components() -> [[Int]] {
    var leader = Array(nodes.indices)
    func find(_ node: Int) -> Int {
      var node = node
      while leader[node] != node { node = leader[node] }
      return node
    }
    for net in nets {
      for other in net.others {
        let (one, two) = (find(net.hub.node), find(other.node))
        if one != two { leader[max(one, two)] = min(one, two) }
      }
    }
    var parts: [Int: [Int]] = [:]
    for node in nodes.indices { parts[find(node), default: []].append(node) }
    return parts.sorted { $0.key < $1.key }.map(\.value)
  }

  /// Returns the part with some nodes, and the positions of its nets in this graph.
  func part(_ kept: [Int]) -> (graph: DiagramGraph, nets: [Int]) {
    var places: [Int: Int] = [:]
    for (place, node) in kept.enumerated() { places[node] = place }
    func part(_ pin: Pin) -> Pin { Pin(node: places[pin.node] ?? 0, anchor: pin.anchor) }
    let chosen = nets.indices.filter { places[nets[$0].hub.node] != nil }
    let moved = chosen.map { index in
      Net(hub: part(nets[index].hub), others: nets[index].others.map(part), isTree: nets[index].isTree)
    }
    return (DiagramGraph(nodes: kept.map { nodes[$0] }, nets: moved), chosen)
  }
}

/// Lengths of a diagram, in pixels.
enum DiagramMetrics {
  /// Boxes and lanes begin at multiples of it.
  static let grid = 10
  static let rowHeight = 20
  static let headHeight = 40
  /// The space below the last row.
  static let foot = 10
  /// Between boxes of a column.
  static let boxGap = 30
  /// Between a lane and its neighbours in a column.
  static let laneGap = 10
  /// Between the vertical lines of a channel.
  static let trackPitch = 10
  /// Between a box and the first vertical line: the space of the marks of cardinality.
  static let channelPadding = 30
  static let margin = 20
  /// Between parts that are not connected.
  static let partGap = 50
}

struct DiagramPoint: Sendable, Hashable {
  var x: Int
  var y: Int
}

struct DiagramBox: Sendable, Hashable {
  var x = 0
  var y = 0
  var width: Int
  var height: Int
  /// The height of the head, which depends on the number of nets that end there.
  var headHeight = DiagramMetrics.headHeight

  var right: Int { x + width }
  var bottom: Int { y + height }
}
