/// The boxes and lanes of the columns of a connected graph, and the nets of the channels between them.
struct ColumnItems {
  /// A box, or the lane in which a net passes a column. A lane has no height: it is a line.
  struct Item {
    var column: Int
    /// Nil for a lane.
    var node: Int?
    var height: Int
    var y = 0

    /// The least distance between the bottom of an item and the top of the next.
    static func gap(_ upper: Item, _ lower: Item) -> Int {
      upper.node != nil && lower.node != nil ? DiagramMetrics.boxGap : DiagramMetrics.laneGap
    }
  }

  /// The point where a net enters a channel, at an item's side.
  struct Terminal {
    var item: Int
    /// Below the item's top.
    var offset: Int
    var anchor: DiagramGraph.Anchor?
  }

  /// A net, or the part of a tree that leads to one side of its hub. Channel `c` is to the right of column `c`; the one
  /// left of all columns is −1.
  struct Section {
    var net: Int
    var channels: ClosedRange<Int>
    /// By channel, from the first.
    var left: [[Terminal]] = []
    var right: [[Terminal]] = []
  }

  private(set) var sections: [Section] = []
  var items: [Item] = []
  /// The items of each column, from the top.
  var columns: [[Int]]
  /// The heights of the boxes' heads.
  private(set) var headHeights: [Int]

  private let graph: DiagramGraph

  init(_ graph: DiagramGraph, _ assignment: [Int]) {
    self.graph = graph
    headHeights = [Int](repeating: DiagramMetrics.headHeight, count: graph.nodes.count)
    let count = (assignment.max() ?? 0) + 1
    columns = [[Int]](repeating: [], count: count)
    for (node, column) in assignment.enumerated() {
      columns[column].append(items.count)
      items.append(Item(column: column, node: node, height: 0))
    }
    for (index, net) in graph.nets.enumerated() { add(net, index, assignment, lastColumn: count - 1) }
    assignSlots()
  }

  private mutating func add(_ net: DiagramGraph.Net, _ index: Int, _ assignment: [Int], lastColumn: Int) {
    let home = assignment[net.hub.node]
    let before = net.others.filter { assignment[$0.node] < home }
    let beside = net.others.filter { assignment[$0.node] == home }
    let after = net.others.filter { assignment[$0.node] > home }
    // Those in the same column are reached with the others, or on the inner side.
    let isRight = !after.isEmpty || before.isEmpty && (home < lastColumn || lastColumn == 0)
    if isRight { addSection(index, [net.hub] + beside, after, first: home, assignment) }
    if !before.isEmpty || !isRight {
      let first = before.map { assignment[$0.node] }.min() ?? home - 1
      addSection(index, before, [net.hub] + (isRight ? [] : beside), first: min(first, home - 1), assignment)
    }
  }

  /// - Parameters:
  ///   - left: pins that leave their boxes to the right.
  ///   - right: pins that leave their boxes to the left.
  private mutating func addSection(
    _ net: Int, _ left: [DiagramGraph.Pin], _ right: [DiagramGraph.Pin], first: Int, _ assignment: [Int]
  ) {
    let last = max(right.map { assignment[$0.node] - 1 }.max() ?? first, first)
    var section = Section(net: net, channels: first...last)
    var lane: Int?
    for channel in first...last {
      var starts = left.filter { assignment[$0.node] == channel }.map(terminal)
      if let lane { starts.append(Terminal(item: lane, offset: 0)) }
      var ends = right.filter { assignment[$0.node] == channel + 1 }.map(terminal)
      if channel < last {
        lane = items.count
        columns[channel + 1].append(items.count)
        items.append(Item(column: channel + 1, node: nil, height: 0))
        ends.append(Terminal(item: items.count - 1, offset: 0))
      }
      section.left.append(starts)
      section.right.append(ends)
    }
    sections.append(section)
  }

  private func terminal(_ pin: DiagramGraph.Pin) -> Terminal { Terminal(item: pin.node, offset: 0, anchor: pin.anchor) }

