import KVCloneModel

/// Converts a model to the text of a `contents` file, which ``ModelReader`` parses to an equal model.
///
/// Requires the canonical form: models are converted by ``ManagedObjectModel/expressibleForm`` first, and the output is
/// parsed again before it is returned.
struct ModelWriter {
  typealias Attributes = KeyValuePairs<String, String?>

  let file: String
  /// The current entity, for errors.
  var entity: String?
  var property: String?
  private(set) var text = ""
  private var depth = 0

  static func write(_ model: ManagedObjectModel, file: String) throws(ModelFileError) -> String {
    var writer = ModelWriter(file: file)
    try writer.write(model)
    return writer.text
  }

  // MARK: Elements

  /// Opens an element. Attributes that are nil are omitted. The order of the attributes is Xcode's.
  mutating func open(
    _ name: String, _ attributes: Attributes = [:], isEmpty: Bool = false
  ) throws(ModelFileError) {
    text += String(repeating: "    ", count: depth) + "<" + name
    for (name, value) in attributes {
      guard let value else { continue }
      text += " \(name)=\""
      guard XMLText.append(value, to: &text) else {
        throw inexpressible("has a character in '\(name)' that XML cannot express; remove it")
      }
      text += "\""
    }
    text += isEmpty ? "/>\n" : ">\n"
    if !isEmpty { depth += 1 }
  }

  mutating func close(_ name: String) {
    depth -= 1
    text += String(repeating: "    ", count: depth) + "</\(name)>\n"
  }

  func inexpressible(_ reason: String) -> ModelFileError {
    .inexpressible(path: file, entity: entity, property: property, reason: reason)
  }

  /// An absent flag means NO.
  func flag(_ isOn: Bool) -> String? { isOn ? "YES" : nil }

  /// An absent count means 0.
  func count(_ number: Int) -> String? { number == 0 ? nil : String(number) }

  // MARK: The model

  private mutating func write(_ model: ManagedObjectModel) throws(ModelFileError) {
    text += "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n"
    // The version numbers of an Xcode that supports everything that may follow; composite attributes are the latest.
    try open(
      "model",
      [
        "type": "com.apple.IDECoreDataModeler.DataModel", "documentVersion": "1.0", "lastSavedToolsVersion": "22758",
        "systemVersion": "23F79", "minimumToolsVersion": "Automatic", "sourceLanguage": "Swift",
        "userDefinedModelVersionIdentifier": "",
      ])
    for entity in model.entities { try write(entity) }
    for composite in model.composites { try write(composite) }
    for request in model.fetchRequestTemplates { try write(request) }
    for (name, members) in model.configurations.sorted(by: { $0.key < $1.key }) {
      try open("configuration", ["name": name])
      for member in members { try open("memberEntity", ["name": member], isEmpty: true) }
      close("configuration")
    }
    close("model")
  }

  private mutating func write(_ entity: EntityDescription) throws(ModelFileError) {
    self.entity = entity.name
    defer { self.entity = nil }
    try open(
      "entity",
      [
        "name": entity.name, "representedClassName": entity.managedObjectClassName,
        "parentEntity": entity.superentityName, "isAbstract": flag(entity.isAbstract),
        "elementID": entity.renamingIdentifier, "versionHashModifier": entity.versionHashModifier, "syncable": "YES",
        "codeGenerationType": entity.codeGenerationType,
        "coreSpotlightDisplayNameExpression": entity.coreSpotlightDisplayNameExpression,
      ])
    let indexed = Set(
      entity.indexes.filter { $0.origin == .indexedAttribute }.compactMap(\.elements.first?.propertyName))
    for attribute in entity.attributes { try write(attribute, isIndexed: indexed.contains(attribute.name)) }
    for relationship in entity.relationships { try write(relationship) }
    for property in entity.fetchedProperties { try write(property) }
    try write(entity.indexes.filter { $0.origin != .indexedAttribute })
    if !entity.uniquenessConstraints.isEmpty {
      try open("uniquenessConstraints")
      for constraint in entity.uniquenessConstraints {
        try write(constraint, in: "uniquenessConstraint", as: "constraint")
      }
      close("uniquenessConstraints")
    }
    try write(userInfo: entity.userInfo)
    close("entity")
  }

  private mutating func write(_ composite: CompositeAttributeDescription) throws(ModelFileError) {
    entity = composite.name
    defer { entity = nil }
    try open("composite", ["name": composite.name])
    for element in composite.elements { try write(element, isIndexed: false) }
    try write(userInfo: composite.userInfo)
    close("composite")
  }

  // MARK: Indexes

  private mutating func write(_ indexes: [FetchIndexDescription]) throws(ModelFileError) {
    var isInsideCompound = false
    for index in indexes {
      let isCompound = index.origin == .compoundIndex
      if isCompound && !isInsideCompound { try open("compoundIndexes") }
      if !isCompound && isInsideCompound { close("compoundIndexes") }
      isInsideCompound = isCompound
      if isCompound {
        try write(index.elements.compactMap(\.propertyName), in: "compoundIndex", as: "index")
      } else {
        try write(index)
      }
    }
    if isInsideCompound { close("compoundIndexes") }
  }

  private mutating func write(_ index: FetchIndexDescription) throws(ModelFileError) {
    try open("fetchIndex", ["name": index.name, "partialIndexPredicate": index.partialPredicate])
    for element in index.elements {
      try open(
        "fetchIndexElement",
        [
          "property": element.propertyName, "expression": element.expression, "type": element.kind.rawValue,
          "order": element.isAscending ? "ascending" : "descending",
        ], isEmpty: true)
    }
    close("fetchIndex")
  }

  private mutating func write(_ names: [String], in group: String, as item: String) throws(ModelFileError) {
    try open(group)
    for name in names { try open(item, ["value": name], isEmpty: true) }
    close(group)
  }
}
