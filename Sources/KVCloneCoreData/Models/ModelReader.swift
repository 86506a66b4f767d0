import KVCloneModel

/// Converts the tree of a `contents` file to a model, with warnings about everything unknown.
struct ModelReader {
  let file: String
  var context: ReadContext

  private init(file: String) {
    self.file = file
    context = ReadContext(file: file)
  }

  static func read(
    _ root: XMLNode, file: String, name: String, version: String
  ) throws(ModelFileError) -> (model: ManagedObjectModel, warnings: [ModelWarning]) {
    guard root.name == "model" else { throw .notAModel(path: file) }
    var reader = ModelReader(file: file)
    let model = try reader.model(root, name: name, version: version)
    return (model, reader.context.warnings)
  }

  private mutating func model(
    _ node: XMLNode, name: String, version: String
  ) throws(ModelFileError) -> ManagedObjectModel {
    var element = ElementReader(node, file: file)
    element.ignore(
      "type", "documentVersion", "lastSavedToolsVersion", "systemVersion", "minimumToolsVersion", "sourceLanguage",
      "userDefinedModelVersionIdentifier", "macOSVersion", "iOSVersion", "watchOSVersion", "tvOSVersion",
      "visionOSVersion", "name", "usedWithCloudKit", "usedWithSwiftData")
    var entities: [EntityDescription] = []
    var composites: [CompositeAttributeDescription] = []
    var configurations: [String: [String]] = [:]
    var requests: [FetchRequestTemplate] = []
    for child in node.children {
      switch child.name {
      case "entity": entities.append(try entity(child))
      case "composite": composites.append(try composite(child))
      case "fetchRequest": requests.append(try fetchRequest(child))
      case "configuration": try configuration(child, &configurations)
      // The positions of entities in Xcode's editor.
      case "elements": break
      default: element.warnUnknown(child: child, &context)
      }
    }
    element.finish(&context)
    return ManagedObjectModel(
      name: name, versionIdentifier: version, entities: entities, composites: composites,
      configurations: configurations, fetchRequestTemplates: requests)
  }

  private mutating func entity(_ node: XMLNode) throws(ModelFileError) -> EntityDescription {
    var element = ElementReader(node, file: file)
    var entity = EntityDescription(name: try element.required("name"))
    context.entity = entity.name
    defer { context.entity = nil }
    entity.managedObjectClassName = element.nonEmptyText("representedClassName")
    entity.superentityName = element.nonEmptyText("parentEntity")
    entity.isAbstract = element.flag("isAbstract", &context)
    entity.renamingIdentifier = element.nonEmptyText("elementID")
    entity.versionHashModifier = element.nonEmptyText("versionHashModifier")
    entity.codeGenerationType = element.nonEmptyText("codeGenerationType")
    entity.coreSpotlightDisplayNameExpression = element.nonEmptyText("coreSpotlightDisplayNameExpression")
    element.ignore("syncable")
    for child in node.children {
      switch child.name {
      case "attribute":
        let (attribute, isIndexed) = try attribute(child)
        entity.attributes.append(attribute)
        if isIndexed {
          let index = FetchIndexDescription(
            "indexed:\(attribute.name)", [.init(attribute.name)], origin: .indexedAttribute)
          entity.indexes.append(index)
        }
      case "relationship": entity.relationships.append(try relationship(child))
      case "fetchedProperty": entity.fetchedProperties.append(try fetchedProperty(child))
      case "userInfo": userInfo(child, &entity.userInfo)
      case "uniquenessConstraints": entity.uniquenessConstraints += try constraints(child)
      case "fetchIndex": entity.indexes.append(try fetchIndex(child))
      case "compoundIndexes": entity.indexes += try compoundIndexes(child)
      default: element.warnUnknown(child: child, &context)
      }
    }
    element.finish(&context)
    return entity
  }

