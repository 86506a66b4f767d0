import KVClone

/// A model as the source of a diagram.
enum ModelSource {
  /// Mermaid's class diagram, which supports inheritance.
  static func mermaid(_ model: ManagedObjectModel) -> String {
    var text = "classDiagram\n"
    for entity in model.entities.sorted(by: { $0.name < $1.name }) {
      text += "  class \(identifier(entity.name)) {\n"
      if entity.isAbstract { text += "    <<abstract>>\n" }
      for attribute in entity.attributes.sorted(by: { $0.name < $1.name }) {
        text += "    \(identifier(attribute.type.rawValue)) \(identifier(attribute.name))\n"
      }
      text += "  }\n"
      if let parent = entity.superentityName { text += "  \(identifier(parent)) <|-- \(identifier(entity.name))\n" }
    }
    for link in links(model) {
      let head = link.inverse.map { "\"\($0.isToMany ? "*" : "1")\" " } ?? ""
      text += "  \(identifier(link.entity)) \(head)--> \"\(link.relationship.isToMany ? "*" : "1")\" "
      text += "\(identifier(link.relationship.destinationEntityName)) : \(link.label)\n"
    }
    return text
  }

  /// Graphviz.
  static func dot(_ model: ManagedObjectModel) -> String {
    var text = "digraph \(quoted(model.name)) {\n  node [shape=record];\n  rankdir=LR;\n"
    for entity in model.entities.sorted(by: { $0.name < $1.name }) {
      let attributes = entity.attributes.sorted { $0.name < $1.name }.map { "\($0.name): \($0.type.rawValue)\\l" }
      let title = entity.isAbstract ? "\(entity.name) (abstract)" : entity.name
      text += "  \(quoted(entity.name)) [label=\"{\(escaped(title))|\(attributes.map(escaped).joined())}\"];\n"
      if let parent = entity.superentityName {
        text += "  \(quoted(entity.name)) -> \(quoted(parent)) [arrowhead=empty];\n"
      }
    }
    for link in links(model) {
      let heads = "arrowhead=\(head(link.relationship)), arrowtail=\(link.inverse.map(head) ?? "none"), dir=both"
      text += "  \(quoted(link.entity)) -> \(quoted(link.relationship.destinationEntityName)) "
      text += "[label=\(quoted(link.label)), \(heads)];\n"
    }
    return text + "}\n"
  }

  private struct Link {
    let entity: String
    let relationship: RelationshipDescription
    let inverse: RelationshipDescription?
    var label: String { inverse.map { "\(relationship.name) / \($0.name)" } ?? relationship.name }
  }

  /// Every relationship once, with its inverse.
  private static func links(_ model: ManagedObjectModel) -> [Link] {
    var result: [Link] = []
    for entity in model.entities.sorted(by: { $0.name < $1.name }) {
      for relationship in entity.relationships.sorted(by: { $0.name < $1.name }) {
        let inverse = model.inverse(of: relationship.name, in: entity.name)
        if let inverse, (inverse.entityName, inverse.relationship.name) < (entity.name, relationship.name) { continue }
        result.append(Link(entity: entity.name, relationship: relationship, inverse: inverse?.relationship))
      }
    }
    return result
  }

  private static func head(_ relationship: RelationshipDescription) -> String {
    relationship.isToMany ? "crow" : "normal"
  }

  private static func identifier(_ name: String) -> String {
    String(name.map { $0.isLetter || $0.isNumber || $0 == "_" ? $0 : "_" })
  }

  private static func quoted(_ text: String) -> String {
    "\"\(text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\""
  }

  private static func escaped(_ text: String) -> String {
    var result = ""
    for character in text {
      if "{}|<>\"".contains(character) { result.append("\\") }
      result.append(character)
    }
    return result
  }
}
