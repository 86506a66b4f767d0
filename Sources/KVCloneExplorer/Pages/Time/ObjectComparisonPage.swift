import KVClone
import KVCloneCore

/// The values of one object in two states, side by side.
struct ObjectComparisonPage: Page {
  let from: StoreState
  let to: StoreState
  let comparison: ObjectComparison

  static func answer(_ context: PageContext) throws -> Route.Reply {
    if let name = context.query["list"] { return .page(try ChangedMembersPage.read(name, context)) }
    return .page(try read(context))
  }

  /// The object of the path.
  static func object(_ context: PageContext) throws -> ObjectName {
    guard let serial = UInt64(try context.parameter("serial")) else {
      throw ExplorerError(.notFound, "the path does not end with the serial number of an object; correct it")
    }
    return ObjectName(entity: try context.parameter("entity"), serial: serial)
  }

  private static func read(_ context: PageContext) throws -> ObjectComparisonPage {
    let object = try object(context)
    let store = context.store
    let (from, to) = (
      try StoreState(store, named: context.query["from"]), try StoreState(store, named: context.query["to"])
    )
    return ObjectComparisonPage(
      from: from, to: to,
      comparison: try ObjectComparison(store, object, from: from, to: to, writesJSON: context.format == .json))
  }

  var title: String { comparison.object.text }

  var section: PageSection { .time }

  func breadcrumbs(_ context: PageContext) -> [(name: String, link: String)] {
    [
      ("Time", context.link(["time"], [("at", nil)])),
      ("Changes from \(from.title) to \(to.title)", context.link(comparing: from.name, to.name)),
    ]
  }

  func html(_ context: PageContext) -> HTML {
    let object = comparison.object
    guard let kind = comparison.kind else {
      return Components.empty(
        "The object is equal in both states.",
        Components.link("Show the object", context.link(to: object, in: to.name)))
    }
    var links: [HTML] = [kind.badge]
    if kind != .inserted {
      links.append(Components.buttonLink("Object in \(from.title)", context.link(to: object, in: from.name)))
    }
    if kind != .deleted {
      links.append(Components.buttonLink("Object in \(to.title)", context.link(to: object, in: to.name)))
    }
    links.append(
      Components.buttonLink("Swap", context.link(comparing: to.name, from.name, object: object)))
    if context.options.allowsWrites, to.name.isEmpty, from.snapshot != nil, kind != .inserted {
      links.append(
        Components.buttonLink(
          "Roll this object back…", context.link("rollback", snapshot: from.name, [], [("object", object.text)])))
    }
    if let branch = context.branchName, to.name.isEmpty, kind != .deleted {
      links.append(
        Components.buttonLink(
          "Publish this object…",
          context.link(["branches", branch, "publish"], [("object", object.text), ("at", nil)])))
    }
    var html = Components.toolbar(links)
    if comparison.properties.isEmpty { return html + Components.empty("The object has no values.") }
    html += Components.comparison(
      "Properties of \(object.text)", old: from.title, new: to.title,
      rows: comparison.properties.map { property in
        (
          name(property), side(property, property.old, property.text?.oldHTML, from, context),
          side(property, property.new, property.text?.newHTML, to, context)
        )
      })
    return html
  }

  private func name(_ property: ObjectComparison.Property) -> HTML {
    let reordered = property.isReordered ? Components.badge("reordered", "warning") : .empty
    let isMarked = property.text?.isMarked ?? true
    let hidden: HTML? =
      isMarked ? nil : Components.muted("differs after the part shown, or only in the encoding of characters")
    return "\(Components.code(property.name)) \(reordered)\(hidden)"
  }

  private func side(
    _ property: ObjectComparison.Property, _ side: ObjectComparison.Side, _ text: HTML?, _ state: StoreState,
    _ context: PageContext
  ) -> HTML? {
    let view = ComparedValue(
      object: comparison.object, property: property.name, state: state.title, items: context.items(of: state.name))
    return view.html(side, text, context) { last in
      // Removed members are those of the old state.
      context.link(
        replacing: [
          ("list", property.name), ("side", state.name == from.name ? "removed" : "added"),
          ("after", ListPosition.text(last)), ("limit", nil),
        ])
    }
  }

  func write(to json: inout JSONWriter) {
    json.nullable("from", from.name.nonEmpty)
    json.nullable("to", to.name.nonEmpty)
    json.member("object", comparison.object.text)
    json.key("difference")
    if let text = comparison.json { json.raw(text) } else { json.null() }
  }

  var table: PageTable {
    PageTable(
      columns: ["property", "old", "new"],
      rows: comparison.properties.map { [$0.name, $0.old.cell, $0.new.cell] })
  }
}

extension ObjectComparison.Side {
  /// The text in CSV; nil for nil and for an object that does not exist.
  var cell: String? {
    switch self {
    case .absent: nil
    case .value(let value): value
    case .text(let text): text
    case .bytes(let count, _): "<\(Text.bytes(count))>"
    case .members(let names, let count, _):
      (names.map(\.text) + (count > names.count ? ["… \(count) in all"] : [])).joined(separator: " ")
    }
  }
}
