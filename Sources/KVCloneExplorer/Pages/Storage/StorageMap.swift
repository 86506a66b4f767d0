import KVClone
import KVCloneOperations

/// The treemap of all bytes, for pages. Tiles of entities and their properties are links to the objects.
enum StorageMap {
  private static let (width, height) = (960.0, 400.0)

  static func html(_ statistics: DeepStatistics, _ context: PageContext) -> HTML {
    let map = StorageTreemap(
      statistics, in: Treemap.Rectangle(left: 0, top: 0, right: Self.width, bottom: Self.height), Text.bytes)
    var svg: HTML = "<svg viewBox=\"0 0 \(Self.width) \(Self.height)\" role=\"group\" aria-label=\"\(label(map))\">"
    for group in map.groups {
      svg += "<g>"
      for tile in group.tiles { svg += drawing(tile, group.kind, map, target(tile, group.kind, context)) }
      svg += "</g>"
    }
    svg += "</svg>"
    let legend = map.groups.map { (title: map.legend(of: $0), kind: series($0.kind)) }
    return Components.drawing("All bytes of the file at commit \(statistics.summary.commit), by purpose.", svg)
      + Components.legend(legend)
  }

  /// The content of the drawing in words.
  private static func label(_ map: StorageTreemap) -> String {
    "Space usage: " + map.groups.map { map.legend(of: $0) }.joined(separator: "; ")
  }

  /// The page about the content of a tile; nil for content that no page shows.
  private static func target(
    _ tile: StorageTreemap.Tile, _ kind: SpaceUsage.Kind, _ context: PageContext
  ) -> String? {
    let entity: String?
    switch kind {
    case .objects: entity = context.store.model.entity(named: tile.name)?.name
    case .lists, .blobs, .indexes:
      let owners = context.store.model.entities.map(\.name).filter { tile.name.hasPrefix("\($0).") }
      entity = owners.max { $0.utf8.count < $1.utf8.count }
    case .history, .preimages, .snapshots: return context.link(["time"], [("at", nil)])
    default: return nil
    }
    return entity.map { context.link(["entities", $0], [("at", nil)]) }
  }

  private static func drawing(
    _ tile: StorageTreemap.Tile, _ kind: SpaceUsage.Kind, _ map: StorageTreemap, _ target: String?
  ) -> HTML {
    let place = tile.place
    let start: HTML = target.map { "<a href=\"\($0)\">" } ?? "<g>"
    var svg: HTML = """
      \(start)<title>\(map.title(of: tile, kind).split(separator: "\n").joined(separator: ", "))</title>\
      <rect class="cell \(series(kind))" x="\(place.left)" y="\(place.top)" width="\(place.width)" \
      height="\(place.height)"/>
      """
    for (line, text) in tile.label.enumerated() {
      svg += """
        <text class="\(line == 0 ? "strong" : "small")" x="\(place.left + 4)" \
        y="\(place.top + 14 + 15 * Double(line))">\(text)</text>
        """
    }
    return svg + (target == nil ? "</g>" : "</a>")
  }

  /// The class of the colour of a kind.
  static func series(_ kind: SpaceUsage.Kind) -> String {
    switch kind {
    case .objects: "series-1"
    case .lists: "series-2"
    case .blobs: "series-3"
    case .indexes: "series-4"
    case .history, .preimages, .snapshots, .provenance: "series-5"
    case .metadata: "series-6"
    case .unknown: "bad"
    default: "skip"
    }
  }
}
