import Foundation
import KVClone
import KVCloneExplorer
import KVCloneOperations

/// All bytes of a store as a treemap: a rectangle for each area, those of one kind next to each other and of one
/// colour.
///
/// Without scripts: a rectangle's label is inside if it fits, and in its title, which viewers show under the pointer.
/// Equal statistics give equal text.
struct StatSVG {
  private static let width = 960.0
  private static let mapTop = 44.0
  private static let mapHeight = 540.0
  private static let legendRow = 20.0
  private static let legendColumns = 4
  /// Smaller parts of the whole are combined.
  private static let smallest = 1.0 / 20_000

  private struct Tile {
    var name: String
    var count: UInt64
    var byteCount: UInt64
  }

  private let statistics: DeepStatistics
  private let total: UInt64

  init(_ statistics: DeepStatistics) {
    self.statistics = statistics
    total = statistics.total
  }

  /// The document.
  var text: String {
    let groups = statistics.sums.filter { $0.sum.byteCount > 0 }.sorted {
      ($1.sum.byteCount, $0.kind.rawValue) < ($0.sum.byteCount, $1.kind.rawValue)
    }
    let rows = (groups.count + Self.legendColumns - 1) / Self.legendColumns
    let height = Self.mapTop + Self.mapHeight + 16 + Double(rows) * Self.legendRow
    let size = "\(Int(Self.width)) \(Int(height))"
    var svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"\(Int(Self.width))\" height=\"\(Int(height))\" "
    svg += "viewBox=\"0 0 \(size)\" font-family=\"sans-serif\" font-size=\"12\">\n"
    svg += "<title>Space usage</title>\n" + Self.style
    svg += "<rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n"
    svg += "<text class=\"ink\" x=\"8\" y=\"20\" font-size=\"15\" font-weight=\"bold\">\(heading)</text>\n"
    svg += "<text class=\"ink\" x=\"8\" y=\"37\">\(subheading)</text>\n"
    let area = Treemap.Rectangle(
      left: 0, top: Self.mapTop, right: Self.width, bottom: Self.mapTop + Self.mapHeight)
    let places = Treemap.layout(groups.map { Double($0.sum.byteCount) }, in: area)
    for (group, place) in zip(groups, places) { svg += tiles(of: group.kind, in: place) }
    for (index, group) in groups.enumerated() { svg += legend(index, group.kind, group.sum.byteCount) }
    return svg + "</svg>\n"
  }

  private var heading: String {
    Text.xml(
      "\(Text.binary(total)) in \(statistics.summary.pageCount) pages, \(statistics.summary.objectCount) objects")
  }

  private var subheading: String {
    Text.xml("store \(statistics.summary.uuid.uuidString), commit \(statistics.summary.commit)")
  }