  // MARK: Ends at boxes

  /// A terminal by its position in ``sections``.
  private struct Place {
    let section: Int
    let channel: Int
    let terminal: Int
    let isLeft: Bool
  }

  /// The offsets of the first ends at a row, below its top.
  private static let rowSlots = [10, 15, 5]

  /// Gives every end at a box its own position: in its row, or in the head, which grows as necessary.
  ///
  /// Ends at a head have the order of their other ends.
  mutating func assignSlots() {
    var atRow: [[Int]: [Place]] = [:]
    var atHead: [[Int]: [Place]] = [:]
    for section in sections.indices {
      for channel in sections[section].left.indices {
        for isLeft in [true, false] {
          let terminals = isLeft ? sections[section].left[channel] : sections[section].right[channel]
          for (index, terminal) in terminals.enumerated() {
            let place = Place(section: section, channel: channel, terminal: index, isLeft: isLeft)
            let side = isLeft ? 1 : 0
            switch terminal.anchor {
            case .row(let row): atRow[[terminal.item, side, row], default: []].append(place)
            case .head: atHead[[terminal.item, side], default: []].append(place)
            case nil: break
            }
          }
        }
      }
    }
    // Those that a row has no place for.
    for key in atRow.keys.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
      let places = atRow[key] ?? []
      if places.count > Self.rowSlots.count {
        atHead[[key[0], key[1]], default: []] += places[Self.rowSlots.count...]
      }
    }
    for item in items.indices {
      guard let node = items[item].node else { continue }
      let count = max(atHead[[item, 0]]?.count ?? 0, atHead[[item, 1]]?.count ?? 0)
      headHeights[node] = max(DiagramMetrics.headHeight, 10 * (count + 1))
      items[item].height =
        headHeights[node] + graph.nodes[node].rowCount * DiagramMetrics.rowHeight + DiagramMetrics.foot
      if graph.nodes[node].rowCount == 0 { items[item].height = headHeights[node] }
    }
    func sorted(_ groups: [[Int]: [Place]]) -> [([Int], [Place])] {
      groups.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map { ($0.key, $0.value) }
    }
    for (key, places) in sorted(atRow) {
      let top = headHeights[items[key[0]].node ?? 0] + key[2] * DiagramMetrics.rowHeight
      for (slot, place) in zip(Self.rowSlots, places) { setOffset(top + slot, place) }
    }
    for (key, places) in sorted(atHead) {
      let ordered = places.enumerated().sorted { one, two in
        let (first, second) = (farY(one.element), farY(two.element))
        return first != second ? first < second : one.offset < two.offset
      }
      // Around the middle of the head.
      let start = (headHeights[items[key[0]].node ?? 0] / 20 - places.count / 2) * 10
      for (index, place) in ordered.enumerated() { setOffset(max(10, start) + 10 * index, place.element) }
    }
  }

  private mutating func setOffset(_ offset: Int, _ place: Place) {
    if place.isLeft {
      sections[place.section].left[place.channel][place.terminal].offset = offset
    } else {
      sections[place.section].right[place.channel][place.terminal].offset = offset
    }
  }

  /// The mean height of the other ends in the channel.
  private func farY(_ place: Place) -> Int {
    let section = sections[place.section]
    var sum = 0
    var count = 0
    for isLeft in [true, false] {
      for (index, terminal) in (isLeft ? section.left : section.right)[place.channel].enumerated()
      where isLeft != place.isLeft || index != place.terminal {
        sum += y(terminal)
        count += 1
      }
    }
    return count == 0 ? 0 : sum / count
  }

  func y(_ terminal: Terminal) -> Int { items[terminal.item].y + terminal.offset }

  /// Moves the right end of a section in a channel; a lane, or the end at a row.
  mutating func shift(section: Int, channel: Int, terminal: Int, by distance: Int) {
    let place = sections[section].right[channel][terminal]
    if items[place.item].node == nil {
      items[place.item].y += distance
    } else {
      sections[section].right[channel][terminal].offset += distance
    }
  }
}
