/// Which entities and properties of a model are which ones of an earlier version.
///
/// As in Core Data, something has a canonical name, which is its renaming identifier, or its name where it has none. Two with the
/// same canonical name are the same; so a chain of renames that keeps the first name as its identifier is one from any version
/// to any later one. Where that finds nothing, an identifier that is the earlier version's name counts, and then the same name:
/// both occur in real models, and anything else would lose objects.
package struct ModelMatching: Sendable {
  package let source: ManagedObjectModel
  package let destination: ManagedObjectModel
  /// Entity of the destination → that of the source.
  package let entities: [String: String]
  /// Entity of the source → that of the destination.
  package let laterEntities: [String: String]
  /// Entity of the destination → its attributes → those of the source's entity; inherited ones, too.
  private let attributes: [String: [String: String]]
  private let relationships: [String: [String: String]]

  package init(from source: ManagedObjectModel, to destination: ManagedObjectModel) {
    self.source = source
    self.destination = destination
    entities = Self.match(
      source.entities.map { ($0.name, $0.renamingIdentifier) },
      destination.entities.map { ($0.name, $0.renamingIdentifier) })
    laterEntities = Dictionary(entities.map { ($0.value, $0.key) }, uniquingKeysWith: { first, _ in first })
    var attributes: [String: [String: String]] = [:]
    var relationships: [String: [String: String]] = [:]
    for (later, earlier) in entities {
      attributes[later] = Self.match(
        source.attributes(of: earlier).map { ($0.name, $0.renamingIdentifier) },
        destination.attributes(of: later).map { ($0.name, $0.renamingIdentifier) })
      relationships[later] = Self.match(
        source.relationships(of: earlier).map { ($0.name, $0.renamingIdentifier) },
        destination.relationships(of: later).map { ($0.name, $0.renamingIdentifier) })
    }
    self.attributes = attributes
    self.relationships = relationships
  }

  /// Nothing of the source is anything of the destination: a mapping says what becomes of it.
  package init(unrelated source: ManagedObjectModel, to destination: ManagedObjectModel) {
    self.source = source
    self.destination = destination
    entities = [:]
    laterEntities = [:]
    attributes = [:]
    relationships = [:]
  }

  /// The attribute of the source that became one of the destination, inherited or not; nil for a new one.
  package func attribute(_ name: String, of entity: String) -> AttributeDescription? {
    guard let earlier = entities[entity], let found = attributes[entity]?[name] else { return nil }
    return source.attribute(found, of: earlier)
  }

  /// The relationship of the source that became one of the destination; nil for a new one.
  package func relationship(_ name: String, of entity: String) -> RelationshipDescription? {
    guard let earlier = entities[entity], let found = relationships[entity]?[name] else { return nil }
    return source.relationship(found, of: earlier)
  }

  /// Whether objects of an entity of the destination have had a property before, under whatever name.
  package func isStored(_ property: String, in entity: String) -> Bool {
    attribute(property, of: entity)?.isTransient == false || relationship(property, of: entity)?.isTransient == false
  }

  /// The attributes of a source's entity that the destination has not.
  package func removedAttributes(of earlier: String) -> [AttributeDescription] {
    guard let later = laterEntities[earlier] else { return [] }
    let kept = Set((attributes[later] ?? [:]).values)
    return source.attributes(of: earlier).filter { !kept.contains($0.name) }
  }

  /// The relationships of a source's entity that the destination has not.
  package func removedRelationships(of earlier: String) -> [RelationshipDescription] {
    guard let later = laterEntities[earlier] else { return [] }
    let kept = Set((relationships[later] ?? [:]).values)
    return source.relationships(of: earlier).filter { !kept.contains($0.name) }
  }

  /// Later name → earlier name, each used once.
  private static func match(_ earlier: [(String, String?)], _ later: [(String, String?)]) -> [String: String] {
    var found: [String: String] = [:]
    var taken: Set<String> = []
    func pass(_ key: (String, String?) -> String?, _ earlierKey: (String, String?) -> String?) {
      let byKey = Dictionary(
        earlier.compactMap { name, identifier in earlierKey(name, identifier).map { ($0, name) } },
        uniquingKeysWith: { first, _ in first })
      for (name, identifier) in later where found[name] == nil {
        guard let wanted = key(name, identifier), let match = byKey[wanted], !taken.contains(match) else { continue }
        found[name] = match
        taken.insert(match)
      }
    }
    // Who says what it was comes before those that only have a name: it may be used again, by something new.
    let both = { (name: String, identifier: String?) in identifier.map { "\($0) \(name)" } }
    pass(both, both)
    pass({ $1 }, { $1 })
    pass({ $1 }, { $1 == nil ? $0 : nil })
    pass({ $1 == nil ? $0 : nil }, { $1 == nil ? $0 : nil })
    pass({ $1 == nil ? $0 : nil }, { $1 })
    pass({ $1 }, { name, _ in name })
    pass({ name, _ in name }, { name, _ in name })
    return found
  }
}
