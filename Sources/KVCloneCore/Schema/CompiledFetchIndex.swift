package import KVCloneModel
package import KVCloneRecords

/// A fetch index of one concrete entity's objects: an entry for every object, including those with nil.
package struct CompiledFetchIndex: Sendable {
  package let indexID: UInt16
  /// The model's name for it.
  package let name: String
  /// The entity that declares it: its objects and those of its descendants have entries.
  let entityCode: UInt16
  package let columns: [Column]

  package struct Column: Sendable {
    /// The place of an object's value.
    package let place: CompiledConstraint.Column
    /// The code of the attribute or relationship.
    let code: UInt16
    /// Nil for a to-one relationship.
    let type: AttributeType?
    let isAscending: Bool
    /// Whether the text is compared as by `[cd]`.
    let isFolded: Bool
  }

  /// The key of an object's entry, without its id.
  package func builder(_ entity: CompiledEntity, _ view: borrowing RecordView, _ id: ObjectID, _ schema: Schema)
    throws(StoreError) -> IndexKeyBuilder
  {
    var builder = emptyBuilder
    for column in columns {
      let value = try entity.value(at: column.place, view, id, schema)
      do throws(RecordError) { try append(value, column, to: &builder) } catch { throw schema.corrupted(id, error) }
    }
    return builder
  }

  private var emptyBuilder: IndexKeyBuilder {
    IndexKeyBuilder(indexID: indexID, valueCount: columns.count, isFetchIndex: true)
  }

  private func append(_ value: AttributeValue?, _ column: Column, to builder: inout IndexKeyBuilder)
    throws(RecordError)
  {
    var value = value
    if column.isFolded, case .string(let text)? = value { value = .string(QueryText.folded(text, .foldedIndex)) }
    try builder.append(value, descending: !column.isAscending)
  }

  /// The key of an entry with these values, without the object's id.
  private func builder(for values: [AttributeValue?]) throws(RecordError) -> IndexKeyBuilder {
    var builder = emptyBuilder
    for (column, value) in zip(columns, values) { try append(value, column, to: &builder) }
    return builder
  }

  /// The size of an entry with these values, key and value; 0 if no key can hold them.
  package func entryByteCount(_ values: [AttributeValue?]) -> UInt64 {
    guard let builder = try? builder(for: values) else { return 0 }
    return UInt64(builder.bytes.count + 16)
  }
}

extension QueryComparison.Options {
  /// The differences that a folded index column ignores.
  package static let foldedIndex: Self = [.caseInsensitive, .diacriticInsensitive]
}

extension CompiledEntity {
  /// An object's value in a column of an index; a to-one target is represented by its id.
  func value(
    at place: CompiledConstraint.Column, _ view: borrowing RecordView, _ id: ObjectID, _ schema: Schema
  ) throws(StoreError) -> AttributeValue? {
    switch place {
    case .attribute(let index): return try value(of: attributes[index], in: view, id: id, schema: schema)
    case .toOne(let index):
      let relationship = relationships[index]
      let target = field(relationship.field, code: relationship.code, in: view).flatMap { view.toOne($0) }
      return target.map(CompiledConstraint.column)
    }
  }

  /// The code of a column's property.
  func code(at place: CompiledConstraint.Column) -> UInt16 {
    switch place {
    case .attribute(let index): attributes[index].code
    case .toOne(let index): relationships[index].code
    }
  }

  /// Whether objects have entries in any index.
  package var hasIndexes: Bool { !constraints.isEmpty || !fetchIndexes.isEmpty }

  /// The keys of an object's entries: in all indexes, or only in those with some of the properties.
  package func indexKeys(
    _ id: ObjectID, _ view: borrowing RecordView, _ schema: Schema, of codes: Set<UInt16>? = nil
  ) throws(StoreError) -> [[UInt8]] {
    var keys: [[UInt8]] = []
    for constraint in constraints {
      if let codes, !constraint.columns.contains(where: { codes.contains(code(at: $0)) }) { continue }
      if let builder = try constraint.entry(self, view, id, schema) { keys.append(builder.key(id)) }
    }
    for index in fetchIndexes {
      if let codes, !index.columns.contains(where: { codes.contains($0.code) }) { continue }
      keys.append(try index.builder(self, view, id, schema).key(id))
    }
    return keys
  }
}

extension SchemaCompiler {
  /// The fetch indexes of an entity, inherited ones first, as far as the store has their entries.
  func fetchIndexes(
    of lineage: [String], attributes: [CompiledAttribute], relationships: [CompiledRelationship]
  ) -> [CompiledFetchIndex] {
    var compiled: [CompiledFetchIndex] = []
    for name in lineage.reversed() {
      guard let ids = codes.fetchIndexes?[name], let entity = model.entity(named: name),
        let entityCode = codes.entities[name]
      else { continue }
      for index in model.storedFetchIndexes(declaredIn: entity) {
        let columns = index.columns.compactMap { column(for: $0, attributes, relationships) }
        guard let id = ids[index.definition], columns.count == index.columns.count else { continue }
        compiled.append(
          CompiledFetchIndex(indexID: id, name: index.name, entityCode: entityCode, columns: columns))
      }
    }
    return compiled
  }

  private func column(
    for column: StoredFetchIndex.Column, _ attributes: [CompiledAttribute], _ relationships: [CompiledRelationship]
  ) -> CompiledFetchIndex.Column? {
    if let index = attributes.firstIndex(where: { $0.path == column.path && $0.field != nil }) {
      return .init(
        place: .attribute(index), code: attributes[index].code, type: attributes[index].description.type,
        isAscending: column.isAscending, isFolded: column.isFolded)
    }
    guard let index = relationships.firstIndex(where: { $0.name == column.path && !$0.isToMany }) else { return nil }
    return .init(
      place: .toOne(index), code: relationships[index].code, type: nil, isAscending: column.isAscending,
      isFolded: false)
  }
}
