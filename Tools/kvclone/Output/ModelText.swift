import KVClone
import KVCloneExplorer

/// A model as an indented tree: subentities below their parents, then their own properties.
enum ModelText {
  static func tree(_ model: ManagedObjectModel, _ style: Style) -> String {
    var text = "\(style.bold(model.name)) \(style.dim("version \(model.versionIdentifier)"))\n"
    for entity in model.entities.sorted(by: { $0.name < $1.name }) where entity.superentityName == nil {
      append(entity, model, indentation: "  ", style, to: &text)
    }
    return text
  }

  private static func append(
    _ entity: EntityDescription, _ model: ManagedObjectModel, indentation: String, _ style: Style, to text: inout String
  ) {
    text +=
      "\(indentation)\(style.cyan(entity.name))\(entity.isAbstract ? " (abstract)" : "")\(userInfo(entity.userInfo))\n"
    let width = (entity.attributes.map(\.name.count) + entity.relationships.map(\.name.count)).max() ?? 0
    for attribute in entity.attributes.sorted(by: { $0.name < $1.name }) {
      text += "\(indentation)    \(Text.padded(attribute.name, width))  \(describe(attribute))\n"
    }
    for relationship in entity.relationships.sorted(by: { $0.name < $1.name }) {
      text += "\(indentation)    \(Text.padded(relationship.name, width))  \(describe(relationship))\n"
    }
    for constraint in entity.uniquenessConstraints {
      text += "\(indentation)    unique: \(constraint.joined(separator: ", "))\n"
    }
    for child in model.directSubentities(of: entity.name).sorted() {
      guard let child = model.entity(named: child) else { continue }
      append(child, model, indentation: indentation + "  ", style, to: &text)
    }
  }

  private static func describe(_ attribute: AttributeDescription) -> String {
    var parts = [attribute.type.rawValue]
    if !attribute.isOptional { parts.append("required") }
    if attribute.isTransient { parts.append("transient") }
    if attribute.isDerived { parts.append("derived") }
    if let value = attribute.defaultValue { parts.append("default \(ValueText.describe(value))") }
    return parts.joined(separator: ", ") + userInfo(attribute.userInfo)
  }

  private static func describe(_ relationship: RelationshipDescription) -> String {
    var parts = [
      relationship.isToMany ? "→→ \(relationship.destinationEntityName)" : "→ \(relationship.destinationEntityName)"
    ]
    if relationship.isOrdered { parts.append("ordered") }
    if !relationship.isOptional { parts.append("required") }
    if let inverse = relationship.inverseName { parts.append("inverse \(inverse)") }
    if relationship.minCount > 0, relationship.isToMany { parts.append("at least \(relationship.minCount)") }
    if relationship.maxCount > 0, relationship.isToMany { parts.append("at most \(relationship.maxCount)") }
    parts.append("delete: \(relationship.deleteRule.rawValue)")
    return parts.joined(separator: ", ") + userInfo(relationship.userInfo)
  }

  private static func userInfo(_ userInfo: [String: String]) -> String {
    if userInfo.isEmpty { return "" }
    let pairs = userInfo.sorted { $0.key < $1.key }.map { $0.value.isEmpty ? $0.key : "\($0.key)=\($0.value)" }
    return "  [\(pairs.joined(separator: ", "))]"
  }
}
