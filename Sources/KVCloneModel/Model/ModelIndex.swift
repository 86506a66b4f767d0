/// The resolved inheritance of a model, for its lookups.
///
/// Invariant: the arrays are parallel to the model's `entities`; of entities with equal names only the first is found
/// by name. Cyclic or dangling inheritance ends the chain, so that no lookup can loop.
struct ModelIndex: Sendable {
  private(set) var positions: [String: Int] = [:]
  /// The ancestors of each entity, parent first.
  private(set) var superentities: [[Int]] = []
  private(set) var directSubentities: [[Int]] = []
  private(set) var attributes: [[AttributeDescription]] = []
  private(set) var relationships: [[RelationshipDescription]] = []
  private(set) var attributePositions: [[String: Int]] = []
  private(set) var relationshipPositions: [[String: Int]] = []
  private(set) var userInfo: [[String: String]] = []
  /// The first entity that exceeds ``ModelLimits`` and is incomplete; validation rejects the model.
  private(set) var overflow: Int?
  /// A composite that contains itself.
  private(set) var cyclicComposite: String?
  let compositeNames: Set<String>

  init(entities: [EntityDescription], composites: [CompositeAttributeDescription]) {
    compositeNames = Set(composites.map(\.name))
    for (position, entity) in entities.enumerated() where positions[entity.name] == nil {
      positions[entity.name] = position
    }
    superentities = entities.indices.map { chain(above: $0, in: entities) }
    directSubentities = Array(repeating: [], count: entities.count)
    for (position, chain) in superentities.enumerated() {
      if let parent = chain.first { directSubentities[parent].append(position) }
    }
    let elements = CompositeElements(composites)
    cyclicComposite = elements.cyclic
    var resolved = 0
    for (position, entity) in entities.enumerated() {
      var lineage = superentities[position].reversed().map { entities[$0] } + [entity]
      resolved += lineage.reduce(0) { $0 + $1.attributes.count + $1.relationships.count }
      if resolved > ModelLimits.resolvedProperties {
        overflow = overflow ?? position
        lineage = []
      }
      var resolvedAttributes = Self.merge(lineage.map(\.attributes))
      for place in resolvedAttributes.indices where resolvedAttributes[place].type == .composite {
        // Each use has its own elements: any number of attributes can use the same composites.
        guard let size = elements.size(of: [resolvedAttributes[place]]) else {
          overflow = overflow ?? position
          continue
        }
        resolved += size.count
        if resolved > ModelLimits.resolvedProperties {
          overflow = overflow ?? position
          break
        }
        resolvedAttributes[place] = elements.filling(resolvedAttributes[place])
      }
      let resolvedRelationships = Self.merge(lineage.map(\.relationships))
      attributes.append(resolvedAttributes)
      relationships.append(resolvedRelationships)
      attributePositions.append(Self.positions(of: resolvedAttributes))
      relationshipPositions.append(Self.positions(of: resolvedRelationships))
      userInfo.append(lineage.reduce(into: [:]) { $0.merge($1.userInfo) { _, own in own } })
    }
  }

  private func chain(above start: Int, in entities: [EntityDescription]) -> [Int] {
    var result: [Int] = []
    var seen: Set<Int> = [start]
    var current = start
    while result.count < ModelLimits.inheritanceDepth, let name = entities[current].superentityName,
      let parent = positions[name], seen.insert(parent).inserted
    {
      result.append(parent)
      current = parent
    }
    return result
  }

  /// Merges declarations: inherited properties first; a redeclared property keeps its place, and its annotations are
  /// merged with the inherited ones (R22).
  private static func merge<Property: MergeableProperty>(_ declarations: [[Property]]) -> [Property] {
    var result: [Property] = []
    var places: [String: Int] = [:]
    for properties in declarations {
      for property in properties {
        if let place = places[property.name] {
          var merged = property
          merged.userInfo = result[place].userInfo.merging(property.userInfo) { _, own in own }
          result[place] = merged
        } else {
          places[property.name] = result.count
          result.append(property)
        }
      }
    }
    return result
  }

  private static func positions(of properties: [some PropertyDescription]) -> [String: Int] {
    Dictionary(properties.enumerated().map { ($1.name, $0) }) { first, _ in first }
  }
}

/// A property with annotations that can be merged.
private protocol MergeableProperty: PropertyDescription {
  var userInfo: [String: String] { get set }
}

extension AttributeDescription: MergeableProperty {}
extension RelationshipDescription: MergeableProperty {}

/// Fills in the elements of composite attributes.
private struct CompositeElements {
  private let elements: [String: [AttributeDescription]]
  /// The number of elements of a composite through all levels; missing for one that contains itself, or too many.
  private var sizes: [String: Size] = [:]
  private(set) var cyclic: String?

  init(_ composites: [CompositeAttributeDescription]) {
    elements = Dictionary(composites.map { ($0.name, $0.elements) }) { first, _ in first }
    // Sizes are computed bottom-up: each round adds the composites of which all parts are known, so that neither a
    // cycle nor a long chain needs recursion.
    var users: [String: [String]] = [:]
    var unknownParts: [String: Int] = [:]
    for (name, elements) in elements {
      let parts = elements.compactMap { $0.type == .composite ? $0.compositeName : nil }.filter(isNamed)
      unknownParts[name] = parts.count
      for part in parts { users[part, default: []].append(name) }
    }
    var ready = unknownParts.filter { $0.value == 0 }.map(\.key)
    var visited = 0
    while let name = ready.popLast() {
      visited += 1
      sizes[name] = size(of: elements[name] ?? [])
      for user in users[name] ?? [] {
        unknownParts[user, default: 0] -= 1
        if unknownParts[user] == 0 { ready.append(user) }
      }
    }
    if visited < elements.count { cyclic = unknownParts.filter { $0.value > 0 }.keys.min() }
  }

  private func isNamed(_ name: String) -> Bool { elements[name] != nil }

  fileprivate struct Size {
    var count = 0
    var depth = 0
  }

  /// Nil if a nested composite has no size, or exceeds the limits.
  fileprivate func size(of attributes: [AttributeDescription], level: Int = 0) -> Size? {
    guard level < ModelLimits.compositeDepth else { return nil }
    var result = Size(count: attributes.count)
    for attribute in attributes where attribute.type == .composite {
      var inner = Size()
      if let name = attribute.compositeName {
        guard isNamed(name) else { continue }
        guard let named = sizes[name] else { return nil }
        inner = named
      } else {
        guard let own = size(of: attribute.elements, level: level + 1) else { return nil }
        inner = own
      }
      result.count += inner.count
      result.depth = max(result.depth, inner.depth + 1)
      guard result.count <= ModelLimits.compositeElements else { return nil }
    }
    guard result.count <= ModelLimits.compositeElements, result.depth <= ModelLimits.compositeDepth else { return nil }
    return result
  }

  /// Returns the attribute with its elements. Requires that they have a size.
  fileprivate func filling(_ attribute: AttributeDescription) -> AttributeDescription {
    guard attribute.type == .composite else { return attribute }
    var result = attribute
    if let name = attribute.compositeName { result.elements = elements[name] ?? [] }
    result.elements = result.elements.map(filling)
    return result
  }
}
