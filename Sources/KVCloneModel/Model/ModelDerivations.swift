/// The derived attributes of a model, in order of dependency.
package struct ModelDerivations: Sendable {
  /// A derived attribute of one entity, possibly inherited.
  package struct Entry: Sendable {
    package let entity: String
    package let attribute: AttributeDescription
    package let expression: DerivedExpression
  }

  /// The supported ones; each after those that it depends on.
  package private(set) var entries: [Entry] = []
  /// Warnings about the others, at their declarations.
  package private(set) var warnings: [ModelWarning] = []
  /// A derived attribute that depends on itself, directly or indirectly.
  package private(set) var cyclic: (entity: String, property: String)?

  /// A property, identified by the topmost entity that has it.
  private struct Node: Hashable {
    let entity: String
    let attribute: String
  }

  package init(_ model: ManagedObjectModel) {
    var nodes: [Node] = []
    var sources: [Node: Set<Node>] = [:]
    var found: [(node: Node, entry: Entry)] = []
    for entity in model.entities {
      for attribute in model.attributes(of: entity.name) where attribute.isDerived {
        let expression: DerivedExpression
        do throws(DerivedExpression.Problem) {
          expression = try DerivedExpression(of: attribute, in: entity.name, model)
        } catch {
          // An inherited attribute is reported at its declaration.
          if entity.attributes.contains(where: { $0.name == attribute.name }) {
            warnings.append(
              ModelWarning(
                .unusableDerivation, entity: entity.name, property: attribute.name,
                message: error.reason + "; its value is always nil"))
          }
          continue
        }
        let node = Self.node(attribute.name, entity.name, model)
        if sources[node] == nil { nodes.append(node) }
        sources[node, default: []].formUnion(
          expression.attribute.map { [Self.node($0, expression.sourceEntity, model)] } ?? [])
        found.append((node, Entry(entity: entity.name, attribute: attribute, expression: expression)))
      }
    }
    let ranks = Self.ranks(nodes, sources)
    if let node = nodes.first(where: { ranks[$0] == nil }) { cyclic = (node.entity, node.attribute) }
    // By rank, and in the model's order within one.
    let ranked = found.enumerated().compactMap { place, item in
      ranks[item.node].map { (rank: $0, place: place, entry: item.entry) }
    }
    entries = ranked.sorted { ($0.rank, $0.place) < ($1.rank, $1.place) }.map(\.entry)
  }

  private static func node(_ path: String, _ entity: String, _ model: ManagedObjectModel) -> Node {
    let name = String(path.prefix { $0 != "." })
    let top = model.superentities(of: entity).last { model.attribute(name, of: $0) != nil }
    return Node(entity: top ?? entity, attribute: name)
  }

  /// The length of the longest chain of derivations below each; nodes on a cycle have none.
  private static func ranks(_ nodes: [Node], _ sources: [Node: Set<Node>]) -> [Node: Int] {
    var users: [Node: [Node]] = [:]
    var missing: [Node: Int] = [:]
    for node in nodes {
      let derived = (sources[node] ?? []).filter { sources[$0] != nil }
      missing[node] = derived.count
      for source in derived { users[source, default: []].append(node) }
    }
    var ranks: [Node: Int] = [:]
    var ready = nodes.filter { missing[$0] == 0 }
    for node in ready { ranks[node] = 0 }
    var reached: [Node: Int] = [:]
    while let node = ready.popLast() {
      let rank = (ranks[node] ?? 0) + 1
      for user in users[node] ?? [] {
        reached[user] = max(reached[user] ?? 0, rank)
        missing[user, default: 0] -= 1
        if missing[user] == 0 {
          ranks[user] = reached[user]
          ready.append(user)
        }
      }
    }
    return ranks
  }

  /// A text that determines the attributes' values: two models with equal texts compute equal values for equal objects.
  package var fingerprint: String {
    entries.map {
      "\($0.entity).\($0.attribute.name) \($0.attribute.type.rawValue) \($0.attribute.derivationExpression ?? "")\n"
    }.sorted().joined()
  }
}

extension ManagedObjectModel {
  /// The derived attributes: resolved once when a store is opened.
  package var derivations: ModelDerivations { ModelDerivations(self) }
}
