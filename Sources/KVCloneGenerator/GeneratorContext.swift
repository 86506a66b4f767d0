import KVCloneModel

/// The model, the options, and the names that everything gets.
struct GeneratorContext {
  let model: ManagedObjectModel
  let options: ModelGenerator.Options
  private let entityNames: [String: String]
  private let compositeNames: [String: String]
  /// The names of all generated types, nested enums too, which hide those of other modules.
  private let taken: Set<String>

  init(_ model: ManagedObjectModel, _ options: ModelGenerator.Options) throws(GeneratorError) {
    self.model = model
    self.options = options
    var taken: Set<String> = []
    var entityNames: [String: String] = [:]
    var compositeNames: [String: String] = [:]
    for entity in model.entities {
      let name = SwiftName.type(entity.userInfo[AnnotationKey.name] ?? entity.name)
      guard taken.insert(name).inserted else {
        throw GeneratorError(
          "two types have the name \(name); set \(AnnotationKey.name) for one of them", entity: entity.name)
      }
      entityNames[entity.name] = name
    }
    for composite in model.composites {
      var name = SwiftName.type(composite.userInfo[AnnotationKey.name] ?? composite.name)
      // Entities and composites are named apart from each other in a model.
      if taken.contains(name) { name += "Composite" }
      guard taken.insert(name).inserted else {
        throw GeneratorError(
          "two types have the name \(name); set \(AnnotationKey.name) for one of them", entity: composite.name)
      }
      compositeNames[composite.name] = name
    }
    let owners = model.entities.map { ($0.name, $0.attributes) } + model.composites.map { ($0.name, $0.elements) }
    let types = taken
    for (owner, attributes) in owners {
      for attribute in attributes {
        guard let enumeration = try EnumPlan(attribute, in: owner), !enumeration.cases.isEmpty else { continue }
        guard !types.contains(enumeration.name) else {
          throw GeneratorError(
            "the enum \(enumeration.name) would hide the struct with the same name; rename the enum", entity: owner,
            property: attribute.name)
        }
        taken.insert(enumeration.name)
      }
    }
    self.entityNames = entityNames
    self.compositeNames = compositeNames
    self.taken = taken
  }

  /// `public `, or nothing.
  var access: String { options.access == .public ? "public " : "" }

  func typeName(of entity: String) -> String { entityNames[entity] ?? SwiftName.type(entity) }
  func typeName(ofComposite composite: String) -> String { compositeNames[composite] ?? SwiftName.type(composite) }

  /// The model's name as that of a property of `ManagedObjectModel`.
  var modelProperty: String { SwiftName.property(SwiftName.lowerCamel(SwiftName.plain(model.name))) }

  /// The model's file, whose name is none of a type's.
  var modelFileName: String { "ManagedObjectModel+" + SwiftName.plain(model.name) }

  /// A type of another module, with the module's name where one of the model's hides it.
  func library(_ name: String) -> String {
    guard taken.contains(name) else { return name }
    if ValueSource.foundationTypes.contains(name) { return "Foundation." + name }
    return (Self.standard.contains(name) ? "Swift." : "KVClone.") + name
  }

  private static let standard: Set<String> = [
    "Int16", "Int32", "Int64", "Double", "Float", "String", "Bool", "Set", "PartialKeyPath", "Sendable", "CaseIterable",
    "Codable",
  ]
}

/// What the author of a model can say of the Swift that is generated, in userInfo.
enum AnnotationKey {
  /// Of an entity, a composite, an attribute or a relationship: its name in Swift.
  static let name = "swiftName"
  /// Of an attribute: an enum with raw values, `Priority`, or with its cases, `Priority: low = 0, high`.
  static let enumeration = "swiftEnum"
  /// Of an entity, a composite, an attribute or a relationship: its documentation.
  static let documentation = "documentation"
}
