import KVClone
import KVCloneCore

/// All entities of the store as a tree, with the numbers of their objects.
struct EntitiesPage: Page {
  struct Item: Sendable {
    var entity: EntityDescription
    var depth: Int
    /// The number of objects with the subentities, and of the entity itself.
    var total: EntityCount
    var own: EntityCount
    /// The size of the table of a root entity in bytes; nil for subentities, which share it, and if it is unknown.
    var bytes: UInt64?
    var attributeCount: Int
    var relationshipCount: Int
  }

  let items: [Item]
  let objectCount: EntityCount
  private let isComplete: Bool
  let modelName: String
  let modelVersion: String
  let storeUUID: String

  static func read(_ context: PageContext) async throws -> EntitiesPage {
    EntitiesPage(try await EntityCounts.read(context.store, at: context.snapshotName, context.deadline), context)
  }

  init(_ counts: EntityCounts, _ context: PageContext) {
    let model = counts.model
    let roots = model.entities.filter { $0.superentityName == nil }.map(\.name).sorted()
    var items: [Item] = []
    func add(_ name: String, depth: Int) {
      guard let entity = model.entity(named: name) else { return }
      items.append(
        Item(
          entity: entity, depth: depth, total: counts.total(of: name), own: counts.own(of: name),
          bytes: counts.bytes[name],
          attributeCount: model.attributes(of: name).count,
          relationshipCount: model.relationships(of: name).count))
      for child in model.directSubentities(of: name).sorted() { add(child, depth: depth + 1) }
    }
    for root in roots { add(root, depth: 0) }
    self.items = items
    objectCount = counts.total
    isComplete = items.allSatisfy { $0.total.exact != nil && $0.own.exact != nil }
    modelName = model.name
    modelVersion = model.versionIdentifier
    storeUUID = context.store.uuid.uuidString
  }

  var title: String { "Entities" }
  var section: PageSection { .entities }

  func html(_ context: PageContext) -> HTML {
    let figures: [(name: String, value: HTML)] = [
      ("Objects", objectCount.html),
      ("Entities", Components.number(items.count)), ("Model", "\(modelName)"), ("Version", "\(modelVersion)"),
    ]
    let rows = items.map { row($0, context) }
    return """
      \(ObjectSearch.form(context))\(Components.live("entities", Components.figures(figures) + table(rows)))
      \(rest(context))
      \(Components.toolbar([Components.link("Sizes by entity and index", context.link(["store"]))]))
      """
  }

  /// The form of the job that counts the remaining objects; empty if all are counted.
  private func rest(_ context: PageContext) -> HTML {
    // The job is one of the store.
    if isComplete || context.branchName != nil { return .empty }
    let items = context.snapshotName.map { [(name: "at", value: $0)] } ?? []
    return "<p>Entities with a common table are counted by reading it, which needs more time than a page has.</p>"
      + Components.toolbar([
        Components.action("Count all objects", context.link(["store", "counts"], [("at", nil)]), items)
      ])
  }

  private func table(_ rows: [[HTML]]) -> HTML {
    if rows.isEmpty { return Components.empty("The model has no entities.") }
    return Components.table(
      "Entities of \(modelName)",
      columns: [
        .init("Entity"), .init("Objects", isNumeric: true), .init("Without subentities", isNumeric: true),
        .init("<span title=\"Records; blobs, long relationships and indexes are extra\">Size</span>", isNumeric: true),
        .init("Attributes", isNumeric: true), .init("Relationships", isNumeric: true),
      ], rows: rows)
  }

  private func row(_ item: Item, _ context: PageContext) -> [HTML] {
    let name = item.entity.name
    let indent = String(repeating: "\u{2003}", count: item.depth) + (item.depth > 0 ? "↳ " : "")
    let badge: HTML? = item.entity.isAbstract ? " \(Components.badge("abstract"))" : nil
    let link = Components.link(name, context.link(["entities", name]))
    let hasSubentities = item.total != item.own || item.total.exact == nil
    return [
      "<span aria-hidden=\"true\">\(indent)</span>\(link)\(badge)", item.total.html,
      hasSubentities ? item.own.html : "", item.bytes.map { Components.bytes($0) } ?? "",
      Components.number(item.attributeCount),
      Components.number(item.relationshipCount),
    ]
  }

  func write(to json: inout JSONWriter) {
    json.member("store", storeUUID)
    json.member("model", modelName)
    json.member("modelVersion", modelVersion)
    objectCount.write(to: &json, as: "objects")
    json.list("entities", items) { json, item in
      json.member("name", item.entity.name)
      json.nullable("parent", item.entity.superentityName)
      json.member("abstract", item.entity.isAbstract)
      item.total.write(to: &json, as: "objects")
      item.own.write(to: &json, as: "ownObjects")
      json.nullable("bytes", item.bytes)
    }
  }

  var table: PageTable {
    PageTable(
      columns: ["name", "parent", "abstract", "objects", "ownObjects", "bytes"],
      rows: items.map { item in
        [
          item.entity.name, item.entity.superentityName, "\(item.entity.isAbstract)", item.total.exact.map { "\($0)" },
          item.own.exact.map { "\($0)" }, item.bytes.map { "\($0)" },
        ]
      })
  }
}
