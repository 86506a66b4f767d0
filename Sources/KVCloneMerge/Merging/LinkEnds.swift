package import KVCloneCore
import Synchronization

/// The end of each relationship at which its links are compared (M3).
package final class LinkEnds: Sendable {
  /// The codes of relationships at which links are compared.
  private let compared: Set<UInt16>

  /// The ends of a schema, computed once.
  package static func of(_ schema: Schema) -> LinkEnds { schema.attachments.value(of: LinkEndsCache.self).ends(schema) }

  fileprivate init(_ schema: Schema) {
    var ranks: [UInt16: Int] = [:]
    for entity in schema.model.entities {
      guard let compiled = schema.entitiesByName[entity.name] else { continue }
      for declared in entity.relationships {
        guard let index = compiled.relationshipIndex[declared.name] else { continue }
        let code = compiled.relationships[index].code
        if ranks[code] == nil { ranks[code] = ranks.count }
      }
    }
    var compared: Set<UInt16> = []
    for relationship in schema.entities.flatMap(\.relationships) {
      let isCompared =
        !relationship.hasInverse
        || (relationship.isToMany == relationship.inverseIsToMany
          ? ranks[relationship.code] ?? .max <= ranks[relationship.inverseCode] ?? .max : !relationship.isToMany)
      if isCompared { compared.insert(relationship.code) }
    }
    self.compared = compared
  }

  /// Whether the links of a relationship are compared at this end: the to-one end; of two equal ends, the one that the
  /// model declares first; its own for a relationship without an inverse.
  package func isCompared(_ relationship: CompiledRelationship) -> Bool { compared.contains(relationship.code) }
}

private final class LinkEndsCache: Attachment {
  private let known = Mutex<LinkEnds?>(nil)

  init() {}

  func ends(_ schema: Schema) -> LinkEnds {
    known.withLock { known in
      if let known { return known }
      let ends = LinkEnds(schema)
      known = ends
      return ends
    }
  }
}
