package import KVCloneModel
package import KVCloneRecords

extension CompiledEntity {
  /// The field of a property in `view`, by the layout of the record.
  @inline(__always)
  package func field(_ field: Int, code: UInt16, in view: borrowing RecordView) -> Int? {
    view.layout == layout ? field : view.layout.fieldIndex(ofProperty: code)
  }

  /// A stored element's value; for a record that is older than the attribute, its default at that time.
  package func value(of attribute: CompiledAttribute, in view: borrowing RecordView, id: ObjectID, schema: Schema)
    throws(StoreError) -> AttributeValue?
  {
    guard let preset = attribute.field else { return nil }
    guard let field = field(preset, code: attribute.code, in: view) else { return attribute.fill }
    do throws(RecordError) {
      return try view.value(field)
    } catch {
      throw schema.corrupted(id, error, view.layout)
    }
  }

  /// An attribute's value by name; a composite's is assembled from its elements, and is nil if they all are.
  package func value(named name: String, in view: borrowing RecordView, id: ObjectID, schema: Schema) throws(StoreError)
    -> AttributeValue?
  {
    if view.layout == layout, let field = attributeFields[name], field >= 0 {
      do throws(RecordError) { return try view.value(field) } catch { throw schema.corrupted(id, error, view.layout) }
    }
    if let index = attributeIndex[name] { return try value(of: attributes[index], in: view, id: id, schema: schema) }
    guard let composite = composite(at: name) else { throw unknownAttribute(name) }
    return try compositeValue(composite, path: name, in: view, id: id, schema: schema)
  }

  /// The target of a to-one relationship; nil for an empty or unknown one.
  func toOne(_ relationship: String, _ view: borrowing RecordView) -> ObjectID? {
    guard let compiled = try? self.relationship(relationship), !compiled.isToMany,
      let field = field(compiled.field, code: compiled.code, in: view)
    else { return nil }
    return view.toOne(field)
  }

  /// The number of members in a relationship; 0 for an unknown one.
  package func count(_ relationship: String, _ view: borrowing RecordView) -> Int {
    guard let compiled = try? self.relationship(relationship),
      let field = field(compiled.field, code: compiled.code, in: view)
    else { return 0 }
    return compiled.isToMany ? view.head(field).count : view.toOne(field) == nil ? 0 : 1
  }

  /// The composite attribute at a path: the entity's, or an element of another.
  package func composite(at path: String) -> AttributeDescription? {
    let names = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard var found = composites[names[0]] else { return nil }
    for name in names.dropFirst() {
      guard let element = found.elements.first(where: { $0.name == name && $0.type == .composite }) else { return nil }
      found = element
    }
    return found
  }

  /// A transient composite attribute assembled from its elements' values; nil for any other.
  func transientComposite(_ path: String, _ leaf: (String) -> AttributeValue?) -> AttributeValue? {
    guard let composite = composite(at: path) else { return nil }
    var values: [String: AttributeValue] = [:]
    for element in composite.elements {
      let elementPath = path + "." + element.name
      if element.type == .composite {
        values[element.name] = transientComposite(elementPath, leaf)
      } else if let index = attributeIndex[elementPath], attributes[index].field == nil {
        values[element.name] = leaf(elementPath)
      }
    }
    return values.isEmpty ? nil : .composite(values)
  }

  private func compositeValue(
    _ composite: AttributeDescription, path: String, in view: borrowing RecordView, id: ObjectID, schema: Schema
  ) throws(StoreError) -> AttributeValue? {
    var values: [String: AttributeValue] = [:]
    for element in composite.elements {
      let elementPath = path + "." + element.name
      if element.type == .composite {
        values[element.name] = try compositeValue(element, path: elementPath, in: view, id: id, schema: schema)
      } else if let index = attributeIndex[elementPath] {
        values[element.name] = try value(of: attributes[index], in: view, id: id, schema: schema)
      }
    }
    return values.isEmpty ? nil : .composite(values)
  }

  /// The elements that setting these attributes sets, each with a value of its type: in the order of the entity's
  /// attributes, or, if composites or mistakes are among them, of the names.
  ///
  /// - Throws: see ``assignments(_:_:)``; of several mistakes, that of the first name.
  func assignments(_ values: [String: AttributeValue?]) throws(StoreError)
    -> [(attribute: CompiledAttribute, value: AttributeValue?)]
  {
    if values.isEmpty { return [] }
    var result: [(attribute: CompiledAttribute, value: AttributeValue?)] = []
    if values.count <= attributes.count {
      result.reserveCapacity(values.count)
      for attribute in attributes {
        guard let given = values[attribute.path] else { continue }
        guard let given else {
          result.append((attribute, nil))
          continue
        }
        guard let value = try? accepted(given, by: attribute) else { break }
        result.append((attribute, value))
      }
      if result.count == values.count { return result }
      result.removeAll()
    }
    for name in values.keys.sorted() { result += try assignments(name, values[name] ?? nil) }
    return result
  }