  private func tiles(of kind: SpaceUsage.Kind, in place: Treemap.Rectangle) -> String {
    var tiles: [Tile] = []
    var others = Tile(name: "", count: 0, byteCount: 0)
    var otherCount = 0
    for area in statistics.spaceUsage where area.kind == kind && area.byteCount > 0 {
      if Double(area.byteCount) < Double(total) * Self.smallest {
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
    var svg = "<g class=\"\(kind.rawValue)\">\n"
    for (tile, place) in zip(tiles, places) { svg += drawing(of: tile, kind, place) }
    return svg + "</g>\n"
  }

  private func drawing(of tile: Tile, _ kind: SpaceUsage.Kind, _ place: Treemap.Rectangle) -> String {
    // Rounds edges instead of widths, so that neighbours still share them.
    let (left, top) = (Self.rounded(place.left), Self.rounded(place.top))
    let (right, bottom) = (Self.rounded(place.right), Self.rounded(place.bottom))
    let sizes = "\(Text.binary(tile.byteCount)), \(Text.share(tile.byteCount, total))"
    let title = "\(kind.title): \(tile.name)\n\(sizes), count \(tile.count)"
    var svg = "<g><title>\(Text.xml(title))</title>"
    svg += "<rect x=\"\(Self.text(left))\" y=\"\(Self.text(top))\" "
    svg += "width=\"\(Self.text(right - left))\" height=\"\(Self.text(bottom - top))\"/>"
    let room = Int((Double(right - left) / 100 - 8) / 7.6)
    let height = Double(bottom - top) / 100
    if height >= 18, let name = Self.fitting(tile.name, kind.title, room) {
      svg += label(name, Double(left) / 100 + 4, Double(top) / 100 + 14, " font-weight=\"bold\"")
      let bytes = Text.binary(tile.byteCount)
      if height >= 34, bytes.count <= room { svg += label(bytes, Double(left) / 100 + 4, Double(top) / 100 + 29, "") }
    }
    return svg + "</g>\n"
  }

  /// The name, shortened to fit; nil if the rest would be meaningless.
  private static func fitting(_ name: String, _ kind: String, _ room: Int) -> String? {
    let full = "\(kind): \(name)"
    if full.count <= room { return full }
    if name.count <= room { return name }
    return room >= 5 ? Text.cut(name, room) : nil
  }

  private func label(_ text: String, _ x: Double, _ y: Double, _ style: String) -> String {
    "<text x=\"\(String(format: "%.2f", x))\" y=\"\(String(format: "%.2f", y))\"\(style)>\(Text.xml(text))</text>"
  }

  private func legend(_ index: Int, _ kind: SpaceUsage.Kind, _ byteCount: UInt64) -> String {
    let x = 8 + Double(index % Self.legendColumns) * (Self.width - 8) / Double(Self.legendColumns)
    let y = Self.mapTop + Self.mapHeight + 10 + Double(index / Self.legendColumns) * Self.legendRow
    let text = "\(kind.title): \(Text.binary(byteCount)), \(Text.share(byteCount, total))"
    return "<g class=\"key \(kind.rawValue)\"><circle cx=\"\(Int(x) + 6)\" cy=\"\(Int(y) + 6)\" r=\"6\"/>"
      + "<text class=\"ink\" x=\"\(Int(x) + 18)\" y=\"\(Int(y) + 11)\">\(Text.xml(text))</text></g>\n"
  }

  // MARK: Text

  /// To hundredths.
  private static func rounded(_ value: Double) -> Int { Int((value * 100).rounded()) }

  private static func text(_ hundredths: Int) -> String {
    String(format: "%d.%02d", hundredths / 100, hundredths % 100)
  }

  /// Light fills under dark text, and the reverse in dark mode.
  private static var style: String {
    var light = ""
    var dark = ""
    for (kind, colors) in colors {
      light += ".\(kind.rawValue){fill:\(colors.light)}"
      dark += ".\(kind.rawValue){fill:\(colors.dark)}"
    }
    return """
      <style>
      .ground{fill:#ffffff}text,.ink{fill:#1a1a1a;stroke:none}rect{stroke:#ffffff;stroke-width:1}.ground{stroke:none}
      \(light)
      @media (prefers-color-scheme: dark){
      .ground{fill:#161616}text,.ink{fill:#f0f0f0}rect{stroke:#161616}
      \(dark)
      }
      </style>

      """
  }

  private static let colors: KeyValuePairs<SpaceUsage.Kind, (light: String, dark: String)> = [
    .objects: ("#a6cbe8", "#1f5582"), .lists: ("#b7ddd2", "#1e6b57"), .blobs: ("#f3c99a", "#8a5416"),
    .indexes: ("#cfbfe6", "#573d85"), .history: ("#e9b9c4", "#86364b"), .preimages: ("#eadf9f", "#75671a"),
    .snapshots: ("#d8d08c", "#5f5510"), .provenance: ("#dfb6dc", "#74346f"), .metadata: ("#bfd3a6", "#4a6a22"),
    .overhead: ("#c9ced6", "#4a515c"), .unused: ("#e1e4e8", "#343a42"), .free: ("#f1f1ef", "#26282b"),
    .unknown: ("#ec9a8f", "#8f2a1c"),
  ]
}
