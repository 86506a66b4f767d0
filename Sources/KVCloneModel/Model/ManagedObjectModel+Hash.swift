// The canonical form. Every part is a UTF-8 text or a list; a text is its length in bytes as 8 bytes, big-endian, then
// the bytes; a list is its number of items as 8 bytes, then the items; flags and numbers are texts ("1", "0", "12"); a
// missing value is the empty text.
//
//   model     "KVClone model 1", list of (entity name, entity hash in hex), sorted by name in UTF-8
//   entity    "KVClone entity 1", name, hash in hex of the superentity, isAbstract, modifier, list of own properties,
//             sorted by name in UTF-8
//   attribute "attribute", name, optional, transient, type as Core Data spells it, modifier, list of elements, which
//             are attributes, too, sorted by name in UTF-8
//   relation  "relationship", name, optional, transient, destination, minimum, maximum, delete rule, inverse, toMany,
//             ordered, modifier
//   fetched   "fetched", name, optional, modifier
//
// These are the inputs that Core Data documents for `versionHash`, and for relationships the ordered flag, which
// changes what is stored. As in Core Data, neither declaration order nor defaults, bounds, indexes, constraints or
// userInfo count.

extension ManagedObjectModel {
  /// A hash of the stored data that the model describes. It is independent of the order of declarations: two models
  /// have equal hashes only if they describe the same stored data.
  public var modelHash: ModelHash {
    var form = CanonicalForm("KVClone model 1")
    let hashes = versionHashes
    form.append(count: hashes.count)
    for (name, hash) in hashes.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
      form.append(name)
      form.append(hash.hex)
    }
    return form.hash()
  }

  /// Returns the hash of an entity, which changes with every change to the stored form of its objects; nil if the
  /// entity does not exist.
  public func versionHash(of name: String) -> ModelHash? {
    index.positions[name] == nil ? nil : lineage(of: name).reduce(nil) { hash(of: $1, below: $0) }
  }

  /// The hashes of all entities, by name.
  public var versionHashes: [String: ModelHash] {
    var result: [String: ModelHash] = [:]
    for entity in entities where result[entity.name] == nil {
      var above: ModelHash?
      for ancestor in lineage(of: entity.name) {
        let known = result[ancestor.name] ?? hash(of: ancestor, below: above)
        result[ancestor.name] = known
        above = known
      }
    }
    return result
  }

  private func hash(of entity: EntityDescription, below superentity: ModelHash?) -> ModelHash {
    var form = CanonicalForm("KVClone entity 1")
    form.append(entity.name)
    form.append(superentity?.hex ?? "")
    form.append(entity.isAbstract)
    form.append(entity.versionHashModifier ?? "")
    var properties: [(name: String, form: CanonicalForm)] = []
    for attribute in entity.attributes {
      // The resolved attribute has its elements.
      let resolved = self.attribute(attribute.name, of: entity.name)
      var filled = attribute
      filled.elements = resolved?.elements ?? attribute.elements
      properties.append((attribute.name, canonicalForm(of: filled)))
    }
    for relationship in entity.relationships {
      properties.append((relationship.name, canonicalForm(of: relationship)))
    }
    for property in entity.fetchedProperties {
      var form = CanonicalForm("fetched")
      form.append(property.name)
      form.append(property.isOptional)
      form.append(property.versionHashModifier ?? "")
      properties.append((property.name, form))
    }
    form.append(count: properties.count)
    for property in properties.sorted(by: { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }) {
      form.append(property.form)
    }
    return form.hash()
  }

  private func canonicalForm(of attribute: AttributeDescription) -> CanonicalForm {
    var form = CanonicalForm("attribute")
    form.append(attribute.name)
    form.append(attribute.isOptional)
    form.append(attribute.isTransient)
    form.append(attribute.type.rawValue)
    form.append(attribute.versionHashModifier ?? "")
    form.append(count: attribute.elements.count)
    for element in attribute.elements.sorted(by: { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }) {
      form.append(canonicalForm(of: element))
    }
    return form
  }

  private func canonicalForm(of relationship: RelationshipDescription) -> CanonicalForm {
    var form = CanonicalForm("relationship")
    form.append(relationship.name)
    form.append(relationship.isOptional)
    form.append(relationship.isTransient)
    form.append(relationship.destinationEntityName)
    form.append(String(relationship.minCount))
    form.append(String(relationship.maxCount))
    form.append(relationship.deleteRule.rawValue)
    form.append(relationship.inverseName ?? "")
    form.append(relationship.isToMany)
    form.append(relationship.isOrdered)
    form.append(relationship.versionHashModifier ?? "")
    return form
  }
}

/// An unambiguous encoding: different lists of parts have different bytes.
private struct CanonicalForm {
  private var bytes: [UInt8] = []

  init(_ tag: String) {
    append(tag)
  }

  mutating func append(count: Int) {
    bytes.append(contentsOf: (0..<8).map { UInt8(truncatingIfNeeded: count >> (56 - 8 * $0)) })
  }

  mutating func append(_ text: String) {
    append(count: text.utf8.count)
    bytes.append(contentsOf: text.utf8)
  }

  mutating func append(_ flag: Bool) { append(flag ? "1" : "0") }

  mutating func append(_ other: CanonicalForm) { bytes.append(contentsOf: other.bytes) }

  func hash() -> ModelHash { SHA256.hash(bytes) }
}
