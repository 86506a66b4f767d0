import KVCloneModel

extension GraphMatcher {
  /// The properties of an object without its neighbours.
  private struct Look: Hashable {
    let entity: String
    let values: [String: AttributeValue]
    let fixed: Label?
  }

  /// The properties of an object together with its neighbours.
  private struct Surroundings: Hashable {
    let color: Int
    let links: [[Int]]
  }

  /// Both graphs with a colour per object; objects of one colour are candidates for each other.
  private struct Coloring {
    var expected: [Label: Int]
    var actual: [Label: Int]

    var classes: Int { Set(expected.values).union(actual.values).count }

    /// Whether every colour has equally many objects on both sides.
    var isBalanced: Bool {
      func sizes(_ colors: [Label: Int]) -> [Int: Int] {
        Dictionary(colors.values.map { ($0, 1) }, uniquingKeysWith: +)
      }
      return sizes(expected) == sizes(actual)
    }
  }

  /// Colour refinement: objects that differ get different colours, then objects with different neighbours, until
  /// nothing changes. If several objects still have one colour, a matching pair is chosen and the rest refined again.
  ///
  /// Objects of one colour are interchangeable except in specially constructed graphs. There a false difference is
  /// possible, but no real difference is missed.
  func mappingByStructure() -> [Label: Label] {
    var coloring = refined(initialColoring())
    search: while let (color, labels) = firstAmbiguousClass(coloring) {
      let others = coloring.actual.filter { $0.value == color }.keys.sorted()
      guard let one = labels.min(), others.count == labels.count else { break }
      for other in others {
        var next = coloring
        next.expected[one] = -2
        next.actual[other] = -2
        next = refined(next)
        // Members of two rings of different lengths have one colour until one of each is chosen.
        guard next.isBalanced else { continue }
        coloring = next
        continue search
      }
      break
    }
    let byColor = Dictionary(grouping: coloring.actual.keys, by: { coloring.actual[$0] ?? -1 })
    var map = fixed
    for (label, color) in coloring.expected where map[label] == nil { map[label] = byColor[color]?.min() }
    return map
  }

  private func firstAmbiguousClass(_ coloring: Coloring) -> (Int, [Label])? {
    let classes = Dictionary(grouping: coloring.expected.keys, by: { coloring.expected[$0] ?? -1 })
    return classes.filter { $0.value.count > 1 }.min { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  private func initialColoring() -> Coloring {
    // An attribute with a symbolic value in one object of an entity is ignored in all objects of that entity.
    var unsure: [String: Set<String>] = [:]
    for (label, paths) in symbols { unsure[label.entity, default: []].formUnion(paths.keys) }
    var colors: [Look: Int] = [:]
    func color(_ object: ReferenceObject, _ fixed: Label?) -> Int {
      let values = stored(object).filter { unsure[object.label.entity]?.contains($0.key) != true }
      let look = Look(entity: object.label.entity, values: fixed == nil ? values : [:], fixed: fixed)
      let color = colors[look] ?? colors.count
      colors[look] = color
      return color
    }
    let taken = Dictionary(fixed.map { ($0.value, $0.value) }) { first, _ in first }
    var result = Coloring(expected: [:], actual: [:])
    for label in expected.labels { result.expected[label] = expected[label].map { color($0, fixed[label]) } }
    for label in actual.labels { result.actual[label] = actual[label].map { color($0, taken[label]) } }
    return result
  }

  private func refined(_ start: Coloring) -> Coloring {
    var coloring = start
    let (incoming, others) = (incomingLinks(expected), incomingLinks(actual))
    while true {
      var colors: [Surroundings: Int] = [:]
      func color(_ object: ReferenceObject, _ known: [Label: Int], _ incoming: [Label: [String: [Label]]]) -> Int {
        var links: [[Int]] = []
        for relationship in model.entities[object.label.entity]?.relationships ?? [] {
          let ends = object.targets(relationship.name).map { known[$0] ?? -1 }
          links.append(relationship.isOrdered ? ends : ends.sorted())
        }
        for (_, owners) in (incoming[object.label] ?? [:]).sorted(by: { $0.key < $1.key }) {
          links.append(owners.map { known[$0] ?? -1 }.sorted())
        }
        let surroundings = Surroundings(color: known[object.label] ?? -1, links: links)
        let color = colors[surroundings] ?? colors.count
        colors[surroundings] = color
        return color
      }
      var next = Coloring(expected: [:], actual: [:])
      for label in expected.labels {
        next.expected[label] = expected[label].map { color($0, coloring.expected, incoming) }
      }
      for label in actual.labels { next.actual[label] = actual[label].map { color($0, coloring.actual, others) } }
      if next.classes == coloring.classes { return next }
      coloring = next
    }
  }

  /// Returns the owners of one-sided links to each object.
  private func incomingLinks(_ graph: ReferenceGraph) -> [Label: [String: [Label]]] {
    var result: [Label: [String: [Label]]] = [:]
    for object in graph.objects.values {
      for relationship in model.entities[object.label.entity]?.relationships ?? [] where !relationship.hasInverse {
        for target in object.targets(relationship.name) {
          result[target, default: [:]][relationship.name, default: []].append(object.label)
        }
      }
    }
    return result
  }
}
