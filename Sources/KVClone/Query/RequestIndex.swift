import KVCloneModel
import KVCloneRecords

/// An index as requests use it: a fetch index of the model, or the one behind a uniqueness constraint.
struct RequestIndex: Sendable {
  let id: UInt16
  let name: String
  let columns: [Column]
  /// A constraint's index lacks objects with a nil in it, so that it answers only for values that are all given.
  let isConstraint: Bool
  /// The entity whose objects, and those of entities below it, have entries; nil where it is not known.
  let entityCode: UInt16?

  struct Column: Sendable {
    /// The code of the attribute or relationship.
    let code: UInt16
    let name: String
    /// nil for a to-one relationship.
    let type: AttributeType?
    let isAscending: Bool
    let isFolded: Bool

    var isText: Bool { type == .string || type == .uri }

    /// Whether all values are in the keys, in the order in which results are sorted.
    var isSortable: Bool { type != nil && type != .binary && type != .transformable }
  }

  /// A key without values.
  var builder: IndexKeyBuilder {
    IndexKeyBuilder(indexID: id, valueCount: columns.count, isFetchIndex: !isConstraint)
  }

  var title: String { isConstraint ? "the uniqueness constraint \(name)" : "the index \(name)" }
}

extension CompiledEntity {
  /// What requests for the entity's objects may use.
  ///
  /// - Parameter hasFetchIndexes: whether the fetch indexes are those of the state that is read.
  func requestIndexes(hasFetchIndexes: Bool) -> [RequestIndex] {
    var indexes: [RequestIndex] = []
    for constraint in constraints {
      let columns = constraint.columns.map { column(at: $0) }
      // Large values have no entries.
      guard columns.allSatisfy({ $0.type != .binary && $0.type != .transformable }),
        columns.count <= FormatLimits.maximumIndexValueCount
      else { continue }
      indexes.append(
        RequestIndex(
          id: constraint.indexID, name: constraint.name, columns: columns, isConstraint: true, entityCode: nil))
    }
    guard hasFetchIndexes else { return indexes }
    return indexes
      + fetchIndexes.map { index in
        RequestIndex(
          id: index.indexID, name: index.name,
          columns: index.columns.map {
            column(at: $0.place, isAscending: $0.isAscending, isFolded: $0.isFolded)
          }, isConstraint: false, entityCode: index.entityCode)
      }
  }

  private func column(
    at place: CompiledConstraint.Column, isAscending: Bool = true, isFolded: Bool = false
  ) -> RequestIndex.Column {
    let (name, type): (String, AttributeType?) =
      switch place {
      case .attribute(let index): (attributes[index].path, attributes[index].description.type)
      case .toOne(let index): (relationships[index].name, nil)
      }
    return RequestIndex.Column(
      code: code(at: place), name: name, type: type, isAscending: isAscending, isFolded: isFolded)
  }
}
