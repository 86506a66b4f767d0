import KVCloneModel

extension ModelGenerator {
  /// Returns the source of the model, which refers to its entities.
  func modelSource() -> String {
    let model = context.model
    var writer = SourceWriter()
    let type = context.library("ManagedObjectModel")
    if context.options.namespace == nil { writer.open("extension \(type) {") }
    writer.documentation(["The model \(model.name): \(model.versionIdentifier)."])
    let name = context.options.namespace == nil ? SwiftName.quoted(context.modelProperty) : "managedObjectModel"
    var arguments = [SwiftName.literal(model.name), "version: \(SwiftName.literal(model.versionIdentifier))"]
    if !model.configurations.isEmpty {
      let lists = model.configurations.mapValues { "[" + $0.map(SwiftName.literal).joined(separator: ", ") + "]" }
      arguments.append("configurations: \(ValueSource(context: context).dictionary(lists))")
    }
    writer.list("\(context.access)static let \(name) = \(type)(", arguments, ") {")
    writer.indent()
    for composite in model.composites { write(composite, into: &writer) }
    for entity in model.entities { writer.line("\(SwiftName.quoted(context.typeName(of: entity.name))).entity") }
    for request in model.fetchRequestTemplates { writer.call(requestTemplate(request)) }
    writer.close()
    if context.options.namespace == nil { writer.close() }
    return writer.text
  }

  /// Writes the description of an entity as in the model.
  func writeDescription(of entity: EntityDescription, into writer: inout SourceWriter) {
    let values = ValueSource(context: context)
    writer.documentation(["The entity description."])
    var arguments = [SwiftName.literal(entity.name)]
    if let parent = entity.superentityName { arguments.append("parent: \(SwiftName.literal(parent))") }
    if entity.isAbstract { arguments.append("abstract: true") }
    if !entity.uniquenessConstraints.isEmpty {
      let constraints = entity.uniquenessConstraints.map {
        "[" + $0.map(SwiftName.literal).joined(separator: ", ") + "]"
      }
      arguments.append("unique: [\(constraints.joined(separator: ", "))]")
    }
    if !entity.indexes.isEmpty {
      arguments.append("indexes: [\(entity.indexes.map(index).joined(separator: ", "))]")
    }
    arguments += annotations(entity.userInfo)
    if let name = entity.managedObjectClassName { arguments.append("className: \(SwiftName.literal(name))") }
    arguments += renaming(entity.renamingIdentifier)
    let type = context.library("EntityDescription")
    let rest = [
      optional("versionHashModifier", entity.versionHashModifier),
      optional("codeGenerationType", entity.codeGenerationType),
      optional("coreSpotlightDisplayNameExpression", entity.coreSpotlightDisplayNameExpression),
    ].compactMap { $0 }
    writer.list("\(context.access)static let entity = \(type)(", arguments, ") {")
    writer.indent()
    for attribute in entity.attributes { writer.call(self.attribute(attribute, values)) }
    for relationship in entity.relationships { writer.call(self.relationship(relationship)) }
    for property in entity.fetchedProperties { writer.call(fetchedProperty(property)) }
    writer.close("}" + changes(rest))
  }

  private func write(_ composite: CompositeAttributeDescription, into writer: inout SourceWriter) {
    let arguments = [SwiftName.literal(composite.name)] + annotations(composite.userInfo)
    writer.list("\(context.library("CompositeAttributeDescription"))(", arguments, ") {")
    writer.indent()
    for element in composite.elements { writer.call(attribute(element, ValueSource(context: context))) }
    writer.close()
  }

  // MARK: Properties

  private func attribute(_ attribute: AttributeDescription, _ values: ValueSource) -> SourceCall {
    var arguments = [SwiftName.literal(attribute.name), "." + typeCase(attribute.type)]
    if !attribute.isOptional { arguments.append("optional: false") }
    if let value = attribute.defaultValue { arguments.append("default: \(values.attributeValue(value))") }
    if attribute.isTransient { arguments.append("transient: true") }
    if let value = attribute.minValue { arguments.append("min: \(values.attributeValue(value))") }
    if let value = attribute.maxValue { arguments.append("max: \(values.attributeValue(value))") }
    if let text = attribute.regularExpression { arguments.append("regularExpression: \(SwiftName.literal(text))") }
    if let text = attribute.derivationExpression { arguments.append("derivation: \(SwiftName.literal(text))") }
    if let text = attribute.compositeName { arguments.append("composite: \(SwiftName.literal(text))") }
    if !attribute.elements.isEmpty {
      let elements = attribute.elements.map { self.attribute($0, values).text }
      arguments.append("elements: [\(elements.joined(separator: ", "))]")
    }
    if let text = attribute.valueTransformerName { arguments.append("transformer: \(SwiftName.literal(text))") }
    if let text = attribute.attributeValueClassName { arguments.append("valueClass: \(SwiftName.literal(text))") }
    arguments += annotations(attribute.userInfo) + renaming(attribute.renamingIdentifier)
    let rest = [
      flag("allowsExternalBinaryDataStorage", attribute.allowsExternalBinaryDataStorage),
      flag("usesScalarValueType", attribute.usesScalarValueType),
      optional("versionHashModifier", attribute.versionHashModifier),
      flag("isIndexedBySpotlight", attribute.isIndexedBySpotlight),
      flag("preservesValueInHistoryOnDeletion", attribute.preservesValueInHistoryOnDeletion),
      flag("allowsCloudEncryption", attribute.allowsCloudEncryption),
    ].compactMap { $0 }
    return SourceCall(context.library("AttributeDescription"), arguments, changes(rest))
  }

