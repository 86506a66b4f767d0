import KVClone
package import KVCloneOperations

/// All bytes of a store as a treemap: a rectangle for each area, those of one kind next to each other.
///
/// Equal statistics give equal rectangles.
package struct StorageTreemap: Sendable {
  /// The areas of one kind.
  package struct Group: Sendable {
    package let kind: SpaceUsage.Kind
    package let byteCount: UInt64
    /// From the largest to the smallest.
    package let tiles: [Tile]
  }

  /// An area, or several small ones.
  package struct Tile: Sendable {
    package fileprivate(set) var name: String
    /// The number of entries or pages.
    package fileprivate(set) var count: UInt64
    package fileprivate(set) var byteCount: UInt64
    /// With edges in hundredths.
    package fileprivate(set) var place = Treemap.Rectangle(left: 0, top: 0, right: 0, bottom: 0)
    /// The lines inside the rectangle that fit: the name, then the bytes.
    package fileprivate(set) var label: [String] = []
  }

  /// From the largest to the smallest, none empty.
  package let groups: [Group]
  /// The bytes of all pages.
  package let total: UInt64

  /// Smaller parts of the whole are combined.
  private static let smallest = 1.0 / 20_000

  private let text: @Sendable (UInt64) -> String

  /// - Parameter text: the format of sizes.
  package init(
    _ statistics: DeepStatistics, in area: Treemap.Rectangle, _ text: @escaping @Sendable (UInt64) -> String
  ) {
    let total = statistics.total
    let sums = statistics.sums.filter { $0.sum.byteCount > 0 }.sorted {
      ($1.sum.byteCount, $0.kind.rawValue) < ($0.sum.byteCount, $1.kind.rawValue)
    }
    let places = Treemap.layout(sums.map { Double($0.sum.byteCount) }, in: area)
    self.total = total
    self.text = text
    groups = zip(sums, places).map { sum, place in
      Group(
        kind: sum.kind, byteCount: sum.sum.byteCount,
        tiles: Self.tiles(of: sum.kind, statistics.spaceUsage, total: total, in: place, text))
    }
  }

  private static func tiles(
    of kind: SpaceUsage.Kind, _ areas: [SpaceUsage], total: UInt64, in place: Treemap.Rectangle,
    _ text: (UInt64) -> String
  ) -> [Tile] {
    var tiles: [Tile] = []
    var others = Tile(name: "", count: 0, byteCount: 0)
    var otherCount = 0
    for area in areas where area.kind == kind && area.byteCount > 0 {
      if Double(area.byteCount) < Double(total) * smallest {
        otherCount += 1
        others.count += area.count
        others.byteCount += area.byteCount
        if otherCount == 1 { others.name = area.name } else { others.name = "\(otherCount) small areas" }
      } else {
        tiles.append(Tile(name: area.name, count: area.count, byteCount: area.byteCount))
      }
    }
    if otherCount > 0 { tiles.append(others) }
    tiles.sort { ($1.byteCount, $0.name) < ($0.byteCount, $1.name) }
    let places = Treemap.layout(tiles.map { Double($0.byteCount) }, in: place)
    for (index, place) in places.enumerated() { tiles[index].put(in: place, kind, text) }
    return tiles
  }

  /// The description of a tile, in two lines.
  package func title(of tile: Tile, _ kind: SpaceUsage.Kind) -> String {
    let sizes = "\(text(tile.byteCount)), \(Text.share(tile.byteCount, total))"
    return "\(kind.title): \(tile.name)\n\(sizes), count \(tile.count)"
  }

  /// The description of a group.
  package func legend(of group: Group) -> String {
    "\(group.kind.title): \(text(group.byteCount)), \(Text.share(group.byteCount, total))"
  }
}

extension StorageTreemap.Tile {
  /// The width of a character, and of the margins of a line.
  private static let (characterWidth, margins) = (7.6, 8.0)

  fileprivate mutating func put(
    in area: Treemap.Rectangle, _ kind: SpaceUsage.Kind, _ text: (UInt64) -> String
  ) {
    // Rounds edges instead of widths, so that neighbours still share them.
    let edges = [area.left, area.top, area.right, area.bottom].map { Int(($0 * 100).rounded()) }
    let places = edges.map { Double($0) / 100 }
    place = Treemap.Rectangle(left: places[0], top: places[1], right: places[2], bottom: places[3])
    let (width, height) = (Double(edges[2] - edges[0]) / 100, Double(edges[3] - edges[1]) / 100)
    let room = Int((width - Self.margins) / Self.characterWidth)
    guard height >= 18, let name = Self.fitting(name, kind.title, room) else { return }
    label = [name]
    let bytes = text(byteCount)
    if height >= 34, bytes.count <= room { label.append(bytes) }
  }

  /// The name, shortened to fit; nil if the rest would be meaningless.
  private static func fitting(_ name: String, _ kind: String, _ room: Int) -> String? {
    let full = "\(kind): \(name)"
    if full.count <= room { return full }
    if name.count <= room { return name }
    return room >= 5 ? Text.cut(name, room) : nil
  }
}
