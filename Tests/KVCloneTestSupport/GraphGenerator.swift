import KVCloneModel

/// A graph generated from a seed.
public struct GeneratedGraph: Sendable {
  /// The graph; valid except for ``problems``.
  public var graph: ReferenceGraph
  /// The requirements of the model that the generator could not meet.
  public var problems: [String]
  /// The seed, to print when a test fails.
  public var seed: UInt64

  /// Returns the graph as NDJSON, with the lines in an order that depends on the seed.
  public func ndjson(model: ModelView) throws -> String {
    var random = SeededGenerator(seed: seed ^ 0x5EED)
    return try graph.ndjson(model: model, lines: graph.labels.shuffled(using: &random))
  }
}

/// Generates valid graphs for any model: every concrete entity, edge values of every type, every relationship filled.
public struct GraphGenerator {
  let model: ModelView
  let size: Int
  var random: SeededGenerator
  var graph = ReferenceGraph()
  var problems: [String] = []
  /// Objects by entity and by every ancestor entity, in the order of their creation.
  var members: [String: [Label]] = [:]
  var order: [Label] = []
  private var serials: [String: Int] = [:]
  private var unique: Set<UniqueKey> = []

  /// Generates a graph.
  ///
  /// - Parameters:
  ///   - model: Any model that can be loaded.
  ///   - seed: The seed; equal seeds generate equal graphs.
  ///   - size: The approximate number of objects of each concrete entity; from about 300 on, to-many lists exceed 128
  ///     members.
  public static func generate(_ model: ModelView, seed: UInt64, size: Int) -> GeneratedGraph {
    var generator = GraphGenerator(model: model, size: size, random: SeededGenerator(seed: seed))
    generator.run()
    return GeneratedGraph(graph: generator.graph, problems: generator.problems, seed: seed)
  }

  private init(model: ModelView, size: Int, random: SeededGenerator) {
    self.model = model
    self.size = size
    self.random = random
  }

  private mutating func run() {
    let entities = model.entityNames.compactMap { model.entities[$0] }.filter { !$0.isAbstract }
    for entity in entities {
      let count = max(1, size / 2 + random.below(size + 1))
      for _ in 0..<count { make(entity) }
    }
    meetRequirements()
    fillRelationships()
    meetMinCounts()
    arrangeLists()
    problems = graph.validate(model)
  }

  /// Adds an object with attributes and without links.
  @discardableResult
  mutating func make(_ entity: EntityView) -> Label {
    let label = Label(entity.name, serials[entity.root, default: 0] + 1)
    serials[entity.root] = label.serial
    var attributes: [String: AttributeValue] = [:]
    let constrained = Set(entity.constraints.flatMap(\.properties))
    for attribute in entity.storedAttributes {
      attributes[attribute.name] =
        constrained.contains(attribute.name)
        ? uniqueValue(for: attribute, serial: label.serial) : value(for: attribute)
    }
    for constraint in entity.constraints where constraint.isChecked(in: entity) {
      while true {
        let values = constraint.properties.compactMap { attributes[$0].map(UniqueKey.Part.value) }
        guard values.count == constraint.properties.count else { break }
        if unique.insert(UniqueKey(constraint: constraint, parts: values)).inserted { break }
        // A type with too few values, such as Boolean: nil never conflicts.
        let optional = constraint.properties.first { entity.attribute($0)?.isOptional == true }
        guard let optional else { break }
        attributes[optional] = nil
      }
    }
    graph.add(label, attributes)
    for ancestor in entity.lineage { members[ancestor, default: []].append(label) }
    order.append(label)
    return label
  }
}