  private mutating func relationship(_ node: XMLNode) throws(ModelFileError) -> RelationshipDescription {
    var element = ElementReader(node, file: file)
    let name = try element.required("name")
    context.property = name
    defer { context.property = nil }
    let destination = try element.required("destinationEntity")
    let isToMany = element.flag("toMany", &context)
    var relationship =
      isToMany
      ? RelationshipDescription(name, toMany: destination) : RelationshipDescription(name, toOne: destination)
    relationship.isOptional = element.flag("optional", &context)
    relationship.isTransient = element.flag("transient", &context)
    relationship.isOrdered = element.flag("ordered", &context)
    relationship.minCount = element.count("minCount", or: 0, &context)
    relationship.maxCount = element.count("maxCount", or: isToMany ? 0 : 1, &context)
    if !isToMany && relationship.maxCount != 1 {
      context.warn(.meaninglessFlag, "is to-one but has a maximum count other than 1, which is ignored")
      relationship.maxCount = 1
    }
    relationship.inverseName = element.nonEmptyText("inverseName")
    relationship.inverseEntityName = element.nonEmptyText("inverseEntity")
    // Nil means the destination; use one spelling.
    if relationship.inverseName == nil || relationship.inverseEntityName == destination {
      relationship.inverseEntityName = nil
    }
    let rule = element.text("deletionRule")
    if let known = rule.flatMap(DeleteRule.init(rawValue:)) {
      relationship.deleteRule = known
    } else {
      context.warn(.unreadableValue, "has an unknown deletion rule, which is treated as 'Nullify'")
    }
    relationship.renamingIdentifier = element.nonEmptyText("elementID")
    relationship.versionHashModifier = element.nonEmptyText("versionHashModifier")
    element.ignore("syncable", "spotlightIndexingEnabled", "storedInTruthFile", "indexed")
    readUserInfo(of: element, &relationship.userInfo)
    return relationship
  }

  private mutating func composite(_ node: XMLNode) throws(ModelFileError) -> CompositeAttributeDescription {
    var element = ElementReader(node, file: file)
    var composite = CompositeAttributeDescription(try element.required("name"), elements: [])
    context.entity = composite.name
    defer { context.entity = nil }
    for child in node.children {
      switch child.name {
      case "attribute", "composite": composite.elements.append(try attribute(child).attribute)
      case "userInfo": userInfo(child, &composite.userInfo)
      default: element.warnUnknown(child: child, &context)
      }
    }
    element.finish(&context)
    return composite
  }

  private mutating func configuration(
    _ node: XMLNode, _ configurations: inout [String: [String]]
  ) throws(ModelFileError) {
    var element = ElementReader(node, file: file)
    let name = try element.required("name")
    element.ignore("usedWithCloudKit", "usedWithSwiftData")
    var members = configurations[name] ?? []
    for child in node.children {
      guard child.name == "memberEntity" else {
        element.warnUnknown(child: child, &context)
        continue
      }
      var member = ElementReader(child, file: file)
      members.append(try member.required("name"))
      member.finish(&context)
    }
    configurations[name] = members
    element.finish(&context)
  }

  mutating func readUserInfo(of element: ElementReader, _ result: inout [String: String]) {
    for child in element.node.children {
      if child.name == "userInfo" {
        userInfo(child, &result)
      } else {
        element.warnUnknown(child: child, &context)
      }
    }
    element.finish(&context)
  }

  mutating func userInfo(_ node: XMLNode, _ result: inout [String: String]) {
    let element = ElementReader(node, file: file)
    for child in node.children {
      guard child.name == "entry" else {
        element.warnUnknown(child: child, &context)
        continue
      }
      var entry = ElementReader(child, file: file)
      guard let key = entry.text("key") else {
        context.warn(.unknownContent, "a userInfo entry (line \(child.line)) has no key, and is ignored")
        continue
      }
      let value = entry.text("value") ?? ""
      if let earlier = result[key], earlier != value {
        context.warn(.unknownContent, "the userInfo key '\(key)' occurs twice; the last value is used")
      }
      result[key] = value
      entry.finish(&context)
    }
    element.finish(&context)
  }
}
