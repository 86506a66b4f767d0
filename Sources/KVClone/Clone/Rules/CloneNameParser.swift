import KVCloneCore

/// Parses a call's names of relationships: `items`, or `Note.items`.
struct CloneNameParser {
  enum Name {
    case plain(String)
    case qualified(entity: UInt16, name: String)
  }

  let schema: Schema
  /// The entities that are reachable from the roots in the model; other names are mistakes (R5).
  let reachable: [CompiledEntity]
  private(set) var errors: [CloneError] = []

  /// Returns the meaning of a name; nil for an invalid one, which `errors` reports.
  mutating func parse(_ text: String, mustBeQualified: Bool = false) -> Name? {
    guard let dot = text.firstIndex(of: ".") else {
      if mustBeQualified {
        errors.append(
          CloneError(
            .unknownRelationship, "\(text) is not a qualified name; write Entity.relationship", property: text))
        return nil
      }
      guard reachable.contains(where: { $0.relationshipIndex[text] != nil }) else {
        errors.append(
          CloneError(
            .unknownRelationship,
            "no entity reachable from the roots has a relationship \(text) (R5); check the spelling",
            property: text))
        return nil
      }
      return .plain(text)
    }
    let entityName = String(text[..<dot])
    let name = String(text[text.index(after: dot)...])
    guard let entity = schema.entitiesByName[entityName] else {
      errors.append(
        CloneError(
          .unknownEntity, "the model has no entity \(entityName) (in \(text)); check the spelling", entity: entityName,
          property: name))
      return nil
    }
    guard entity.relationshipIndex[name] != nil, reachable.contains(where: { $0.isKind(of: entity.code) }) else {
      errors.append(
        CloneError(
          .unknownRelationship, "the relationship \(text) is not reachable from the roots (R5); check the spelling",
          entity: entityName, property: name))
      return nil
    }
    return .qualified(entity: entity.code, name: name)
  }
}
