import KVCloneModel

extension ModelReader {
  /// Parses an attribute of an entity or a composite, and whether an old model requests an index on it.
  mutating func attribute(
    _ node: XMLNode
  ) throws(ModelFileError) -> (attribute: AttributeDescription, isIndexed: Bool) {
    var element = ElementReader(node, file: file)
    let name = try element.required("name")
    context.property = name
    defer { context.property = nil }
    var attribute = AttributeDescription(name, try type(&element, name))
    attribute.isOptional = element.flag("optional", &context)
    attribute.isTransient = element.flag("transient", &context)
    attribute.allowsExternalBinaryDataStorage = element.flag("allowsExternalBinaryDataStorage", &context)
    attribute.usesScalarValueType = element.flag("usesScalarValueType", &context)
    attribute.isIndexedBySpotlight = element.flag("spotlightIndexingEnabled", &context)
    attribute.preservesValueInHistoryOnDeletion = element.flag("preserveAfterDeletion", &context)
    attribute.allowsCloudEncryption = element.flag("allowsCloudEncryption", &context)
    attribute.valueTransformerName = element.nonEmptyText("valueTransformerName")
    attribute.attributeValueClassName = element.nonEmptyText("customClassName")
    attribute.compositeName = element.nonEmptyText("composite")
    attribute.renamingIdentifier = element.nonEmptyText("elementID")
    attribute.versionHashModifier = element.nonEmptyText("versionHashModifier")
    let isIndexed = element.flag("indexed", &context)
    element.ignore("syncable", "storedInTruthFile")
    if attribute.type == .undefined && !attribute.isTransient {
      context.warn(.untypedAttribute, "has no type and is not transient; its value is not stored")
      attribute.isTransient = true
    }
    derivation(&element, &attribute)
    values(&element, &attribute)
    readUserInfo(of: element, &attribute.userInfo)
    return (attribute, isIndexed)
  }

  private mutating func type(_ element: inout ElementReader, _ name: String) throws(ModelFileError) -> AttributeType {
    guard let text = element.nonEmptyText("attributeType") else { return .undefined }
    guard let type = AttributeType(rawValue: text) else {
      throw .unknownAttributeType(path: file, entity: context.entity ?? "", property: name, type: text)
    }
    return type
  }

  private mutating func derivation(_ element: inout ElementReader, _ attribute: inout AttributeDescription) {
    let isDerived = element.flag("derived", &context)
    let expression = element.nonEmptyText("derivationExpression")
    switch (isDerived, expression) {
    case (true, .some): attribute.derivationExpression = expression
    case (true, nil):
      context.warn(.unreadableValue, "is derived but has no derivation expression; it is treated as a stored attribute")
    case (false, .some):
      context.warn(.meaninglessFlag, "has a derivation expression but is not derived; the expression is ignored")
    case (false, nil): break
    }
  }

  private mutating func values(_ element: inout ElementReader, _ attribute: inout AttributeDescription) {
    attribute.defaultValue = value(
      "default value", element.text("defaultValueString"), element.text("defaultDateTimeInterval"), attribute.type)
    let boundType = attribute.boundType
    attribute.minValue = value(
      "minimum", element.text("minValueString"), element.text("minDateTimeInterval"), boundType)
    attribute.maxValue = value(
      "maximum", element.text("maxValueString"), element.text("maxDateTimeInterval"), boundType)
    attribute.regularExpression = element.nonEmptyText("regularExpressionString")
  }

  private mutating func value(
    _ role: String, _ text: String?, _ interval: String?, _ type: AttributeType
  ) -> AttributeValue? {
    let parsed = ValueParser.parse(text, interval: interval, type: type)
    // No default was set, which needs no warning.
    let isFilledIn = !(text ?? "").isEmpty || type == .date && !(interval ?? "").isEmpty
    if parsed.isDoubtful, isFilledIn {
      let outcome = parsed.value == nil ? "it is ignored" : "its meaning is guessed"
      context.warn(.unreadableValue, "the \(role) cannot be read as \(type.rawValue), so \(outcome); correct it")
    }
    return parsed.value
  }
}
