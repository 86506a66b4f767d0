import KVCloneModel

/// Describes properties of the model in words, for documentation comments.
extension GeneratorContext {
  func documentation(of entity: EntityDescription) -> [String] {
    if let text = written(entity.userInfo) { return text }
    let kind = entity.isAbstract ? "The common properties of several entities" : "An object of the entity"
    let parent = entity.superentityName.map { ", a sub-entity of ``\(typeName(of: $0))``" } ?? ""
    return ["\(kind): `\(entity.name)`\(parent)."]
  }

  func documentation(of composite: CompositeAttributeDescription) -> [String] {
    written(composite.userInfo) ?? ["A composite attribute: `\(composite.name)`."]
  }

  func documentation(of attribute: AttributeDescription) -> [String] {
    if let text = written(attribute.userInfo) { return text }
    var facts: [String] = []
    if let expression = attribute.derivationExpression { facts.append("Computed by the store: `\(expression)`") }
    if attribute.isTransient { facts.append("Not stored") }
    if let bounds = bounds(of: attribute) { facts.append(bounds) }
    if let pattern = attribute.regularExpression { facts.append("Matches `\(pattern)`") }
    if attribute.type == .transformable {
      facts.append("Archived by \(attribute.valueTransformerName.map { "`\($0)`" } ?? "a secure keyed archive")")
    }
    return facts.isEmpty ? [] : oneLine(facts)
  }

  func documentation(of relationship: RelationshipDescription, in entity: String) -> [String] {
    if let text = written(relationship.userInfo) { return text }
    var facts: [String] = []
    if let inverse = model.inverse(of: relationship.name, in: entity) {
      let name = SwiftName.property(inverse.relationship.userInfo[AnnotationKey.name] ?? inverse.relationship.name)
      facts.append("The inverse of ``\(typeName(of: inverse.entityName))/\(name)``")
    }
    switch relationship.deleteRule {
    case .cascade: facts.append("Its targets are deleted together with the object")
    case .deny: facts.append("The object cannot be deleted unless it is empty")
    case .nullify, .noAction: break
    }
    if relationship.isToMany {
      switch (relationship.minCount, relationship.maxCount) {
      case (0, 0): break
      case (let least, 0): facts.append("At least \(least)")
      case (0, let greatest): facts.append("At most \(greatest)")
      case (let least, let greatest): facts.append("From \(least) to \(greatest)")
      }
    }
    return facts.isEmpty ? [] : oneLine(facts)
  }

  private func bounds(of attribute: AttributeDescription) -> String? {
    let unit = attribute.boundType == attribute.type ? "" : " characters"
    let values = ValueSource(context: self)
    func text(_ value: AttributeValue) -> String { values.expression(value) ?? "…" }
    return switch (attribute.minValue, attribute.maxValue) {
    case (nil, nil): nil
    case (let least?, nil): "At least \(text(least))\(unit)"
    case (nil, let greatest?): "At most \(text(greatest))\(unit)"
    case (let least?, let greatest?): "From \(text(least)) to \(text(greatest))\(unit)"
    }
  }

  private func oneLine(_ facts: [String]) -> [String] {
    [(facts.joined(separator: ". ") + ".").split(whereSeparator: \.isNewline).joined(separator: " ")]
  }

  private func written(_ userInfo: [String: String]) -> [String]? {
    guard let text = userInfo[AnnotationKey.documentation], !text.isEmpty else { return nil }
    return text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).map(String.init)
  }
}
