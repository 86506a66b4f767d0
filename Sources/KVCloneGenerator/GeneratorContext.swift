import KVCloneModel

/// The model, the options, and the names of all generated declarations.
struct GeneratorContext {
  let model: ManagedObjectModel
  let options: ModelGenerator.Options
  private let entityNames: [String: String]
  private let compositeNames: [String: String]
  /// The names of all generated types, including nested enums, which hide those of other modules.
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
      // In a model, an entity and a composite may have the same name.
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

  /// `public `, or empty.
  var access: String { options.access == .public ? "public " : "" }

  func typeName(of entity: String) -> String { entityNames[entity] ?? SwiftName.type(entity) }
  func typeName(ofComposite composite: String) -> String { compositeNames[composite] ?? SwiftName.type(composite) }

  /// The name of the model as a property of `ManagedObjectModel`.
  var modelProperty: String { SwiftName.property(SwiftName.lowerCamel(SwiftName.plain(model.name))) }

  /// The name of the model's file, which differs from those of all types.
  var modelFileName: String { "ManagedObjectModel+" + SwiftName.plain(model.name) }

  /// Returns the name of a type of another module, qualified if a type of the model hides it.
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

/// The userInfo keys with which a model configures the generated Swift source.
enum AnnotationKey {
  /// The Swift name of an entity, a composite, an attribute or a relationship.
  static let name = "swiftName"
  /// The enum of an attribute: its name, `Priority`, or with its cases, `Priority: low = 0, high`.
  static let enumeration = "swiftEnum"
  /// The documentation of an entity, a composite, an attribute or a relationship.
  static let documentation = "documentation"
}
