import KVCloneModel

extension ReferenceCloner {
  /// The value of a clone: known or symbolic.
  private indirect enum Value: Hashable {
    case known(AttributeValue)
    case symbolic(SymbolicValue)
    case composite([String: Value])
    /// A to-one relationship's target, as part of a constraint.
    case target(Label)
  }

  /// One attribute, or element of a composite, of one clone.
  private struct Place {
    let source: Label
    let clone: Label
    let parent: Label?
    let copy: Int
    let path: String
  }

  /// The values of one clone for one constraint.
  private struct Key: Hashable {
    let constraint: Constraint
    let values: [Value]
  }

  /// R15 to R22, then R24.
  mutating func makeAttributes() {
    var values: [Label: [String: Value]] = [:]
    for (copy, clones) in result.copies.enumerated() {
      // Discovery order: a parent's clone has its values before other clones follow them.
      for source in result.sources {
        guard let clone = clones[source], let entity = model.entities[source.entity] else { continue }
        for attribute in entity.attributes where !attribute.isTransient {
          if attribute.isDerived {
            values[clone, default: [:]][attribute.name] = .symbolic(.computed)
            continue
          }
          let place = Place(
            source: source, clone: clone, parent: result.discoveryParents[source], copy: copy, path: attribute.name)
          let original = graph[source]?.attributes[attribute.name]
          values[clone, default: [:]][attribute.name] = value(attribute, original, place, values)
        }
      }
    }
    checkUniqueness(values)
    for (clone, attributes) in values {
      for (name, value) in attributes { store(value, of: clone, name) }
    }
  }

  /// Strongest first: exclude, followParent, rebuild, copy.
  private mutating func value(
    _ attribute: AttributeDescription, _ original: AttributeValue?, _ place: Place, _ values: [Label: [String: Value]]
  ) -> Value? {
    let userInfo = attribute.userInfo
    if userInfo[options.keys.exclude] != nil {
      return blank(attribute, place, otherwise: "excludedAttributeIsRequired")
    }
    if let name = userInfo[options.keys.followParent] {
      if let parent = place.parent, let parentClone = result.copies[place.copy][parent],
        let followed = model.entities[parent.entity]?.attribute(name), followed.type == attribute.type,
        followed.compositeName == attribute.compositeName
      {
        let value = values[parentClone]?[name]
        if value == nil && !attribute.isOptional { fail("parentUnavailable", place) }
        return value
      }
      switch userInfo[options.keys.withoutParent] {
      case "keep": break
      case "blank": return blank(attribute, place, otherwise: "parentUnavailable")
      default:
        fail("parentUnavailable", place)
        return nil
      }
    }
    if let rebuild = userInfo[options.keys.rebuild]?.lowercased() {
      switch (rebuild, attribute.type) {
      case ("uuid", .uuid): return .symbolic(.fresh(place.clone, place.path))
      case ("now", .date): return .symbolic(.now)
      default:
        fail("rebuildTypeMismatch", place)
        return nil
      }
    }
    // R21. A composite that is nil has no elements to apply rules to.
    if attribute.type == .composite, case .composite(let elements)? = original {
      var copied: [String: Value] = [:]
      for element in attribute.elements {
        let inner = Place(
          source: place.source, clone: place.clone, parent: place.parent, copy: place.copy,
          path: "\(place.path).\(element.name)")
        copied[element.name] = value(element, elements[element.name], inner, values)
      }
      return .composite(copied)
    }
    return original.map { .known($0) }
  }

  /// Returns the default value, or nil.
  private mutating func blank(_ attribute: AttributeDescription, _ place: Place, otherwise kind: String) -> Value? {
    if let value = attribute.defaultValue { return .known(value) }
    if !attribute.isOptional { fail(kind, place) }
    return nil
  }

  private mutating func fail(_ kind: String, _ place: Place) {
    let error = ReferenceCloneError(kind, entity: place.source.entity, property: place.path, object: place.source)
    if !errors.contains(error) { errors.append(error) }
  }

  /// R24: against the store and within the clones; nil never conflicts.
  private mutating func checkUniqueness(_ values: [Label: [String: Value]]) {
    var seen: Set<Key> = []
    for object in graph.objects.values {
      guard let entity = model.entities[object.label.entity] else { continue }
      for constraint in entity.constraints where constraint.isChecked(in: entity) {
        let parts = constraint.properties.compactMap {
          object.attributes[$0].map(known) ?? object.targets($0).first.map { .target($0) }
        }
        if parts.count == constraint.properties.count { seen.insert(Key(constraint: constraint, values: parts)) }
      }
    }
    for clones in result.copies {
      for source in result.sources {
        guard let clone = clones[source], let entity = model.entities[source.entity] else { continue }
        for constraint in entity.constraints where constraint.isChecked(in: entity) {
          let parts = constraint.properties.compactMap {
            values[clone]?[$0].map(normalized) ?? result.after[clone]?.targets($0).first.map { .target($0) }
          }
          guard parts.count == constraint.properties.count else { continue }
          if seen.insert(Key(constraint: constraint, values: parts)).inserted { continue }
          let error = ReferenceCloneError(
            "uniquenessConflict", entity: constraint.entity,
            property: constraint.properties.joined(separator: ","), object: source)
          if !errors.contains(error) { errors.append(error) }
        }
      }
    }
  }

  /// Composites element by element, so that a copied one equals a followed one.
  private func known(_ value: AttributeValue) -> Value {
    if case .composite(let elements) = value { return .composite(elements.mapValues(known)) }
    return .known(value)
  }

  private func normalized(_ value: Value) -> Value {
    switch value {
    case .known(let value): known(value)
    case .composite(let elements): .composite(elements.mapValues(normalized))
    case .symbolic, .target: value
    }
  }

  /// Writes known values into the graph and the others into the symbols.
  private mutating func store(_ value: Value, of clone: Label, _ name: String) {
    var symbols: [String: SymbolicValue] = [:]
    result.after.objects[clone]?.attributes[name] = Self.split(value, name, &symbols)
    if !symbols.isEmpty { result.symbols[clone, default: [:]].merge(symbols) { $1 } }
  }

  private static func split(
    _ value: Value, _ path: String, _ symbols: inout [String: SymbolicValue]
  ) -> AttributeValue? {
    switch value {
    case .known(let value): return value
    case .symbolic(let symbol):
      symbols[path] = symbol
      return nil
    case .composite(let elements):
      var known: [String: AttributeValue] = [:]
      for (name, element) in elements { known[name] = split(element, "\(path).\(name)", &symbols) }
      return .composite(known)
    case .target: return nil
    }
  }
}
