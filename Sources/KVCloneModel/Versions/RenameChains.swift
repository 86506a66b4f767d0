/// Renaming identifiers of other versions of a model, which connect names that neither version contains: a → b → c.
struct RenameChains {
  /// The name of an entity or property, with its renaming identifier.
  typealias Named = (name: String, identifier: String?)

  private let versions: [ManagedObjectModel]
  private let formerEntityNames: [String: Set<String>]

  init(through versions: [ManagedObjectModel]) {
    self.versions = versions
    formerEntityNames = Self.formerNames(versions.flatMap { $0.entities.map { ($0.name, $0.renamingIdentifier) } })
  }

  /// Matches entities that are unmatched on both sides.
  func entities(
    _ found: [String: String], from source: ManagedObjectModel, to destination: ManagedObjectModel
  ) -> [String: String] {
    if versions.isEmpty { return found }
    return Self.completed(
      found, earlier: source.entities.map { ($0.name, $0.renamingIdentifier) },
      later: destination.entities.map { ($0.name, $0.renamingIdentifier) }, formerEntityNames)
  }

  /// Matches properties of one entity that are unmatched on both sides.
  ///
  /// - Parameters:
  ///   - entity: the entity by its later and its earlier name, with their renaming identifiers.
  ///   - properties: the properties of one kind of an entity, inherited ones included.
  func properties(
    _ found: [String: String], of entity: (later: EntityDescription, earlier: EntityDescription), earlier: [Named],
    later: [Named], _ properties: (ManagedObjectModel, String) -> [Named]
  ) -> [String: String] {
    // The other versions are read only if something is unmatched on both sides.
    if versions.isEmpty || found.count == later.count || found.count == earlier.count { return found }
    let names = [entity.later, entity.earlier].reduce(into: Set<String>()) { names, entity in
      names.formUnion(Self.origins((entity.name, entity.renamingIdentifier), formerEntityNames))
    }
    let declared = versions.flatMap { version in names.flatMap { properties(version, $0) } }
    return Self.completed(found, earlier: earlier, later: later, Self.formerNames(declared))
  }

  private static func formerNames(_ declared: [Named]) -> [String: Set<String>] {
    var former: [String: Set<String>] = [:]
    for (name, identifier) in declared {
      if let identifier, identifier != name { former[name, default: []].insert(identifier) }
    }
    return former
  }

  /// The current and earlier names of something, as far as identifiers lead from its own. An equal name in another
  /// version is not followed: it may have been reused for something else.
  private static func origins(_ start: Named, _ former: [String: Set<String>]) -> Set<String> {
    guard let identifier = start.identifier else { return [start.name] }
    var reached: Set<String> = [start.name, identifier]
    var waiting = identifier == start.name ? [] : [identifier]
    while let name = waiting.popLast() {
      for origin in former[name] ?? [] where reached.insert(origin).inserted { waiting.append(origin) }
    }
    return reached
  }

  /// Later name → earlier name: `found`, and the unambiguous results of the chains.
  private static func completed(
    _ found: [String: String], earlier: [Named], later: [Named], _ former: [String: Set<String>]
  ) -> [String: String] {
    var result = found
    let taken = Set(found.values)
    let openLater = later.filter { found[$0.name] == nil }.map { (name: $0.name, origins: origins($0, former)) }
    let openEarlier = earlier.filter { !taken.contains($0.name) }.map { (name: $0.name, origins: origins($0, former)) }
    if openLater.isEmpty || openEarlier.isEmpty { return found }
    /// Adds pairs in which each side is the other's only candidate.
    func pass(_ isPair: ((name: String, origins: Set<String>), (name: String, origins: Set<String>)) -> Bool) {
      let matched = Set(result.values)
      let rest = openEarlier.filter { !matched.contains($0.name) }
      var pairs: [(later: String, earlier: String)] = []
      for one in openLater where result[one.name] == nil {
        for other in rest where isPair(one, other) { pairs.append((one.name, other.name)) }
      }
      let laterCounts = Dictionary(grouping: pairs, by: \.later).mapValues(\.count)
      let earlierCounts = Dictionary(grouping: pairs, by: \.earlier).mapValues(\.count)
      for pair in pairs where laterCounts[pair.later] == 1 && earlierCounts[pair.earlier] == 1 {
        result[pair.later] = pair.earlier
      }
    }
    // First pairs of which one descends from the other, in either direction; then two that descend from a third.
    pass { $0.origins.contains($1.name) || $1.origins.contains($0.name) }
    pass { !$0.origins.isDisjoint(with: $1.origins) }
    return result
  }
}
