package import KVCloneModel
package import KVCloneRecords

/// Compiles entity descriptions.
struct SchemaCompiler {
  let model: ManagedObjectModel
  let codes: SchemaCodes
  /// Nil while a store is being created and has no tables yet: layouts need none.
  let tables: SchemaTables?

  /// The layout of an entity's records: its stored properties, by code.
  func layout(for entity: EntityDescription) throws(StoreError) -> RecordLayout {
    var fields: [RecordLayout.Field] = []
    for attribute in model.attributes(of: entity.name) where !attribute.isTransient {
      for leaf in CompiledAttribute.leaves(of: attribute) {
        guard let kind = FieldKind(storing: leaf.description.type) else {
          throw StoreError(
            .invalidModel, "\(entity.name).\(leaf.path) has no attribute type; give it one or make it transient",
            entity: entity.name, property: leaf.path)
        }
        fields.append(.init(propertyCode: try code(of: leaf.path, top: attribute.name, entity), kind: kind))
      }
    }
    for relationship in model.relationships(of: entity.name) where !relationship.isTransient {
      let code = try code(of: relationship.name, top: relationship.name, entity)
      fields.append(.init(propertyCode: code, kind: relationship.isToMany ? .toMany : .toOne))
    }
    guard fields.count <= FormatLimits.maximumFieldCount else {
      throw StoreError(
        .invalidModel,
        "\(entity.name) has \(fields.count) stored properties, including the leaves of composites; the maximum is "
          + "\(FormatLimits.maximumFieldCount)", entity: entity.name)
    }
    let id = codes.layouts[entity.name] ?? 0
    return RecordLayout(id: id, entityCode: codes.entities[entity.name] ?? 0, fields: fields)
  }

