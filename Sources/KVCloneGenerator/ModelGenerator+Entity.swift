import KVCloneModel

extension ModelGenerator {
  /// Returns the source of an entity: its struct, the properties for predicates, and its description.
  func entitySource(_ entity: EntityDescription) throws(GeneratorError) -> String {
    let properties = try context.properties(of: entity)
    let name = context.typeName(of: entity.name)
    var writer = SourceWriter()
    writer.documentation(context.documentation(of: entity))
    let parent = entity.superentityName.map { context.typeName(of: $0) }
    let base = context.library(parent == nil ? "EntityObject" : "SubentityObject")
    writer.open("\(context.access)struct \(SwiftName.quoted(name)): \(base) {")
    if let parent {
      writer.documentation(["The parent entity."])
      writer.line("\(context.access)typealias Superentity = \(parent)")
      writer.line()
    }
    writeStored(properties, into: &writer)
    writer.documentation(["The object's identity and the state that was read."])
    writer.line("\(context.access)let objectState: \(context.library("ObjectState"))")
    if !entity.isAbstract { writeInitializer(properties, of: entity, into: &writer) }
    writer.line()
    writer.documentation(["Creates a value from a stored object."])
    writer.open(
      "\(context.access)init(_ object: \(context.library("ManagedObject"))) throws(\(context.library("StoreError"))) {")
    for property in properties { writer.line("self.\(property.identifier) = \(property.reading)") }
    writer.line("objectState = \(context.library("ObjectState"))(object)")
    writer.close()
    writer.line()
    writer.documentation(["The values to store."])
    writer.open("\(context.access)func encode(to values: inout \(context.library("ObjectValues"))) {")
    for writing in properties.compactMap(\.writing) { writer.line("values.\(writing)") }
    writer.close()
    writeEnumerations(properties, into: &writer)
    writer.line()
    writer.documentation(["The properties for predicates and sort descriptors; see ``\(name)``."])
    writer.open("\(context.access)enum Fields: \(context.library("EntityFields")) {")
    writer.documentation(["The Swift type of the entity's objects."])
    writer.line("\(context.access)typealias Object = \(SwiftName.quoted(name))")
    writer.line()
    writer.documentation(["The object's id in predicates."])
    writer.line("\(context.access)var objectID: Object.ID { switch self {} }")
    writeFields(properties, own: "\"SELF\": \\.objectID", into: &writer)
    writer.close()
    writer.line()
    writeDescription(of: entity, into: &writer)
    writer.close()
    return writer.text
  }

  /// Returns the source of a composite: its struct, and the properties for predicates.
  func compositeSource(_ composite: CompositeAttributeDescription) throws(GeneratorError) -> String {
    let properties = try context.properties(of: composite)
    let name = context.typeName(ofComposite: composite.name)
    let elements = context.library("CompositeElements")
    var writer = SourceWriter()
    writer.documentation(context.documentation(of: composite))
    writer.open("\(context.access)struct \(SwiftName.quoted(name)): \(context.library("CompositeValue")) {")
    writeStored(properties, into: &writer)
    writer.line()
    writer.documentation(["Creates a value from its elements."])
    writeInitializerHead(properties, into: &writer)
    writer.close()
    writer.line()
    writer.documentation(["Creates a value from the stored elements."])
    writer.open("\(context.access)init(_ elements: \(elements)) throws(\(context.library("StoreError"))) {")
    for property in properties { writer.line("self.\(property.identifier) = \(property.reading)") }
    writer.close()
    writer.line()
    writer.documentation(["The elements to store."])
    writer.open("\(context.access)func encode(to elements: inout \(elements)) {")
    for writing in properties.compactMap(\.writing) { writer.line("elements.\(writing)") }
    writer.close()
    writeEnumerations(properties, into: &writer)
    writer.line()
    writer.documentation(["The properties for predicates and sort descriptors; see ``\(name)``."])
    writer.open("\(context.access)enum Fields: \(context.library("QueryFields")) {")
    writeFields(properties, own: nil, into: &writer)
    writer.close()
    writer.close()
    return writer.text
  }

  private func writeStored(_ properties: [PropertyPlan], into writer: inout SourceWriter) {
    for property in properties {
      writer.documentation(property.documentation)
      let setter = property.writing == nil ? "private(set) " : ""
      writer.line("\(context.access)\(setter)var \(property.identifier): \(property.type)")
    }
  }

  private func writeInitializer(
    _ properties: [PropertyPlan], of entity: EntityDescription, into writer: inout SourceWriter
  ) {
    writer.line()
    writer.documentation(["Creates a new object. A transaction or an editing context stores it."])
    writeInitializerHead(properties, into: &writer)
    for property in properties where property.writing == nil { writer.line("self.\(property.identifier) = nil") }
    writer.line("objectState = \(context.library("ObjectState"))()")
    writer.close()
  }

  /// Writes the head of the memberwise initializer, and leaves the body open.
  private func writeInitializerHead(_ properties: [PropertyPlan], into writer: inout SourceWriter) {
    let settable = properties.filter { $0.writing != nil }
    let parameters = settable.map { property in
      "\(property.identifier): \(property.type)" + (property.initialValue.map { " = " + $0 } ?? "")
    }
    writer.list("\(context.access)init(", parameters, ") {")
    writer.indent()
    for property in settable { writer.line("self.\(property.identifier) = \(property.identifier)") }
  }

  private func writeEnumerations(_ properties: [PropertyPlan], into writer: inout SourceWriter) {
    var seen: Set<String> = []
    for property in properties {
      guard let enumeration = property.enumeration, !enumeration.cases.isEmpty, seen.insert(enumeration.name).inserted
      else { continue }
      writer.line()
      writer.documentation(["The values of `\(property.name)`."])
      // Predicates accept only Codable constants.
      let protocols = ["AttributeConvertible", "CaseIterable", "Codable"].map(context.library)
      writer.open(
        "\(context.access)enum \(enumeration.name): \(context.library(enumeration.rawType)), "
          + "\(protocols.joined(separator: ", ")) {")
      for item in enumeration.cases {
        writer.line("case \(item.identifier) = \(ValueSource(context: context).expression(item.value) ?? "")")
      }
      writer.close()
    }
  }

  /// Writes the properties for predicates, and their table.
  private func writeFields(_ properties: [PropertyPlan], own: String?, into writer: inout SourceWriter) {
    for property in properties {
      guard let type = property.fieldType else { continue }
      writer.line("\(context.access)var \(property.identifier): \(type) { switch self {} }")
    }
    let entries =
      (own.map { [$0] } ?? [])
      + properties.filter { $0.fieldType != nil }.map { "\(SwiftName.literal($0.name)): \\.\($0.identifier)" }
    writer.line()
    writer.documentation(["The properties' names in the model."])
    let keyPath = "any \(context.library("PartialKeyPath"))<Self> & \(context.library("Sendable"))"
    let head = "\(context.access)static let properties: [\(context.library("String")): \(keyPath)] = "
    if entries.isEmpty { return writer.line(head + "[:]") }
    writer.open(head + "[")
    for entry in entries { writer.line(entry + ",") }
    writer.close("]")
  }
}
