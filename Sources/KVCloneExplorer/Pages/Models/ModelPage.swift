import KVClone

/// The model as a diagram, and the list of its entities.
struct ModelPage: Page {
  let model: ManagedObjectModel
  let counts: EntityCounts

  var title: String { "Model \(model.versionIdentifier)" }
  var section: PageSection { .model }

  func html(_ context: PageContext) -> HTML {
    let links = ModelDiagramSVG.Links(
      entity: { context.link(modelOf: $0) },
      property: { context.link(modelOf: $0) + "#" + ModelAnchor.fragment($1) },
      objects: { context.link(["entities", $0]) })
    var html = ModelPage.tabs(.diagram, context)
    html += Components.figures([
      ("Entities", Components.number(model.entities.count)),
      ("Attributes", Components.number(model.entities.reduce(0) { $0 + $1.attributes.count })),
      ("Relationships", Components.number(model.entities.reduce(0) { $0 + $1.relationships.count })),
      ("Objects", counts.total.html),
    ])
    if model.entities.isEmpty {
      return html + Components.empty("The model has no entities.")
    }
    html += Components.diagram(
      "Entities and relationships",
      ModelDiagramSVG(
        ModelDiagramCache.of(context.store).diagram(model), links: links, counts: concrete.mapValues(\.text)
      ).svg)
    html += Components.legend([
      ("a clone follows: copies the targets", "follow"), ("a clone shares the targets", "share"),
      ("a clone omits it", "skip"), ("a clone generates the value", "warning"),
    ])
    html += "<p class=\"muted\">The colour of a line's end is that of the relationship that begins there.</p>"
    html += Components.section("Entities", entities(context))
    return html
      + Components.section(
        "Version",
        Components.definitions([
          ("Name", "\(model.name)"), ("Version", "\(model.versionIdentifier)"),
          ("Hash", Components.code(model.modelHash.hex)),
        ]))
  }

  /// The numbers of objects without those of subentities, of entities that are not abstract.
  private var concrete: [String: EntityCount] {
    let names = model.entities.filter { !$0.isAbstract }.map(\.name)
    return Dictionary(names.map { ($0, counts.own(of: $0)) }) { first, _ in first }
  }

  private func entities(_ context: PageContext) -> HTML {
    let columns: [(title: HTML, isNumeric: Bool)] = [
      ("Entity", false), ("Parent", false), ("Objects", true), ("Attributes", true), ("Relationships", true),
      ("Indexes", true), ("Unique", false),
    ]
    let rows = model.entities.sorted { $0.name < $1.name }.map { entity -> [HTML] in
      let count: HTML =
        entity.isAbstract
        ? Components.badge("abstract")
        : "<a href=\"\(context.link(["entities", entity.name]))\">\(counts.own(of: entity.name).html)</a>"
      return [
        Components.link(entity.name, context.link(modelOf: entity.name)),
        entity.superentityName.map { Components.link($0, context.link(modelOf: $0)) } ?? .empty, count,
        Components.number(entity.attributes.count), Components.number(entity.relationships.count),
        Components.number(entity.indexes.count),
        "\(entity.uniquenessConstraints.map { $0.joined(separator: " + ") }.joined(separator: ", "))",
      ]
    }
    return Components.table("Entities", columns: columns, rows: rows)
  }

  func write(to json: inout JSONWriter) {
    json.member("name", model.name)
    json.member("version", model.versionIdentifier)
    json.member("hash", model.modelHash.hex)
    json.member("counts", concrete.compactMapValues(\.exact))
    if let shown = try? model.shownJSON() {
      json.key("model")
      json.raw(shown)
    }
  }

  var table: PageTable { ModelTable.properties(of: model.entities.sorted { $0.name < $1.name }.map(\.name), model) }

  // MARK: Parts of all pages of the model

  enum Tab: CaseIterable { case diagram, versions, migration }

  static func tabs(_ current: Tab, _ context: PageContext) -> HTML {
    Components.tabs(
      "Model",
      Tab.allCases.map { tab in
        switch tab {
        case .diagram: ("Diagram", context.link(["model"]), tab == current)
        case .versions: ("Versions", context.link(["model", "versions"]), tab == current)
        case .migration: ("Migration", context.link(["model", "migration"]), tab == current)
        }
      })
  }
}

/// Anchors of properties in the page of their entity.
enum ModelAnchor {
  static func id(_ property: String) -> String { "property-\(property)" }

  static func fragment(_ property: String) -> String { PercentEncoding.encode(id(property)) }
}
