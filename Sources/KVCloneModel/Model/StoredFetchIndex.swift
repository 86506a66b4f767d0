/// The stored form of a fetch index: the columns of its keys.
package struct StoredFetchIndex: Hashable, Sendable {
  /// The maximum number of values in a key of the index: a limit of the file format.
  package static let maximumColumnCount = 16

  /// One value of a key.
  package struct Column: Hashable, Sendable {
    /// An attribute, an element of a composite attribute by its path, or a to-one relationship.
    package let path: String
    package let isAscending: Bool
    /// Whether the text is compared as by `[cd]`: `canonical:(name)` in the model.
    package let isFolded: Bool
  }

  /// The first of its names in the model.
  package let name: String
  package let columns: [Column]

  /// The columns as text. Indexes with equal columns have equal entries, and are stored once.
  package var definition: String {
    columns.map { column in
      (column.isFolded ? "canonical:(\(column.path))" : column.path) + (column.isAscending ? "" : " desc")
    }.joined(separator: ",")
  }
}

extension ManagedObjectModel {
  /// The indexes that an entity declares and a store maintains, except those that an ancestor has already.
  package func storedFetchIndexes(declaredIn entity: EntityDescription) -> [StoredFetchIndex] {
    var known: Set<String> = []
    for above in lineage(of: entity.name).dropLast() {
      for index in above.indexes {
        if let stored = stored(index, above.name) { known.insert(stored.definition) }
      }
    }
    return entity.indexes.compactMap { index in
      stored(index, entity.name).flatMap { known.insert($0.definition).inserted ? $0 : nil }
    }
  }

  /// Why an index is ignored, for a warning; nil if it is maintained.
  func reasonForIgnoring(_ index: FetchIndexDescription, in entity: String) -> String? {
    if index.partialPredicate != nil { return "is limited by a predicate" }
    if index.elements.isEmpty { return "has no elements" }
    if index.elements.count > StoredFetchIndex.maximumColumnCount {
      return "has more than \(StoredFetchIndex.maximumColumnCount) elements"
    }
    return stored(index, entity) == nil
      ? "has an element that is neither a stored attribute nor a to-one relationship, nor canonical:(a text)" : nil
  }

  private func stored(_ index: FetchIndexDescription, _ entity: String) -> StoredFetchIndex? {
    guard index.partialPredicate == nil, !index.elements.isEmpty,
      index.elements.count <= StoredFetchIndex.maximumColumnCount
    else { return nil }
    var columns: [StoredFetchIndex.Column] = []
    for element in index.elements {
      guard let column = column(element, entity) else { return nil }
      columns.append(column)
    }
    return StoredFetchIndex(name: index.name, columns: columns)
  }

  private func column(_ element: FetchIndexDescription.Element, _ entity: String) -> StoredFetchIndex.Column? {
    var path = element.propertyName ?? ""
    var isFolded = false
    if element.propertyName == nil {
      guard let argument = Self.canonicalArgument(element.expression ?? "") else { return nil }
      path = argument
      isFolded = true
    }
    if let type = leafType(path, of: entity) {
      guard type != .composite, type != .undefined, !isFolded || type == .string else { return nil }
    } else {
      guard let relationship = relationship(path, of: entity), !relationship.isToMany, !relationship.isTransient,
        !isFolded
      else { return nil }
    }
    return .init(path: path, isAscending: element.isAscending, isFolded: isFolded)
  }

  /// The key path within `canonical:(…)`.
  private static func canonicalArgument(_ expression: String) -> String? {
    let text = expression.filter { $0 != " " }
    guard text.hasPrefix("canonical:("), text.hasSuffix(")") else { return nil }
    return String(text.dropFirst("canonical:(".count).dropLast())
  }

  /// The type of a stored attribute, or of an element of a composite one by its path.
  private func leafType(_ path: String, of entity: String) -> AttributeType? {
    let names = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard let first = names.first, var attribute = attribute(first, of: entity), !attribute.isTransient else {
      return nil
    }
    for name in names.dropFirst() {
      guard let element = attribute.elements.first(where: { $0.name == name }) else { return nil }
      attribute = element
    }
    return attribute.type
  }
}
