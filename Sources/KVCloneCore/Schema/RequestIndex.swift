package import KVCloneModel
package import KVCloneRecords

/// An index for requests: a fetch index of the model, or that of a uniqueness constraint.
///
/// A class, so that planning a request copies nothing of it.
package final class RequestIndex: Sendable {
  package let id: UInt16
  let name: String
  package let columns: [Column]
  /// Whether it is a constraint's index, which lacks objects with nil values, and so can only be used if all values are
  /// given.
  package let isConstraint: Bool
  /// The entity with entries for its objects and those of its descendants; nil if unknown.
  package let entityCode: UInt16?
  /// A key without values.
  package let builder: IndexKeyBuilder

  package struct Column: Sendable {
    /// The code of the attribute or relationship.
    package let code: UInt16
    package let name: String
    /// Nil for a to-one relationship.
    package let type: AttributeType?
    package let isAscending: Bool
    package let isFolded: Bool

    package var isText: Bool { type == .string || type == .uri }

    /// Whether the keys contain all values, in the sort order of results.
    package var isSortable: Bool { type != nil && type != .binary && type != .transformable }
  }

  /// Nil for more columns than an index can have, or none.
  init?(id: UInt16, name: String, columns: [Column], isConstraint: Bool, entityCode: UInt16?) {
    guard (1...FormatLimits.maximumIndexValueCount).contains(columns.count) else { return nil }
    self.id = id
    self.name = name
    self.columns = columns
    self.isConstraint = isConstraint
    self.entityCode = entityCode
    builder = IndexKeyBuilder(indexID: id, valueCount: columns.count, isFetchIndex: !isConstraint)
  }

  package var title: String { isConstraint ? "the uniqueness constraint \(name)" : "the index \(name)" }
}

/// The indexes for requests of an entity's objects.
package struct RequestIndexes: Sendable {
  /// The indexes of uniqueness constraints, which every state has.
  package let ofConstraints: [RequestIndex]
  /// The same and the fetch indexes.
  package let all: [RequestIndex]

  init(
    _ constraints: [CompiledConstraint], _ fetchIndexes: [CompiledFetchIndex], _ attributes: [CompiledAttribute],
    _ relationships: [CompiledRelationship]
  ) {
    func column(
      _ place: CompiledConstraint.Column, isAscending: Bool = true, isFolded: Bool = false
    ) -> RequestIndex.Column {
      switch place {
      case .attribute(let index):
        let attribute = attributes[index]
        return .init(
          code: attribute.code, name: attribute.path, type: attribute.description.type, isAscending: isAscending,
          isFolded: isFolded)
      case .toOne(let index):
        let relationship = relationships[index]
        return .init(
          code: relationship.code, name: relationship.name, type: nil, isAscending: isAscending, isFolded: isFolded)
      }
    }
    ofConstraints = constraints.compactMap { constraint in
      let columns = constraint.columns.map { column($0) }
      // Blobs have no entries.
      guard columns.allSatisfy({ $0.type != .binary && $0.type != .transformable }) else { return nil }
      return RequestIndex(
        id: constraint.indexID, name: constraint.name, columns: columns, isConstraint: true, entityCode: nil)
    }
    all =
      ofConstraints
      + fetchIndexes.compactMap { index in
        RequestIndex(
          id: index.indexID, name: index.name,
          columns: index.columns.map { column($0.place, isAscending: $0.isAscending, isFolded: $0.isFolded) },
          isConstraint: false, entityCode: index.entityCode)
      }
  }
}
