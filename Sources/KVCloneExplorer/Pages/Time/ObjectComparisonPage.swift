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
    if context.options.allowsWrites, to.snapshot == nil, let earlier = from.snapshot, kind != .inserted {
      links.append(
        Components.buttonLink(
          "Roll this object back…", context.link("rollback", snapshot: earlier.name, [], [("object", object.text)])))
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
    switch side {
    case .absent: nil
    case .value(let value): value.map { Components.code(Excerpt.beginning(of: $0, 2000)) } ?? Components.missing
    case .text(let value): text ?? "<div class=\"text\">\(TextDifference.lines(of: value))</div>"
    case .bytes(let count, let isImage): bytes(property.name, count, isImage: isImage, state, context)
    case .members(let names, let count, let last): members(names, count, last, property, state, context)
    }
  }

  private func bytes(
    _ attribute: String, _ count: UInt64, isImage: Bool, _ state: StoreState, _ context: PageContext
  ) -> HTML {
    let target = context.link(
      ["objects"] + comparison.object.segments + ["blob", attribute], [("at", state.name.nonEmpty)])
    if !isImage { return "<a href=\"\(target)\">\(Components.bytes(count))</a>" }
    let image = Components.image(
      target, alternative: "\(attribute) of \(comparison.object.text) in \(state.title)", target: target)
    return "\(image) \(Components.bytes(count))"
  }

  private func members(
    _ names: [ObjectName], _ count: Int, _ last: ObjectID?, _ property: ObjectComparison.Property, _ state: StoreState,
    _ context: PageContext
  ) -> HTML {
    if count == 0 { return Components.muted("–") }
    let items = names.map { name -> HTML in
      "<li>\(Components.link(name.text, context.link(to: name, in: state.name)))</li>"
    }
    if count <= names.count { return "<ul class=\"members\">\(items)</ul>" }
    let target =
      last.map { last in
        // Removed members are those of the old state.
        context.link(
          replacing: [
            ("list", property.name), ("side", state.name == from.name ? "removed" : "added"),
            ("after", ListPosition.text(last)), ("limit", nil),
          ])
      }
      ?? context.link(
        ["objects"] + comparison.object.segments + ["members", property.name], [("at", state.name.nonEmpty)])
    return """
      <ul class="members">\(items)<li>\(Components.link("\(count - names.count) more", target))</li></ul>
      """
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
  fileprivate var cell: String? {
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