  private func typeCase(_ type: AttributeType) -> String { "\(type)" }

  private func relationship(_ relationship: RelationshipDescription) -> SourceCall {
    let destination = SwiftName.literal(relationship.destinationEntityName)
    var arguments = [
      SwiftName.literal(relationship.name), "\(relationship.isToMany ? "toMany" : "toOne"): \(destination)",
    ]
    if let name = relationship.inverseName { arguments.append("inverse: \(SwiftName.literal(name))") }
    if let name = relationship.inverseEntityName { arguments.append("inverseEntity: \(SwiftName.literal(name))") }
    if relationship.isToMany && relationship.isOrdered { arguments.append("ordered: true") }
    if !relationship.isOptional { arguments.append("optional: false") }
    var rest: [String] = []
    if relationship.isToMany {
      if relationship.minCount != 0 { arguments.append("min: \(relationship.minCount)") }
      if relationship.maxCount != 0 { arguments.append("max: \(relationship.maxCount)") }
    } else {
      if relationship.isOrdered { rest.append("$0.isOrdered = true") }
      if relationship.minCount != (relationship.isOptional ? 0 : 1) {
        rest.append("$0.minCount = \(relationship.minCount)")
      }
      if relationship.maxCount != 1 { rest.append("$0.maxCount = \(relationship.maxCount)") }
    }
    if relationship.deleteRule != .nullify { arguments.append("deleteRule: .\(relationship.deleteRule)") }
    if relationship.isTransient { arguments.append("transient: true") }
    arguments += annotations(relationship.userInfo) + renaming(relationship.renamingIdentifier)
    rest += [optional("versionHashModifier", relationship.versionHashModifier)].compactMap { $0 }
    return SourceCall(context.library("RelationshipDescription"), arguments, changes(rest))
  }

  private func fetchedProperty(_ property: FetchedPropertyDescription) -> SourceCall {
    var arguments = [SwiftName.literal(property.name), requestTemplate(property.fetchRequest).text]
    if !property.isOptional { arguments.append("optional: false") }
    arguments += annotations(property.userInfo)
    let rest = [
      optional("renamingIdentifier", property.renamingIdentifier),
      optional("versionHashModifier", property.versionHashModifier),
    ].compactMap { $0 }
    return SourceCall(context.library("FetchedPropertyDescription"), arguments, changes(rest))
  }

  private func requestTemplate(_ request: FetchRequestTemplate) -> SourceCall {
    var arguments = [SwiftName.literal(request.name), "entity: \(SwiftName.literal(request.entityName))"]
    if let text = request.predicateString { arguments.append("predicate: \(SwiftName.literal(text))") }
    if request.fetchLimit != 0 { arguments.append("limit: \(request.fetchLimit)") }
    if request.fetchBatchSize != 0 { arguments.append("batchSize: \(request.fetchBatchSize)") }
    if request.resultType != 0 { arguments.append("resultType: \(request.resultType)") }
    if !request.includesSubentities { arguments.append("includesSubentities: false") }
    if !request.includesPropertyValues { arguments.append("includesPropertyValues: false") }
    if !request.includesPendingChanges { arguments.append("includesPendingChanges: false") }
    if !request.returnsObjectsAsFaults { arguments.append("returnsObjectsAsFaults: false") }
    if request.returnsDistinctResults { arguments.append("returnsDistinctResults: true") }
    return SourceCall(context.library("FetchRequestTemplate"), arguments, "")
  }

  private func index(_ index: FetchIndexDescription) -> String {
    let elements = index.elements.map { element in
      var arguments: [String] = []
      if let expression = element.expression {
        arguments.append("expression: \(SwiftName.literal(expression))")
      } else {
        arguments.append(SwiftName.literal(element.propertyName ?? ""))
      }
      if !element.isAscending { arguments.append("ascending: false") }
      if element.kind != .binary { arguments.append("kind: .\(element.kind)") }
      return ".init(\(arguments.joined(separator: ", ")))"
    }
    var arguments = [SwiftName.literal(index.name), "[\(elements.joined(separator: ", "))]"]
    if let predicate = index.partialPredicate { arguments.append("partialPredicate: \(SwiftName.literal(predicate))") }
    if index.origin != .fetchIndex { arguments.append("origin: .\(index.origin)") }
    return "\(context.library("FetchIndexDescription"))(\(arguments.joined(separator: ", ")))"
  }

  // MARK: Arguments

  private func annotations(_ userInfo: [String: String]) -> [String] {
    if userInfo.isEmpty { return [] }
    return ["userInfo: \(ValueSource(context: context).dictionary(userInfo.mapValues(SwiftName.literal)))"]
  }

  private func renaming(_ identifier: String?) -> [String] {
    identifier.map { ["renamingIdentifier: \(SwiftName.literal($0))"] } ?? []
  }

  private func flag(_ name: String, _ isSet: Bool) -> String? { isSet ? "$0.\(name) = true" : nil }

  private func optional(_ name: String, _ text: String?) -> String? {
    text.map { "$0.\(name) = \(SwiftName.literal($0))" }
  }

  private func changes(_ statements: [String]) -> String {
    statements.isEmpty ? "" : ".with { \(statements.joined(separator: "; ")) }"
  }
}

/// A call in a result builder.
struct SourceCall {
  let head: String
  let arguments: [String]
  let tail: String

  init(_ function: String, _ arguments: [String], _ tail: String) {
    head = function + "("
    self.arguments = arguments
    self.tail = ")" + tail
  }

  var text: String { head + arguments.joined(separator: ", ") + tail }
}

extension SourceWriter {
  mutating func call(_ call: SourceCall) { list(call.head, call.arguments, call.tail) }
}
