/// Orders the items of columns so that few nets cross, and gives them heights so that most nets are straight.
struct ColumnPlacement {
  private(set) var items: ColumnItems
  /// By item: the pairs of its own offset and another terminal, in the channel on the left, and in that on the right.
  private var leftTies: [[Tie]] = []
  private var rightTies: [[Tie]] = []

  private struct Tie {
    let own: Int
    let other: ColumnItems.Terminal
    let weight: Int
  }

  /// The channels that determine an item's height.
  private enum Side { case left, right, both }

  init(_ items: ColumnItems) {
    self.items = items
    tie()
    for column in items.columns.indices { stack(column) }
    order()
    self.items.assignSlots()
    tie()
    straighten()
  }

  private mutating func tie() {
    leftTies = Array(repeating: [], count: items.items.count)
    rightTies = leftTies
    for section in items.sections {
      for channel in section.left.indices {
        let (left, right) = (section.left[channel], section.right[channel])
        for one in left {
          for two in right {
            let areLanes = one.anchor == nil && two.anchor == nil
            let weight = areLanes ? 8 : one.anchor == nil || two.anchor == nil ? 3 : 2
            rightTies[one.item].append(Tie(own: one.offset, other: two, weight: weight))
            leftTies[two.item].append(Tie(own: two.offset, other: one, weight: weight))
          }
        }
        // Within a column.
        for terminals in [left, right] {
          for one in terminals {
            for two in terminals where two.item != one.item {
              let tie = Tie(own: one.offset, other: two, weight: 1)
              leftTies[one.item].append(tie)
              rightTies[one.item].append(tie)
            }
          }
        }
      }
    }
  }

  /// Places the items of a column without space between them.
  private mutating func stack(_ column: Int) {
    var y = 0
    var previous: ColumnItems.Item?
    for item in items.columns[column] {
      if let previous { y += ColumnItems.Item.gap(previous, items.items[item]) }
      items.items[item].y = y
      y += items.items[item].height
      previous = items.items[item]
    }
  }

  // MARK: Order

  private mutating func order() {
    var best = items
    var bestCost = cost()
    for pass in 0..<24 {
      let isForward = pass.isMultiple(of: 2)
      let columns = isForward ? Array(items.columns.indices) : items.columns.indices.reversed()
      for column in columns {
        reorder(column, pass >= 12 ? .both : isForward ? .left : .right)
        place(column)
      }
      let cost = cost()
      if cost < bestCost {
        bestCost = cost
        best = items
      }
    }
    items = best
  }

  private mutating func reorder(_ column: Int, _ side: Side) {
    let members = items.columns[column]
    var keys: [Int: Int] = [:]
    for item in members {
      let wanted = wanted(item, side)?.y ?? items.items[item].y
      keys[item] = 2 * wanted + items.items[item].height
    }
    items.columns[column] = members.enumerated().sorted { one, two in
      let (first, second) = (keys[one.element] ?? 0, keys[two.element] ?? 0)
      return first != second ? first < second : one.offset < two.offset
    }.map(\.element)
  }

  /// The height at which an item's nets are the straightest; nil without nets.
  private func wanted(_ item: Int, _ side: Side) -> (y: Int, weight: Int)? {
    var sum = 0
    var weight = 0
    func add(_ ties: [Tie]) {
      for tie in ties {
        sum += tie.weight * (items.y(tie.other) - tie.own)
        weight += tie.weight
      }
    }
    if side != .right { add(leftTies[item]) }
    if side != .left { add(rightTies[item]) }
    return weight == 0 ? nil : (sum / weight, weight)
  }

  /// The crossings of nets in the channels, and the lengths of vertical lines.
  private func cost() -> Int {
    var pairs: [Int: [(left: Int, right: Int, section: Int)]] = [:]
    var length = 0
    for (index, section) in items.sections.enumerated() {
      for (place, channel) in section.channels.enumerated() {
        for one in section.left[place] {
          for two in section.right[place] {
            let (left, right) = (items.y(one), items.y(two))
            length += abs(left - right)
            pairs[channel, default: []].append((left, right, index))
          }
        }
      }
    }
    var crossings = 0
    for channel in pairs.values {
      let sorted = channel.sorted { ($0.left, $0.right) < ($1.left, $1.right) }
      for (place, one) in sorted.enumerated() {
        for two in sorted[(place + 1)...] where two.right < one.right && two.section != one.section { crossings += 1 }
      }
    }
    return crossings * 200 + length
  }

  // MARK: Heights

  private mutating func straighten() {
    for pass in 0..<16 {
      let columns = pass.isMultiple(of: 2) ? Array(items.columns.indices) : items.columns.indices.reversed()
      for column in columns { place(column) }
    }
    let top = items.items.map(\.y).min() ?? 0
    for item in items.items.indices { items.items[item].y -= top }
  }

  /// Moves the items of a column to their wanted heights as far as their order allows: with the least sum of squared
  /// distances (isotonic regression by pooling adjacent violators).
  private mutating func place(_ column: Int) {
    let members = items.columns[column]
    // An item's height less the space that those above it need is monotone.
    var above: [Int] = []
    var pools: [(sum: Int, weight: Int, count: Int)] = []
    var space = 0
    for (place, item) in members.enumerated() {
      if place > 0 {
        let upper = items.items[members[place - 1]]
        space += upper.height + ColumnItems.Item.gap(upper, items.items[item])
      }
      above.append(space)
      let (y, weight) = wanted(item, .both) ?? (items.items[item].y, 1)
      pools.append((weight * (y - space), weight, 1))
      while pools.count > 1 {
        let (lower, upper) = (pools[pools.count - 1], pools[pools.count - 2])
        if upper.sum * lower.weight <= lower.sum * upper.weight { break }
        pools.removeLast(2)
        pools.append((upper.sum + lower.sum, upper.weight + lower.weight, upper.count + lower.count))
      }
    }
    var place = 0
    for pool in pools {
      let mean = (Double(pool.sum) / Double(pool.weight) / Double(DiagramMetrics.grid)).rounded()
      for _ in 0..<pool.count {
        items.items[members[place]].y = Int(mean) * DiagramMetrics.grid + above[place]
        place += 1
      }
    }
  }
}
