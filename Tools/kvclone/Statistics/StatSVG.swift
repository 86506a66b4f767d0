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

  private let statistics: DeepStatistics
  private let map: StorageTreemap

  init(_ statistics: DeepStatistics) {
    self.statistics = statistics
    map = StorageTreemap(
      statistics,
      in: Treemap.Rectangle(left: 0, top: Self.mapTop, right: Self.width, bottom: Self.mapTop + Self.mapHeight),
      Text.binary)
  }

  /// The document.
  var text: String {
    let rows = (map.groups.count + Self.legendColumns - 1) / Self.legendColumns
    let height = Self.mapTop + Self.mapHeight + 16 + Double(rows) * Self.legendRow
    let size = "\(Int(Self.width)) \(Int(height))"
    var svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"\(Int(Self.width))\" height=\"\(Int(height))\" "
    svg += "viewBox=\"0 0 \(size)\" font-family=\"sans-serif\" font-size=\"12\">\n"
    svg += "<title>Space usage</title>\n" + Self.style
    svg += "<rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n"
    svg += "<text class=\"ink\" x=\"8\" y=\"20\" font-size=\"15\" font-weight=\"bold\">\(heading)</text>\n"
    svg += "<text class=\"ink\" x=\"8\" y=\"37\">\(subheading)</text>\n"
    for group in map.groups {
      svg += "<g class=\"\(group.kind.rawValue)\">\n"
      for tile in group.tiles { svg += drawing(of: tile, group.kind) }
      svg += "</g>\n"
    }
    for (index, group) in map.groups.enumerated() { svg += legend(index, group) }
    return svg + "</svg>\n"
  }

  private var heading: String {
    Text.xml(
      "\(Text.binary(map.total)) in \(statistics.summary.pageCount) pages, \(statistics.summary.objectCount) objects")
  }

  private var subheading: String {
    Text.xml("store \(statistics.summary.uuid.uuidString), commit \(statistics.summary.commit)")
  }

  private func drawing(of tile: StorageTreemap.Tile, _ kind: SpaceUsage.Kind) -> String {
    // Edges in hundredths, so that neighbours still share them.
    let (left, top) = (Self.hundredths(tile.place.left), Self.hundredths(tile.place.top))
    let (right, bottom) = (Self.hundredths(tile.place.right), Self.hundredths(tile.place.bottom))
    var svg = "<g><title>\(Text.xml(map.title(of: tile, kind)))</title>"
    svg += "<rect x=\"\(Self.text(left))\" y=\"\(Self.text(top))\" "
    svg += "width=\"\(Self.text(right - left))\" height=\"\(Self.text(bottom - top))\"/>"
    for (line, text) in tile.label.enumerated() {
      svg += label(
        text, Double(left) / 100 + 4, Double(top) / 100 + 14 + 15 * Double(line),
        line == 0 ? " font-weight=\"bold\"" : "")
    }
    return svg + "</g>\n"
  }

  private func label(_ text: String, _ x: Double, _ y: Double, _ style: String) -> String {
    "<text x=\"\(String(format: "%.2f", x))\" y=\"\(String(format: "%.2f", y))\"\(style)>\(Text.xml(text))</text>"
  }

  private func legend(_ index: Int, _ group: StorageTreemap.Group) -> String {
    let x = 8 + Double(index % Self.legendColumns) * (Self.width - 8) / Double(Self.legendColumns)
    let y = Self.mapTop + Self.mapHeight + 10 + Double(index / Self.legendColumns) * Self.legendRow
    return "<g class=\"key \(group.kind.rawValue)\"><circle cx=\"\(Int(x) + 6)\" cy=\"\(Int(y) + 6)\" r=\"6\"/>"
      + "<text class=\"ink\" x=\"\(Int(x) + 18)\" y=\"\(Int(y) + 11)\">\(Text.xml(map.legend(of: group)))</text></g>\n"
  }

  // MARK: Text

  private static func hundredths(_ value: Double) -> Int { Int((value * 100).rounded()) }

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
