package import KVClone
import KVCloneModel

/// A model as a diagram: a box for each entity with its own properties, a line from each relationship to its inverse,
/// and trees from entities to their subentities.
package struct ModelDiagram: Sendable {
  /// A property of an entity.
  struct Row: Sendable, Hashable {
    var name: String
    /// The type of an attribute, or the destination of a relationship.
    var detail: String
    /// The cardinality and the delete rule of a relationship, which are never cut; empty for an attribute.
    var rule = ""
    /// A sentence with everything, for a tooltip.
    var description: String
    var treatment: CloneTreatment.Kind
    var isRelationship: Bool
    var isRequired: Bool
    var isDerivedOrTransient: Bool
  }

  /// A box.
  struct Entity: Sendable, Hashable {
    var name: String
    var parent: String?
    var isAbstract: Bool
    var rows: [Row]
  }

  /// An end of a line: a relationship that leads away from it.
  struct End: Sendable, Hashable {
    var entity: String
    var relationship: String
    var treatment: CloneTreatment.Kind
    var isToMany: Bool
    var isOptional: Bool
  }

  /// A line of the diagram, by net.
  enum Line: Sendable, Hashable {
    case inheritance(parent: String)
    /// A relationship and its inverse, if it has one.
    case relationship(End, inverse: End?, destination: String)
  }

  let modelName: String
  let entities: [Entity]
  let lines: [Line]
  let graph: DiagramGraph
  let layout: DiagramLayout

  /// Sizes of fonts, in pixels.
  static let fontSize = 12.0
  static let headFontSize = 13.0
  private static let widths = 160...380
  /// The space of a row's name before its beginning, between name and detail, and after that.
  static let indentation = 22
  private static let columnGap = 16
  static let rightPadding = 10

  package init(_ model: ManagedObjectModel) {
    modelName = model.name
    let described = model.entities.sorted { $0.name < $1.name }
    let entities = described.map { Self.entity($0, model) }
    var places: [String: Int] = [:]
    for (place, entity) in entities.enumerated() { places[entity.name] = place }
    var graph = DiagramGraph(
      nodes: entities.map { entity in
        DiagramGraph.Node(name: entity.name, width: Self.width(of: entity), rowCount: entity.rows.count)
      }, nets: [])
    var lines: [Line] = []
    for (place, entity) in entities.enumerated() {
      let children = entities.indices.filter { entities[$0].parent == entity.name && $0 != place }
      if children.isEmpty { continue }
      graph.nets.append(
        DiagramGraph.Net(
          hub: .init(node: place, anchor: .head), others: children.map { .init(node: $0, anchor: .head) }, isTree: true)
      )
      lines.append(.inheritance(parent: entity.name))
    }
    var links = RelationshipLinks(model, places, entities)
    for (entity, described) in described.enumerated() {
      for relationship in described.relationships.sorted(by: { $0.name < $1.name }) {
        guard let (net, line) = links.link(relationship, of: entity) else { continue }
        graph.nets.append(net)
        lines.append(line)
      }
    }
    self.entities = entities
    self.lines = lines
    self.graph = graph
    layout = DiagramLayout(graph)
  }

  // MARK: Boxes

  private static func entity(_ entity: EntityDescription, _ model: ManagedObjectModel) -> Entity {
    var rows = entity.attributes.sorted { $0.name < $1.name }.map {
      row(model.attribute($0.name, of: entity.name) ?? $0)
    }
    rows += entity.relationships.sorted { $0.name < $1.name }.map {
      row(model.relationship($0.name, of: entity.name) ?? $0, of: entity.name, model)
    }
    return Entity(name: entity.name, parent: entity.superentityName, isAbstract: entity.isAbstract, rows: rows)
  }

  private static func row(_ attribute: AttributeDescription) -> Row {
    let treatment = CloneTreatment(of: attribute)
    var parts = [attribute.isOptional ? "optional" : "required"]
    if attribute.isTransient { parts.append("transient") }
    if let expression = attribute.derivationExpression { parts.append("derived from \(expression)") }
    let type =
      attribute.type == .composite ? attribute.compositeName ?? attribute.type.rawValue : attribute.type.rawValue
    return Row(
      name: attribute.name, detail: attribute.isOptional ? "\(type)?" : type,
      description: "\(attribute.name): \(type), \(parts.joined(separator: ", ")); clone: \(treatment.reason)",
      treatment: treatment.kind, isRelationship: false, isRequired: !attribute.isOptional,
      isDerivedOrTransient: attribute.isDerived || attribute.isTransient)
  }

  private static func row(_ relationship: RelationshipDescription, of entity: String, _ model: ManagedObjectModel)
    -> Row
  {
    let treatment = CloneTreatment(of: relationship, in: entity, model)
    let rule = relationship.deleteRule.rawValue.lowercased()
    let order = relationship.isOrdered ? "ordered " : ""
    return Row(
      name: relationship.name,
      detail: relationship.destinationEntityName, rule: "\(order)\(relationship.cardinality) · \(rule)",
      description: "\(relationship.name): \(relationship.cardinality) \(order)\(relationship.destinationEntityName), "
        + "inverse \(relationship.inverseName ?? "none"), delete rule \(rule); clone: \(treatment.reason)",
      treatment: treatment.kind, isRelationship: true, isRequired: !relationship.isOptional,
      isDerivedOrTransient: relationship.isTransient)
  }

  /// A multiple of the grid.
  private static func width(of entity: Entity) -> Int {
    var width = TextWidth.estimate(entity.name, size: headFontSize, isBold: true) + 90
    for row in entity.rows {
      let name = TextWidth.estimate(row.name, size: fontSize)
      let detail = TextWidth.estimate("\(row.detail) \(row.rule)", size: fontSize - 1)
      width = max(width, Double(indentation + columnGap + rightPadding) + name + detail)
    }
    let rounded = Int((width / 10).rounded(.up)) * 10
    return min(max(rounded, widths.lowerBound), widths.upperBound)
  }

  /// The texts of a row, cut to the width of its box.
  static func texts(of row: Row, width: Int) -> (name: String, detail: String) {
    let rule = row.rule.isEmpty ? "" : " \(row.rule)"
    let room =
      Double(width - indentation - columnGap - rightPadding) - TextWidth.estimate(rule, size: fontSize - 1)
    let name = TextWidth.estimate(row.name, size: fontSize)
    let detail = TextWidth.estimate(row.detail, size: fontSize - 1)
    if name + detail <= room { return (row.name, row.detail + rule) }
    // The shorter one keeps its length if it is less than half.
    let nameRoom = detail < room / 2 ? room - detail : min(name, room / 2)
    let shownName = TextWidth.cut(row.name, to: nameRoom, size: fontSize)
    let rest = room - TextWidth.estimate(shownName, size: fontSize)
    return (shownName, TextWidth.cut(row.detail, to: max(rest, 0), size: fontSize - 1) + rule)
  }
}

