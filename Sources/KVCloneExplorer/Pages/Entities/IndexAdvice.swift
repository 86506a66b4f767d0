import KVClone

/// The fetch index that would help a query.
enum IndexAdvice {
  /// Returns the declaration of an index that has the order of the query, or that narrows its predicate down; nil if no
  /// index can.
  static func text(_ query: GridQuery, in model: ManagedObjectModel) -> String? {
    query.sort.isEmpty ? forPredicate(query, model) : forOrder(query, model)
  }

  private static func forOrder(_ query: GridQuery, _ model: ManagedObjectModel) -> String? {
    var elements: [Element] = []
    for (place, key) in query.sort.enumerated() {
      guard let attribute = model.attribute(key.key, of: query.entity.name), attribute.isStored,
        attribute.type != .binary, attribute.type != .transformable, attribute.type != .composite
      else {
        return "No index has the order of \(key.key): sort by an attribute of \(query.entity.name), such as a derived "
          + "attribute with this value."
      }
      guard key.options.isEmpty || key.options == GridSort.folded else {
        return "No index has the order of \(key.text): sort by \(key.key), or by \(key.key)[cd]."
      }
      elements.append((key.key, key.isAscending, !key.options.isEmpty))
      // Long texts are cut in keys, so columns after a text are not in order.
      if attribute.type == .string || attribute.type == .uri, place + 1 < query.sort.count { break }
    }
    if hasIndex(elements, query.entity.name, model) { return nil }
    return declaration(elements, query.entity.name, "reads the objects in this order")
  }

  private static func forPredicate(_ query: GridQuery, _ model: ManagedObjectModel) -> String? {
    guard let predicate = query.predicate else { return nil }
    for comparison in comparisons(predicate) {
      guard case .keyPath(.`self`, let names) = comparison.left, names.count == 1,
        let attribute = model.attribute(names[0], of: query.entity.name), attribute.isStored,
        [.equal, .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual, .between, .in, .beginsWith]
          .contains(comparison.operator)
      else { continue }
      let isFolded = comparison.options.isSuperset(of: GridSort.folded)
      if hasIndex([(names[0], true, isFolded)], query.entity.name, model) { return nil }
      return declaration([(names[0], true, isFolded)], query.entity.name, "finds the objects that match")
    }
    return "No index supports these comparisons: add one with ==, <, >, IN, BETWEEN or BEGINSWITH on an attribute."
  }

  /// The comparisons that all matches satisfy.
  private static func comparisons(_ predicate: QueryPredicate) -> [QueryComparison] {
    switch predicate {
    case .comparison(let comparison): [comparison]
    case .and(let parts): parts.flatMap { comparisons($0) }
    default: []
    }
  }

  private typealias Element = (name: String, isAscending: Bool, isFolded: Bool)

  /// Whether the entity has an index with these columns, which can be read in either direction.
  private static func hasIndex(_ elements: [Element], _ entity: String, _ model: ManagedObjectModel) -> Bool {
    let indexes = ([entity] + model.superentities(of: entity)).flatMap { model.entity(named: $0)?.indexes ?? [] }
    return indexes.contains { index in
      guard index.elements.count == elements.count, index.partialPredicate == nil else { return false }
      let pairs = Array(zip(index.elements, elements))
      let areColumns = pairs.allSatisfy { column, wanted in
        wanted.isFolded ? column.expression == "canonical:(\(wanted.name))" : column.propertyName == wanted.name
      }
      return areColumns && Set(pairs.map { $0.isAscending == $1.isAscending }).count == 1
    }
  }

  private static func declaration(
    _ elements: [Element], _ entity: String, _ effect: String
  ) -> String {
    let names = elements.map { element in
      (element.isFolded ? "canonical:(\(element.name))" : element.name) + (element.isAscending ? "" : " descending")
    }
    let parts = elements.map { element in
      (element.isFolded ? "expression: \"canonical:(\(element.name))\"" : "\"\(element.name)\"")
        + (element.isAscending ? "" : ", ascending: false")
    }
    let name = "by" + elements.map { $0.name.prefix(1).uppercased() + $0.name.dropFirst() }.joined()
    return
      "A fetch index on \(names.joined(separator: ", ")) of \(entity) \(effect). Add it to the entity in the model "
      + "editor (Add Fetch Index), or in Swift: FetchIndexDescription(\"\(name)\", "
      + "[\(parts.map { ".init(\($0))" }.joined(separator: ", "))])."
  }
}