  /// Like ``assignments(_:)-([String:AttributeValue?])``, for attributes with distinct names, in their order.
  package func assignments(_ values: [(attribute: String, value: AttributeValue?)]) throws(StoreError)
    -> [(attribute: CompiledAttribute, value: AttributeValue?)]
  {
    var result: [(attribute: CompiledAttribute, value: AttributeValue?)] = []
    result.reserveCapacity(values.count)
    for (name, value) in values {
      if let index = attributeIndex[name] {
        result.append((attributes[index], try accepted(value, by: attributes[index])))
      } else {
        result += try assignments(name, value)
      }
    }
    return result
  }

  /// The elements that setting an attribute sets, each with a value of its type.
  ///
  /// - Throws: `unknownProperty`, `wrongType`, `outOfRange`.
  package func assignments(_ name: String, _ value: AttributeValue?) throws(StoreError)
    -> [(attribute: CompiledAttribute, value: AttributeValue?)]
  {
    if let index = attributeIndex[name] {
      return [(attributes[index], try accepted(value, by: attributes[index]))]
    }
    guard let composite = composite(at: name) else { throw unknownAttribute(name) }
    return try compositeAssignments(composite, path: name, value)
  }

  private func compositeAssignments(_ composite: AttributeDescription, path: String, _ value: AttributeValue?)
    throws(StoreError) -> [(attribute: CompiledAttribute, value: AttributeValue?)]
  {
    var given: [String: AttributeValue] = [:]
    switch value {
    case nil: break
    case .composite(let elements): given = elements
    default:
      throw StoreError(
        .wrongType, "\(name).\(path) is a composite attribute; pass a composite value with its elements by name",
        entity: name, property: path)
    }
    for key in given.keys.sorted() where !composite.elements.contains(where: { $0.name == key }) {
      throw unknownAttribute(path + "." + key)
    }
    var result: [(attribute: CompiledAttribute, value: AttributeValue?)] = []
    for element in composite.elements {
      let elementPath = path + "." + element.name
      if element.type == .composite {
        result += try compositeAssignments(element, path: elementPath, given[element.name])
      } else if let index = attributeIndex[elementPath] {
        result.append((attributes[index], try accepted(given[element.name], by: attributes[index])))
      }
    }
    return result
  }

  /// The value converted to the attribute's type.
  private func accepted(_ value: AttributeValue?, by attribute: CompiledAttribute) throws(StoreError) -> AttributeValue?
  {
    guard let value else { return nil }
    if case .blob(let reference) = value {
      let type = attribute.description.type
      if type == (reference.isTransformable ? .transformable : .binary) { return value }
    } else if let accepted = attribute.description.type.coerce(value) {
      return accepted
    }
    let type = attribute.description.type
    if case .integer = value, type.isInteger {
      throw StoreError(
        .outOfRange,
        "the value is out of the range of \(name).\(attribute.path), which is \(type.rawValue); use a smaller number, or "
          + "a wider type in the model", entity: name, property: attribute.path)
    }
    throw StoreError(
      .wrongType, "\(name).\(attribute.path) is \(type.rawValue); pass a value of that type", entity: name,
      property: attribute.path)
  }

  /// The error for an unknown attribute.
  func unknownAttribute(_ name: String) -> StoreError {
    StoreError(
      .unknownProperty, "\(self.name) has no attribute \(name); check the spelling", entity: self.name, property: name)
  }
}

extension CompiledEntity {
  /// Rejects setting a derived attribute.
  package func refuseDerived(
    _ assignments: [(attribute: CompiledAttribute, value: AttributeValue?)], object: String? = nil
  ) throws(StoreError) {
    for (attribute, _) in assignments where attribute.description.isDerived {
      throw StoreError(
        .wrongType, "\(name).\(attribute.path) is a derived attribute, which only the store computes; do not set it",
        entity: name,
        property: attribute.path, object: object)
    }
  }
}

extension CompiledAttribute {
  /// The composite attribute that contains this element.
  package var composite: String? { path.firstIndex(of: ".").map { String(path[..<$0]) } }
}
