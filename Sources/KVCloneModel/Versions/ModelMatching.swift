/// The correspondence of a model's entities and properties to those of an earlier version.
///
/// As in Core Data, everything has a canonical name: its renaming identifier, or else its name. Two with the same
/// canonical name correspond; a chain of renames that keeps the first name as its identifier therefore matches from any
/// version to any later one. If that finds nothing, an identifier that is the earlier version's name counts, and then
/// the same name: both occur in real models, and anything else would lose objects. What is then unmatched on both sides
/// is matched by the renaming identifiers of other versions: a → b → c.
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

  /// Matches two versions.
  ///
  /// - Parameter versions: other versions of the model, in any order, through which renaming identifiers are followed.
  package init(
    from source: ManagedObjectModel, to destination: ManagedObjectModel, through versions: [ManagedObjectModel] = []
  ) {
    self.source = source
    self.destination = destination
    let chains = RenameChains(through: versions)
    let entities = chains.entities(
      Self.match(
        source.entities.map { ($0.name, $0.renamingIdentifier) },
        destination.entities.map { ($0.name, $0.renamingIdentifier) }), from: source, to: destination)
    self.entities = entities
    laterEntities = Dictionary(entities.map { ($0.value, $0.key) }, uniquingKeysWith: { first, _ in first })
    var attributes: [String: [String: String]] = [:]
    var relationships: [String: [String: String]] = [:]
    let isKept = Self.isTargetKept(source, laterEntities)
    for (later, earlier) in entities {
      guard let new = destination.entity(named: later), let old = source.entity(named: earlier) else { continue }
      func match(_ properties: (ManagedObjectModel, String) -> [RenameChains.Named]) -> [String: String] {
        let (before, after) = (properties(source, earlier), properties(destination, later))
        return chains.properties(
          Self.match(before, after), of: (new, old), earlier: before, later: after, properties)
      }
      attributes[later] = match { $0.attributes(of: $1).map { ($0.name, $0.renamingIdentifier) } }
      relationships[later] = match { $0.relationships(of: $1).map { ($0.name, $0.renamingIdentifier) } }
        .filter { source.relationship($0.value, of: earlier).map(isKept) ?? true }
    }
    self.attributes = attributes
    self.relationships = relationships
  }

  /// Whether objects that a relationship may lead to remain: if all of them are deleted with their entities, its links
  /// are, too, and a later relationship of the same name is a new one.
  private static func isTargetKept(
    _ source: ManagedObjectModel, _ laterEntities: [String: String]
  ) -> (RelationshipDescription) -> Bool {
    { relationship in
      let target = relationship.destinationEntityName
      return laterEntities[target] != nil || source.subentities(of: target).contains { laterEntities[$0] != nil }
    }
  }

  /// Matches nothing: for mapping models, which define the correspondence.
  package init(unrelated source: ManagedObjectModel, to destination: ManagedObjectModel) {
    self.source = source
    self.destination = destination
    entities = [:]
    laterEntities = [:]
    attributes = [:]
    relationships = [:]
  }

  /// The attribute of the source that corresponds to one of the destination, inherited or not; nil for a new one.
  package func attribute(_ name: String, of entity: String) -> AttributeDescription? {
    guard let earlier = entities[entity], let found = attributes[entity]?[name] else { return nil }
    return source.attribute(found, of: earlier)
  }

  /// The relationship of the source that corresponds to one of the destination; nil for a new one.
  package func relationship(_ name: String, of entity: String) -> RelationshipDescription? {
    guard let earlier = entities[entity], let found = relationships[entity]?[name] else { return nil }
    return source.relationship(found, of: earlier)
  }

  /// Whether objects of an entity of the destination have had a property before, under any name.
  package func isStored(_ property: String, in entity: String) -> Bool {
    attribute(property, of: entity)?.isTransient == false || relationship(property, of: entity)?.isTransient == false
  }

  /// The attributes of a source's entity that the destination lacks.
  package func removedAttributes(of earlier: String) -> [AttributeDescription] {
    guard let later = laterEntities[earlier] else { return [] }
    let kept = Set((attributes[later] ?? [:]).values)
    return source.attributes(of: earlier).filter { !kept.contains($0.name) }
  }

  /// The relationships of a source's entity that the destination lacks.
  package func removedRelationships(of earlier: String) -> [RelationshipDescription] {
    guard let later = laterEntities[earlier] else { return [] }
    let kept = Set((relationships[later] ?? [:]).values)
    return source.relationships(of: earlier).filter { !kept.contains($0.name) }
  }

  /// Later name → earlier name, each used once.
  private static func match(
    _ earlier: [RenameChains.Named], _ later: [RenameChains.Named]
  ) -> [String: String] {
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
    // Matches by identifier take precedence over those by name: a name may be reused for something new.
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
