import KVCloneCore
import KVCloneModel
import KVCloneQuery

/// The compiled expressions of a mapping model, and their types.
final class MappingExpressions {
  private let source: Schema
  private let destination: Schema
  private var terms: [QueryExpression: [String: QueryTerm]] = [:]
  private let evaluator: QueryEvaluator

  init(from source: Schema, to destination: Schema) {
    self.source = source
    self.destination = destination
    evaluator = QueryEvaluator(source)
  }

  /// The value of an expression for a source object.
  func value(
    of expression: QueryExpression, _ id: ObjectID, _ mapping: EntityMapping, _ reader: borrowing ReadTransaction
  ) throws -> MigrationValue {
    let name = mapping.sourceEntityName ?? ""
    // The most common form: the object's own attribute, in its own type, with blobs by reference.
    if case .keyPath(.variable("source"), let names) = expression, let entity = try? source.entity(name) {
      let path = names.joined(separator: ".")
      if entity.attributeIndex[path] != nil || entity.composite(at: path) != nil {
        return try reader._withSession { (session) throws(StoreError) in
          try session.value(id, path).map { .value($0) } ?? .null
        }
      }
    }
    let term = try term(expression, name, reader)
    let value = try reader._withSession { (session) throws(StoreError) in
      try evaluator.value(term, id, try session.existingRecord(id), session)
    }
    return Self.migrationValue(QueryConstant(value, term))
  }

  private static func migrationValue(_ constant: QueryConstant) -> MigrationValue {
    switch constant {
    case .null: return .null
    case .value(let value): return .value(value)
    case .object(let id): return .objects([id])
    case .list(let items):
      return .objects(items.compactMap { item in if case .object(let id) = item { id } else { nil } })
    }
  }

  private func term(
    _ expression: QueryExpression, _ entity: String, _ reader: borrowing ReadTransaction
  ) throws -> QueryTerm {
    if let known = terms[expression]?[entity] { return known }
    let own = try expression.substituting(["source": .expression(.`self`)])
    let term = try reader._withSession { (session) throws(StoreError) in
      var compiler = QueryCompiler(try source.entity(entity), in: session)
      if own.isTooDeep { throw compiler.tooDeep }
      return try compiler.term(own)
    }
    terms[expression, default: [:]][entity] = term
    return term
  }

  /// Converts a value to an attribute of the destination.
  ///
  /// - Throws: `notConvertible`.
  func attribute(
    _ value: MigrationValue, _ name: String, _ mapping: EntityMapping, _ id: ObjectID
  ) throws(StoreError) -> AttributeValue? {
    guard case .value(let value) = value else { return nil }
    let entity = try destination.entity(mapping.destinationEntityName ?? "")
    guard let index = entity.attributeIndex[name] else { return value }
    let type = entity.attributes[index].description.type
    if let accepted = type.coerce(value) { return accepted }
    let conversions = AttributeType.allCases.compactMap { AttributeConversion(from: $0, to: type) }
    for conversion in conversions where conversion.source.coerce(value) == value {
      if let converted = conversion.convert(value) { return converted }
    }
    throw StoreError(
      .notConvertible,
      "\(name) of entity mapping \(mapping.name) yields a value for \(source.rootName(of: id)) that has no "
        + "\(type.rawValue) equivalent; use another expression, or a policy", entity: entity.name, property: name,
      object: source.rootName(of: id))
  }

  func relationship(_ name: String, _ mapping: EntityMapping) throws(StoreError) -> CompiledRelationship {
    try destination.entity(mapping.destinationEntityName ?? "").relationship(name)
  }

  /// Whether an object of the destination is a valid target of a relationship.
  func isObject(
    _ id: ObjectID, of relationship: CompiledRelationship, _ transaction: borrowing WriteTransaction
  ) throws(StoreError) -> Bool {
    try transaction._withSession { (session) throws(StoreError) in
      guard id.rootCode == relationship.destinationRootCode else { return false }
      return try session.entity(of: id).isKind(of: relationship.destinationCode)
    }
  }
}
