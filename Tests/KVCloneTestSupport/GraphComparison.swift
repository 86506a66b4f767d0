import KVCloneModel

/// Compares a store's graph with the expected graph, independently of the ids in the store.
public enum GraphComparison {
  /// Compares a store's dump after a clone with the reference cloner's result for the dump before it.
  ///
  /// Objects that are not clones keep their labels and must be equal. Clones are matched by structure, starting at the
  /// roots. Positions count in ordered relationships only. Derived attributes are not compared. Rebuilt UUIDs must be
  /// new and different, followed ones equal to their origin, and all values of `now` equal.
  ///
  /// - Parameters:
  ///   - expected: The reference clone of the store's own dump, so that both use the same labels.
  ///   - actual: The store's dump after the clone.
  ///   - roots: The store's clones of the roots for each copy, or nil to find them by structure.
  /// - Returns: The differences, readable and at most 50; empty if the graphs are equal.
  public static func compare(
    expected: ReferenceClone, actual: ReferenceGraph, roots: [[Label]]? = nil, model: ModelView
  ) -> [String] {
    var fixed = Dictionary(uniqueKeysWithValues: expected.before.objects.keys.map { ($0, $0) })
    for (wanted, given) in zip(expected.roots, roots ?? []) {
      if wanted.count != given.count { return ["\(given.count) root clones instead of \(wanted.count)"] }
      for (clone, root) in zip(wanted, given) { fixed[clone] = root }
    }
    if let roots, roots.count != expected.roots.count { return ["\(roots.count) copies, not \(expected.roots.count)"] }
    return GraphMatcher(
      expected: expected.after, actual: actual, fixed: fixed, symbols: expected.symbols, before: expected.before,
      model: model
    ).differences()
  }

  /// Compares two graphs that differ at most in their labels.
  ///
  /// - Parameter ids: Known pairs of labels, such as the ids that a load reports; the others are found by structure.
  /// - Returns: The differences, readable and at most 50; empty if the graphs are equal.
  public static func compare(
    expected: ReferenceGraph, actual: ReferenceGraph, ids: [Label: Label] = [:], model: ModelView
  ) -> [String] {
    GraphMatcher(
      expected: expected, actual: actual, fixed: ids, symbols: [:], before: ReferenceGraph(), model: model
    ).differences()
  }

  /// Compares two graphs label by label: equal stores, equal objects, equal ids.
  ///
  /// - Returns: The differences, readable and at most 50; empty if the graphs are equal.
  public static func compareExactly(
    expected: ReferenceGraph, actual: ReferenceGraph, model: ModelView
  ) -> [String] {
    let ids = Dictionary(uniqueKeysWithValues: expected.objects.keys.map { ($0, $0) })
    return compare(expected: expected, actual: actual, ids: ids, model: model)
  }
}

/// One comparison: finds a mapping of labels, then checks all objects under it.
struct GraphMatcher {
  let expected: ReferenceGraph
  let actual: ReferenceGraph
  let fixed: [Label: Label]
  let symbols: [Label: [String: SymbolicValue]]
  let before: ReferenceGraph
  let model: ModelView

  func differences() -> [String] {
    var problems: [String] = []
    for (wanted, given) in fixed.sorted(by: { $0.key < $1.key }) {
      if expected.objects[wanted] == nil { problems.append("\(wanted) is not in the expected graph") }
      if actual.objects[given] == nil { problems.append("\(given) is missing") }
    }
    let (wanted, given) = (expected.counts, actual.counts)
    for entity in Set(wanted.keys).union(given.keys).sorted() where wanted[entity] != given[entity] {
      problems.append("\(given[entity] ?? 0) objects of \(entity) instead of \(wanted[entity] ?? 0)")
    }
    if Set(fixed.values).count != fixed.count { problems.append("one object stands for two") }
    guard problems.isEmpty else { return Array(problems.prefix(50)) }
    if let map = mappingByAge(), differences(under: map).isEmpty { return [] }
    return Array(differences(under: mappingByStructure()).prefix(50))
  }