/// Finds the lines of relationships: one for each pair of a relationship and its inverse.
private struct RelationshipLinks {
  private let model: ManagedObjectModel
  private let places: [String: Int]
  private let entities: [ModelDiagram.Entity]
  private var drawn: Set<[String]> = []

  init(_ model: ManagedObjectModel, _ places: [String: Int], _ entities: [ModelDiagram.Entity]) {
    self.model = model
    self.places = places
    self.entities = entities
  }

  /// Returns the line of a relationship; nil if it was returned with its inverse, or leads nowhere.
  mutating func link(_ declared: RelationshipDescription, of place: Int) -> (DiagramGraph.Net, ModelDiagram.Line)? {
    let entity = entities[place].name
    let relationship = model.relationship(declared.name, of: entity) ?? declared
    let own = end(relationship, entity)
    guard let inverse = model.inverse(of: relationship.name, in: entity),
      let owner = owner(of: inverse.relationship.name, from: inverse.entityName), let other = places[owner]
    else {
      guard let target = places[relationship.destinationEntityName] else { return nil }
      let net = DiagramGraph.Net(hub: pin(relationship.name, place), others: [.init(node: target, anchor: .head)])
      return (net, .relationship(own, inverse: nil, destination: relationship.destinationEntityName))
    }
    let key = [[entity, relationship.name], [owner, inverse.relationship.name]]
      .sorted { $0.lexicographicallyPrecedes($1) }.flatMap { $0 }
    guard drawn.insert(key).inserted else { return nil }
    let far = end(inverse.relationship, owner)
    var ends = (pin(relationship.name, place), pin(inverse.relationship.name, other))
    // A relationship that is its own inverse.
    if ends.0 == ends.1 { ends.1.anchor = .head }
    // Owners are left of what they own.
    let isReversed = !relationship.isToMany && inverse.relationship.isToMany
    let net = DiagramGraph.Net(hub: isReversed ? ends.1 : ends.0, others: [isReversed ? ends.0 : ends.1])
    return isReversed
      ? (net, .relationship(far, inverse: own, destination: entity))
      : (net, .relationship(own, inverse: far, destination: owner))
  }

  private func end(_ relationship: RelationshipDescription, _ entity: String) -> ModelDiagram.End {
    ModelDiagram.End(
      entity: entity, relationship: relationship.name,
      treatment: CloneTreatment(of: relationship, in: entity, model).kind, isToMany: relationship.isToMany,
      isOptional: relationship.isOptional || relationship.isToMany && relationship.minCount == 0)
  }

  /// The nearest entity that declares a relationship: the given one or an ancestor.
  private func owner(of relationship: String, from entity: String) -> String? {
    ([entity] + model.superentities(of: entity)).first { name in
      model.entity(named: name)?.relationships.contains { $0.name == relationship } ?? false
    }
  }

  private func pin(_ relationship: String, _ place: Int) -> DiagramGraph.Pin {
    let row = entities[place].rows.firstIndex { $0.isRelationship && $0.name == relationship }
    return DiagramGraph.Pin(node: place, anchor: row.map { .row($0) } ?? .head)
  }
}
