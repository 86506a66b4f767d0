import KVCloneCore
import KVCloneModel

/// The values of objects before a step in a property that becomes required by it, as far as steps alone can have
/// changed them: if all objects have a value, it may become required.
enum PropertyOrigin: Equatable {
  /// All have a value, or there are no such objects.
  case everybody
  /// A step has added the property without a default.
  case nobody
  /// The values of this property in the store's current version.
  case stored(entity: String, path: String)

  /// - Parameters:
  ///   - path: an attribute, an element of a composite one, or a relationship.
  ///   - entity: of the version after the steps.
  init(of path: String, in entity: String, after steps: some BidirectionalCollection<MigrationStep>) {
    var place = (entity: entity, path: path)
    for step in steps.reversed() {
      let top = place.path.split(separator: ".").first.map(String.init) ?? place.path
      guard let earlier = step.matching.entities[place.entity] else {
        self = .everybody
        return
      }
      if let later = step.matching.destination.attribute(top, of: place.entity) {
        let leaf = CompiledAttribute.leaves(of: later).first { $0.path == place.path }?.description ?? later
        guard let former = Self.former(place.path, top, place.entity, step.matching) else {
          self = leaf.hasDefault ? .everybody : .nobody
          return
        }
        if former.isOptional, !leaf.isOptional, leaf.defaultValue != nil {
          self = .everybody
          return
        }
        place.path = former.path
      } else {
        guard let former = step.matching.relationship(place.path, of: place.entity), !former.isTransient else {
          self = .nobody
          return
        }
        place.path = former.name
      }
      place.entity = earlier
    }
    self = .stored(entity: place.entity, path: place.path)
  }

  /// The earlier attribute or element; nil if nothing was stored of it.
  private static func former(
    _ path: String, _ top: String, _ entity: String, _ matching: ModelMatching
  ) -> (path: String, isOptional: Bool)? {
    if path != top { return matching.formerLeaf(path, top, of: entity).map { ($0.path, $0.description.isOptional) } }
    return matching.attribute(top, of: entity).flatMap { $0.isTransient ? nil : ($0.name, $0.isOptional) }
  }
}

extension ModelDifference.Change {
  /// Whether it is refused only because objects without a value may exist: if all have one, there is no work.
  var isAboutMissingValues: Bool { kind == .changed && aspect == "optional" && work.reason != nil }
}
