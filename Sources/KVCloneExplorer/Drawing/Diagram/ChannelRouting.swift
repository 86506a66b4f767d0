/// Gives the nets of a channel vertical lines of their own, so that lines of different nets have no segment in common.
///
/// Of a net that has an end on the left, and another that has one at the same height on the right, the first turns
/// before the second: vertical constraints. Their cycles are broken by moving an end within its row.
struct ChannelRouting {
  /// By section: the position of its vertical line from the left. Nets without one are missing: they are straight.
  private(set) var tracks: [Int: Int] = [:]
  private(set) var trackCount = 0

  private struct Net {
    let section: Int
    let left: [Int]
    let right: [Int]

    var top: Int { min(left.min() ?? .max, right.min() ?? .max) }
    var bottom: Int { max(left.max() ?? .min, right.max() ?? .min) }
    var isStraight: Bool { top == bottom }
  }

  /// Ends that are closer cannot be distinguished.
  private static let nearness = 4
  /// Movements of ends within a row or a lane, the best first.
  private static let shifts = [5, -5, 4, -4, 3, -3, 2, -2, 1, -1, 6, -6, 7, -7, 8, -8, 9, -9]

  init(channel: Int, _ items: inout ColumnItems) {
    for _ in 0..<items.sections.count {
      let nets = Self.nets(of: channel, items)
      let earlier = Self.constraints(nets)
      if let order = Self.order(nets, earlier) {
        assign(nets, order, earlier)
        return
      }
      if !Self.breakCycle(channel, nets, earlier, &items) { break }
    }
    // Ends at equal heights remain; the order then avoids as many of them as possible.
    let nets = Self.nets(of: channel, items)
    assign(nets, Array(nets.indices), Array(repeating: [], count: nets.count))
  }

  private static func nets(of channel: Int, _ items: ColumnItems) -> [Net] {
    items.sections.indices.compactMap { index in
      let section = items.sections[index]
      guard section.channels.contains(channel) else { return nil }
      let place = channel - section.channels.lowerBound
      return Net(section: index, left: section.left[place].map(items.y), right: section.right[place].map(items.y))
    }
  }

  /// By net: the nets with vertical lines that have to be left of its own.
  private static func constraints(_ nets: [Net]) -> [Set<Int>] {
    var ends: [(y: Int, net: Int)] = []
    for (index, net) in nets.enumerated() { for y in net.left { ends.append((y, index)) } }
    ends.sort { ($0.y, $0.net) < ($1.y, $1.net) }
    var earlier = [Set<Int>](repeating: [], count: nets.count)
    for (index, net) in nets.enumerated() {
      for y in net.right {
        for end in ends where end.net != index && abs(end.y - y) < nearness { earlier[index].insert(end.net) }
      }
    }
    return earlier
  }

  /// The nets from left to right, with few crossings; nil if the constraints have a cycle.
  private static func order(_ nets: [Net], _ earlier: [Set<Int>]) -> [Int]? {
    let wanted = nets.indices.sorted { key(nets[$0], $0).lexicographicallyPrecedes(key(nets[$1], $1)) }
    var done: Set<Int> = []
    var order: [Int] = []
    while order.count < nets.count {
      guard let next = wanted.first(where: { !done.contains($0) && earlier[$0].isSubset(of: done) }) else { return nil }
      done.insert(next)
      order.append(next)
    }
    return order
  }

  /// Short lines of nets that begin and end on the left come first, those of the right last. Of nets that lead down,
  /// the lower turns first; of those that lead up, the upper.
  private static func key(_ net: Net, _ index: Int) -> [Int] {
    let length = net.bottom - net.top
    if net.right.isEmpty { return [0, length, net.top, index] }
    if net.left.isEmpty { return [2, -length, net.top, index] }
    let (left, right) = (net.left[0], net.right.reduce(0, +) / net.right.count)
    return right >= left ? [1, 0, -left, -right, index] : [1, 1, left, right, index]
  }

  private static func breakCycle(
    _ channel: Int, _ nets: [Net], _ earlier: [Set<Int>], _ items: inout ColumnItems
  ) -> Bool {
    // The nets that remain after the removal of those without open constraints.
    var cyclic = Set(nets.indices)
    while let next = cyclic.sorted().first(where: { earlier[$0].isDisjoint(with: cyclic) }) { cyclic.remove(next) }
    let lefts = nets.flatMap(\.left)
    let rights = nets.flatMap(\.right)
    for index in cyclic.sorted() {
      let net = nets[index]
      for (terminal, y) in net.right.enumerated() {
        let isTied = earlier[index].contains { other in
          cyclic.contains(other) && nets[other].left.contains { abs($0 - y) < nearness }
        }
        guard isTied else { continue }
        var others = rights
        if let own = others.firstIndex(of: y) { others.remove(at: own) }
        for distance in [nearness, 1] {
          let shift = shifts.first { shift in
            !(lefts + others).contains { abs($0 - y - shift) < distance }
              && isFree(shift, channel, nets[index].section, terminal, items)
          }
          guard let shift else { continue }
          items.shift(section: net.section, channel: channel - first(net, items), terminal: terminal, by: shift)
          return true
        }
      }
    }
    return false
  }

  private static func first(_ net: Net, _ items: ColumnItems) -> Int { items.sections[net.section].channels.lowerBound }

  /// Whether an end can move: within its row, or without touching a box.
  private static func isFree(
    _ shift: Int, _ channel: Int, _ section: Int, _ terminal: Int, _ items: ColumnItems
  ) -> Bool {
    let place = channel - items.sections[section].channels.lowerBound
    let end = items.sections[section].right[place][terminal]
    let item = items.items[end.item]
    if item.node != nil {
      let offset = end.offset + shift
      return offset > 0 && offset < item.height && abs(shift) < DiagramMetrics.rowHeight / 2
    }
    let y = item.y + shift
    return !items.columns[channel + 1].contains { other in
      let other = items.items[other]
      return other.node != nil && y > other.y - 3 && y < other.y + other.height + 3
    }
  }

  private mutating func assign(_ nets: [Net], _ order: [Int], _ earlier: [Set<Int>]) {
    let gap = DiagramMetrics.trackPitch / 2
    var placed: [Int: Int] = [:]
    for (place, index) in order.enumerated() where !nets[index].isStraight {
      var track = 0
      for other in order[..<place] {
        guard let before = placed[other] else { continue }
        let overlaps = nets[other].top - gap < nets[index].bottom && nets[index].top < nets[other].bottom + gap
        if overlaps || earlier[index].contains(other) { track = max(track, before + 1) }
      }
      placed[index] = track
      tracks[nets[index].section] = track
      trackCount = max(trackCount, track + 1)
    }
  }
}