  func compile(_ entity: EntityDescription, layouts: [RecordLayout?]) throws(StoreError) -> CompiledEntity {
    let lineage = lineage(of: entity)
    guard let code = codes.entities[entity.name], let rootName = lineage.last, let rootCode = codes.entities[rootName],
      let table = tables?.objects[rootCode]
    else {
      throw StoreError(.corrupted, "the store's metadata lacks entity \(entity.name); restore it from a backup")
    }
    let id = codes.layouts[entity.name] ?? 0
    let layout = try self.layout(for: entity)
    // The stored layout has to match the model's, or records would be read by the wrong fields.
    if !entity.isAbstract, Int(id) >= layouts.count || layouts[Int(id)]?.fields != layout.fields {
      throw StoreError(
        .corrupted,
        "the store's metadata and model disagree about the records of \(entity.name); restore it from a backup",
        entity: entity.name)
    }
    let relationships = try relationships(of: entity, layout: layout)
    let attributes = try attributes(of: entity, layout: layout)
    let own = model.attributes(of: entity.name)
    return CompiledEntity(
      name: entity.name, code: code, rootCode: rootCode, isAbstract: entity.isAbstract, layout: layout, table: table,
      attributes: attributes,
      composites: Dictionary(
        own.filter { $0.type == .composite }.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first }),
      attributeNames: own.map(\.name), relationships: relationships,
      constraints: constraints(of: lineage, attributes: attributes, relationships: relationships),
      fetchIndexes: fetchIndexes(of: lineage, attributes: attributes, relationships: relationships),
      lineage: Set(lineage.compactMap { codes.entities[$0] }), concreteCodes: concreteCodes(below: entity.name),
      referrerCodes: referrerCodes(pointingAt: lineage))
  }

  /// The names of the entity and its ancestors, nearest first.
  private func lineage(of entity: EntityDescription) -> [String] {
    var names: [String] = []
    var current: EntityDescription? = entity
    while let candidate = current, !names.contains(candidate.name) {
      names.append(candidate.name)
      current = candidate.superentityName.flatMap { model.entity(named: $0) }
    }
    return names
  }

  private func code(of path: String, top: String, _ entity: EntityDescription) throws(StoreError) -> UInt16 {
    let declaring = SchemaInverse.declaringEntity(of: top, from: entity, in: model)
    guard let code = codes.properties[declaring]?[path] else {
      throw StoreError(
        .corrupted, "the store's metadata lacks a code for \(declaring).\(path); restore it from a backup",
        entity: declaring, property: path)
    }
    return code
  }

  private func attributes(of entity: EntityDescription, layout: RecordLayout) throws(StoreError) -> [CompiledAttribute]
  {
    var compiled: [CompiledAttribute] = []
    for attribute in model.attributes(of: entity.name) {
      for leaf in CompiledAttribute.leaves(of: attribute) {
        if attribute.isTransient {
          compiled.append(.init(path: leaf.path, description: leaf.description, field: nil, code: 0))
          continue
        }
        let code = try code(of: leaf.path, top: attribute.name, entity)
        compiled.append(
          .init(
            path: leaf.path, description: leaf.description, field: layout.fieldIndex(ofProperty: code), code: code,
            fill: codes.fill(ofProperty: code)))
      }
    }
    return compiled
  }

  private func relationships(of entity: EntityDescription, layout: RecordLayout) throws(StoreError)
    -> [CompiledRelationship]
  {
    var compiled: [CompiledRelationship] = []
    for relationship in model.relationships(of: entity.name) where !relationship.isTransient {
      let declaring = SchemaInverse.declaringEntity(of: relationship.name, from: entity, in: model)
      let code = try code(of: relationship.name, top: relationship.name, entity)
      let inverse = SchemaInverse.inverse(of: relationship, declaredIn: declaring, in: model)
      let inverseCode =
        inverse.flatMap { codes.properties[$0.entity]?[$0.relationship.name] }
        ?? codes.referrers[declaring]?[relationship.name]
      guard let destination = model.entity(named: relationship.destinationEntityName),
        let destinationCode = codes.entities[destination.name],
        let rootCode = lineage(of: destination).last.flatMap({ codes.entities[$0] }),
        let field = layout.fieldIndex(ofProperty: code), let inverseCode
      else {
        throw StoreError(
          .corrupted,
          "the store's metadata is incomplete for \(declaring).\(relationship.name); restore it from a backup",
          entity: declaring, property: relationship.name)
      }
      compiled.append(
        CompiledRelationship(
          description: relationship, declaringEntity: declaring, code: code, field: field,
          destinationCode: destinationCode, destinationRootCode: rootCode, inverseCode: inverseCode,
          inverse: inverse?.relationship))
    }
    return compiled
  }

  private func constraints(
    of lineage: [String], attributes: [CompiledAttribute], relationships: [CompiledRelationship]
  ) -> [CompiledConstraint] {
    var compiled: [CompiledConstraint] = []
    for name in lineage.reversed() {
      for constraint in model.entity(named: name)?.uniquenessConstraints ?? [] {
        let columns: [CompiledConstraint.Column] = constraint.compactMap { column in
          if let index = attributes.firstIndex(where: { $0.path == column && $0.field != nil }) {
            return .attribute(index)
          }
          if let index = relationships.firstIndex(where: { $0.name == column && !$0.isToMany }) { return .toOne(index) }
          return nil
        }
        let text = constraint.joined(separator: ",")
        guard let id = codes.indexes[name]?[text], columns.count == constraint.count else { continue }
        compiled.append(CompiledConstraint(indexID: id, name: text, columns: columns))
      }
    }
    return compiled
  }

  private func concreteCodes(below name: String) -> Set<UInt16> {
    Set(
      model.entities.filter { !$0.isAbstract && lineage(of: $0).contains(name) }.compactMap { codes.entities[$0.name] })
  }

  private func referrerCodes(pointingAt lineage: [String]) -> [UInt16] {
    var found: [UInt16] = []
    for entity in model.entities {
      for relationship in entity.relationships
      where !relationship.isTransient && lineage.contains(relationship.destinationEntityName) {
        if let code = codes.referrers[entity.name]?[relationship.name] { found.append(code) }
      }
    }
    return found.sorted()
  }
}

extension FieldKind {
  /// The field kind for values of a type; nil for types that are not stored in one field.
  package init?(storing type: AttributeType) {
    switch type {
    case .integer16: self = .integer16
    case .integer32: self = .integer32
    case .integer64: self = .integer64
    case .decimal: self = .decimal
    case .double: self = .double
    case .float: self = .float
    case .string: self = .string
    case .boolean: self = .boolean
    case .date: self = .date
    case .binary: self = .binary
    case .uuid: self = .uuid
    case .uri: self = .uri
    case .transformable: self = .transformable
    case .composite, .undefined: return nil
    }
  }
}