  /// The mapping for a store that numbers new objects in the order of the expected ones: the cheap first guess.
  private func mappingByAge() -> [Label: Label]? {
    var map = fixed
    let taken = Set(fixed.values)
    let wanted = Dictionary(grouping: expected.objects.keys.filter { fixed[$0] == nil }, by: \.entity)
    let given = Dictionary(grouping: actual.objects.keys.filter { !taken.contains($0) }, by: \.entity)
    for (entity, labels) in wanted {
      let others = (given[entity] ?? []).sorted()
      guard others.count == labels.count else { return nil }
      for (one, other) in zip(labels.sorted(), others) { map[one] = other }
    }
    return map
  }

  /// Returns all differences under `map`, which maps expected labels to actual ones.
  private func differences(under map: [Label: Label]) -> [String] {
    var problems: [String] = []
    var known: [SymbolicValue: AttributeValue] = [:]
    var fresh: [AttributeValue: SymbolicValue] = [:]
    let old = Set(before.objects.values.flatMap { Self.flat($0.attributes).values })
    for label in expected.labels {
      guard let wanted = expected[label], let name = map[label], let given = actual[name] else {
        problems.append("nothing stands for \(label)")
        continue
      }
      let place = name == label ? "\(name)" : "\(name) (expected as \(label))"
      if name.entity != label.entity { problems.append("\(place): another entity") }
      let (values, others) = (stored(wanted), stored(given))
      let symbols = symbols[label] ?? [:]
      for path in Set(values.keys).union(others.keys).union(symbols.keys).sorted() {
        guard let symbol = symbols[path] else {
          if values[path] != others[path] {
            problems.append("\(place).\(path): \(brief(others[path])) instead of \(brief(values[path]))")
          }
          continue
        }
        if symbol == .computed { continue }
        guard let value = others[path] else {
          problems.append("\(place).\(path): nil instead of \(symbol)")
          continue
        }
        if known[symbol, default: value] != value { problems.append("\(place).\(path): differs elsewhere, \(symbol)") }
        if case .fresh = symbol {
          if old.contains(value) { problems.append("\(place).\(path): not a fresh UUID") }
          if fresh[value, default: symbol] != symbol { problems.append("\(place).\(path): the same fresh UUID twice") }
          fresh[value] = symbol
        }
        known[symbol] = value
      }
      problems += linkDifferences(wanted, given, place, map)
    }
    return problems
  }

  private func linkDifferences(
    _ wanted: ReferenceObject, _ given: ReferenceObject, _ place: String, _ map: [Label: Label]
  ) -> [String] {
    var problems: [String] = []
    for name in Set(wanted.relationships.keys).union(given.relationships.keys).sorted() {
      let ends = wanted.targets(name).map { map[$0] ?? Label("nothing stands for \($0)", 0) }
      let others = given.targets(name)
      let isOrdered = model.relationship(name, of: wanted.label.entity)?.isOrdered == true
      if isOrdered ? ends == others : ends.sorted() == others.sorted() { continue }
      let missing = ends.filter { !others.contains($0) }
      let surplus = others.filter { !ends.contains($0) }
      if missing.isEmpty && surplus.isEmpty {
        problems.append("\(place).\(name): \(isOrdered ? "another order" : "a target occurs twice")")
      } else {
        problems.append("\(place).\(name): missing \(missing.prefix(5)), surplus \(surplus.prefix(5))")
      }
    }
    return problems
  }

  /// Returns the stored values, elements of composites by path, without derived attributes.
  func stored(_ object: ReferenceObject) -> [String: AttributeValue] {
    let names = Set(model.entities[object.label.entity]?.storedAttributes.map(\.name) ?? [])
    return Self.flat(object.attributes.filter { names.contains($0.key) })
  }

  private static func flat(_ values: [String: AttributeValue]) -> [String: AttributeValue] {
    var result: [String: AttributeValue] = [:]
    for (name, value) in values {
      guard case .composite(let elements) = value else {
        result[name] = value
        continue
      }
      // A composite without elements is not nil: it stays under its own name.
      result[name] = .composite([:])
      for (path, element) in flat(elements) { result["\(name).\(path)"] = element }
    }
    return result
  }

  private func brief(_ value: AttributeValue?) -> String {
    guard let value else { return "nil" }
    let text = "\(value)"
    return text.count > 80 ? text.prefix(80) + "…" : text
  }
}
