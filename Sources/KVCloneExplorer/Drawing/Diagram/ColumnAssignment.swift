/// Assigns the boxes of a connected graph to columns of about equal height, with short nets.
///
/// A local search: boxes move to the column, or change places with the box, that reduces the costs most. It begins with
/// the distances from a box with many nets.
struct ColumnAssignment {
  /// By node, from 0; no column is empty.
  private(set) var columns: [Int]

  private let heights: [Int]
  /// The height that a column should not exceed.
  private let limit: Int
  private let links: [[Link]]

  private struct Link {
    let node: Int
    /// Whether the other node is the hub.
    let isFromHub: Bool
    let isTree: Bool
  }

  /// - Parameter heights: of the boxes, by node.
  init(_ graph: DiagramGraph, heights: [Int]) {
    self.heights = heights
    var links = [[Link]](repeating: [], count: graph.nodes.count)
    for net in graph.nets {
      let hub = net.hub.node
      for other in net.others where other.node != hub {
        links[hub].append(Link(node: other.node, isFromHub: false, isTree: net.isTree))
        links[other.node].append(Link(node: hub, isFromHub: true, isTree: net.isTree))
      }
    }
    self.links = links
    let total = heights.reduce(0) { $0 + $1 + DiagramMetrics.boxGap }
    let pitch = (graph.nodes.map(\.width).max() ?? 0) + 140
    // For a shape of 16:10.
    let wanted = Int(Double(total * pitch * 10 / 16).squareRoot())
    limit = max(wanted, heights.max() ?? 0)
    columns = [Int](repeating: 0, count: graph.nodes.count)
    if graph.nodes.count < 2 { return }

    var best = columns
    var bestCost = Int.max
    for start in starts() {
      for isDirected in [true, false] {
        columns = distances(from: start, isDirected: isDirected)
        improve()
        let cost = totalCost()
        if cost < bestCost {
          bestCost = cost
          best = columns
        }
      }
    }
    columns = best
    compress()
  }

  /// The boxes with the most nets, and those that are hubs of the most.
  private func starts() -> [Int] {
    let byDegree = links.indices.sorted { (links[$0].count, $1) > (links[$1].count, $0) }
    func hubCount(_ node: Int) -> Int { links[node].count { !$0.isFromHub } - links[node].count { $0.isFromHub } }
    let byRole = links.indices.sorted { (hubCount($0), $1) > (hubCount($1), $0) }
    var found: [Int] = []
    for node in byDegree.prefix(2) + byRole.prefix(2) where !found.contains(node) { found.append(node) }
    return found
  }

  /// - Parameter isDirected: whether hubs are left of the other ends of their nets.
  private func distances(from start: Int, isDirected: Bool) -> [Int] {
    var result = [Int](repeating: 0, count: links.count)
    var isKnown = [Bool](repeating: false, count: links.count)
    isKnown[start] = true
    var queue = [start]
    var next = 0
    while next < queue.count {
      let node = queue[next]
      next += 1
      for link in links[node] where !isKnown[link.node] {
        isKnown[link.node] = true
        result[link.node] = result[node] + (isDirected && link.isFromHub ? -1 : 1)
        queue.append(link.node)
      }
    }
    return result
  }

  // MARK: Costs

  /// The cost of a net by the number of columns from its hub to its other end.
  private static func cost(_ distance: Int, isTree: Bool) -> Int {
    switch distance {
    case 1...: 10 + 16 * (distance - 1)
    case 0: isTree ? 60 : 14
    default: isTree ? 80 - 30 * distance : 13 + 16 * (-distance - 1)
    }
  }

  private func cost(of node: Int, in column: Int, _ other: (Int) -> Int) -> Int {
    var sum = 0
    for link in links[node] {
      let place = other(link.node)
      sum += Self.cost(link.isFromHub ? column - place : place - column, isTree: link.isTree)
    }
    return sum
  }

  private func cost(ofHeight height: Int) -> Int {
    let excess = max(0, height - limit) / 10
    return excess * excess / 8 + 2 * excess
  }

  private func columnHeights() -> [Int: Int] {
    var result: [Int: Int] = [:]
    for (node, column) in columns.enumerated() { result[column, default: 0] += heights[node] + DiagramMetrics.boxGap }
    return result
  }

  private func totalCost() -> Int {
    let nets = columns.indices.reduce(0) { $0 + cost(of: $1, in: columns[$1]) { columns[$0] } } / 2
    return columnHeights().values.reduce(nets) { $0 + cost(ofHeight: $1) }
  }

  // MARK: Search

  private mutating func improve() {
    var tall = columnHeights()
    let order = columns.indices.sorted { (links[$0].count, $1) > (links[$1].count, $0) }
    // A pass takes time for each pair of boxes.
    for _ in 0..<max(2, 256_000 / (order.count * order.count)) {
      let hasMoved = move(order, &tall)
      let hasSwapped = swap(order, &tall)
      if !hasMoved, !hasSwapped { return }
    }
  }

  private mutating func move(_ order: [Int], _ tall: inout [Int: Int]) -> Bool {
    var hasMoved = false
    for node in order {
      let (low, high) = (tall.keys.min() ?? 0, tall.keys.max() ?? 0)
      let here = columns[node]
      let size = heights[node] + DiagramMetrics.boxGap
      let rest = tall[here, default: 0] - size
      let present = cost(of: node, in: here) { columns[$0] } + cost(ofHeight: rest + size) - cost(ofHeight: rest)
      var best = (column: here, cost: present)
      for column in (low - 1)...(high + 1) where column != here {
        let other = tall[column, default: 0]
        let cost =
          cost(of: node, in: column) { columns[$0] } + cost(ofHeight: other + size) - cost(ofHeight: other)
        if cost < best.cost { best = (column, cost) }
      }
      if best.column == here { continue }
      columns[node] = best.column
      tall[here] = rest > 0 ? rest : nil
      tall[best.column, default: 0] += size
      hasMoved = true
    }
    return hasMoved
  }

  private mutating func swap(_ order: [Int], _ tall: inout [Int: Int]) -> Bool {
    var hasSwapped = false
    for (place, one) in order.enumerated() {
      for two in order[(place + 1)...] {
        let (left, right) = (columns[one], columns[two])
        if left == right { continue }
        let difference = heights[two] - heights[one]
        let (leftHeight, rightHeight) = (tall[left, default: 0], tall[right, default: 0])
        let before =
          cost(of: one, in: left) { columns[$0] } + cost(of: two, in: right) { columns[$0] }
          + cost(ofHeight: leftHeight) + cost(ofHeight: rightHeight)
        func swapped(_ node: Int) -> Int { node == one ? right : node == two ? left : columns[node] }
        let after =
          cost(of: one, in: right, swapped) + cost(of: two, in: left, swapped)
          + cost(ofHeight: leftHeight + difference) + cost(ofHeight: rightHeight - difference)
        if after >= before { continue }
        columns[one] = right
        columns[two] = left
        tall[left] = leftHeight + difference
        tall[right] = rightHeight - difference
        hasSwapped = true
      }
    }
    return hasSwapped
  }

  private mutating func compress() {
    let used = Set(columns).sorted()
    var places: [Int: Int] = [:]
    for (place, column) in used.enumerated() { places[column] = place }
    columns = columns.map { places[$0] ?? 0 }
  }
}
