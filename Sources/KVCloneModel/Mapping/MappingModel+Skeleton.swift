extension MappingModel {
  /// Returns Swift source for a mapping model between two model versions. Mappings that can be inferred are complete;
  /// decisions left to the app's author are marked with FILL IN and the reason.
  ///
  /// The source compiles unchanged. Until every mark is replaced, a migration with it is refused with the name of the
  /// property.
  ///
  /// ```swift
  /// let mapping = MappingModel(
  ///   [
  ///     EntityMapping(from: "Author", to: "Writer"),
  ///     EntityMapping(
  ///       from: "Book", to: "Volume",
  ///       attributes: [
  ///         // FILL IN. Volume.cents: added, Integer 64: objects would have no value for a new attribute …
  ///         PropertyMapping("cents", .unsupported("FILL IN Volume.cents"))
  ///       ]),
  ///   ], sourceModelPath: "Shop 1", destinationModelPath: "Shop 2")
  /// ```
  ///
  /// - Parameters:
  ///   - source: The store's version.
  ///   - destination: The target version.
  ///   - versions: Other versions of the model, used to resolve renaming identifiers.
  public static func skeleton(
    from source: ManagedObjectModel, to destination: ManagedObjectModel, through versions: [ManagedObjectModel] = []
  ) -> String {
    MappingSkeleton(from: source, to: destination, through: versions).text
  }
}

/// Writes a mapping model as Swift source.
private struct MappingSkeleton {
  private static let mark = "FILL IN"

  private let source: ManagedObjectModel
  private let destination: ManagedObjectModel
  private let matching: ModelMatching
  private let refusals: [ModelDifference.Change]

  init(from source: ManagedObjectModel, to destination: ManagedObjectModel, through versions: [ManagedObjectModel]) {
    self.source = source
    self.destination = destination
    matching = ModelMatching(from: source, to: destination, through: versions)
    refusals = ModelDifference(from: source, to: destination, through: versions).refusals
  }

  var text: String {
    var lines = [
      "// \(Self.oneLine("\(source.versionIdentifier) → \(destination.versionIdentifier)")): the mapping of each entity.",
      "// Complete the entries marked \(Self.mark). Unlisted properties keep their values, or get their defaults.",
      "let mapping = MappingModel(", "  [",
    ]
    var names: Set<String> = []
    let concrete = source.entities.filter { !$0.isAbstract }
    lines += Self.list(concrete.flatMap { mapping(of: $0, &names) }, isSingle: concrete.count == 1)
    lines.append("  ]\(versions))")
    return lines.map { $0 + "\n" }.joined()
  }

  /// The names of the two versions, by which a migration finds the mapping model's step, if they are valid names.
  private var versions: String {
    let names = [source.versionIdentifier, destination.versionIdentifier]
    let model = MappingModel([], sourceModelPath: names[0], destinationModelPath: names[1])
    guard !names.contains(""), model.sourceVersionName == names[0], model.destinationVersionName == names[1] else {
      return ""
    }
    return ", sourceModelPath: \(names[0].swiftLiteral), destinationModelPath: \(names[1].swiftLiteral)"
  }

  // MARK: Entities

  private func mapping(of entity: EntityDescription, _ names: inout Set<String>) -> [String] {
    let from = entity.name.swiftLiteral
    guard let later = matching.laterEntities[entity.name].flatMap({ destination.entity(named: $0) }) else {
      return [
        comment("\(entity.name) was removed, and its objects are deleted; name an entity to keep them."),
        "    EntityMapping(from: \(from), to: nil\(name(entity.name, nil, &names))),",
      ]
    }
    if later.isAbstract {
      let choices = destination.subentities(of: later.name).filter {
        destination.entity(named: $0)?.isAbstract == false
      }
      let choice = choices.isEmpty ? "" : ", such as \(choices.joined(separator: " or "))"
      return [
        comment("\(Self.mark): \(later.name) is now abstract; name a concrete entity\(choice)."),
        "    EntityMapping(from: \(from), to: \("\(Self.mark): an entity for \(entity.name)".swiftLiteral)),",
      ]
    }
    let start = "from: \(from), to: \(later.name.swiftLiteral)\(name(entity.name, later.name, &names))"
    let attributes = Self.list(attributes(later.name, of: entity))
    let relationships = Self.list(relationships(later.name, of: entity))
    if attributes.isEmpty, relationships.isEmpty { return ["    EntityMapping(\(start)),"] }
    var lines = ["    EntityMapping(", "      \(start),"]
    if !attributes.isEmpty {
      lines += ["      attributes: ["] + attributes + ["      ]\(relationships.isEmpty ? ")," : ",")"]
    }
    if !relationships.isEmpty { lines += ["      relationships: ["] + relationships + ["      ]),"] }
    return lines
  }

  /// An argument for the mapping's name, if its default name is taken.
  private func name(_ from: String, _ to: String?, _ names: inout Set<String>) -> String {
    let name = EntityMapping.name(from: from, to: to)
    if names.insert(name).inserted { return "" }
    var number = 2
    while !names.insert("\(name) \(number)").inserted { number += 1 }
    return ", name: \("\(name) \(number)".swiftLiteral)"
  }

  // MARK: Properties

  private func attributes(_ later: String, of entity: EntityDescription) -> [String] {
    let known = resolved(entity.name, later)?.attributeMappings ?? []
    return destination.attributes(of: later).filter { !$0.isTransient && !$0.isDerived }.flatMap { attribute in
      let former = matching.attribute(attribute.name, of: later).flatMap { $0.isTransient ? nil : $0.name }
      return property(
        attribute.name, later, former.map { .source($0) },
        former.map { ".source(\($0.swiftLiteral))" }, automatic: known)
    }
  }

  private func relationships(_ later: String, of entity: EntityDescription) -> [String] {
    let known = resolved(entity.name, later)?.relationshipMappings ?? []
    return destination.relationships(of: later).filter { !$0.isTransient }.flatMap { relationship in
      let former = matching.relationship(relationship.name, of: later).flatMap { $0.isTransient ? nil : $0.name }
      return property(
        relationship.name, later, former.map { .destinationInstancesForRelationship($0, of: .source($0)) },
        former.map {
          ".destinationInstancesForRelationship(\($0.swiftLiteral), of: .source(\($0.swiftLiteral)))"
        }, automatic: known)
    }
  }

  /// The resolved mapping without listed properties.
  private func resolved(_ from: String, _ to: String) -> EntityMapping? {
    try? MappingModel([EntityMapping(from: from, to: to)]).resolved(from: source, to: destination).entityMappings.first
  }

  /// The lines of one property; empty if the automatic mapping is right.
  ///
  /// - Parameters:
  ///   - wanted: the inferred source; nil for a new property.
  ///   - text: the same as Swift source.
  ///   - automatic: the automatic mapping.
  private func property(
    _ name: String, _ entity: String, _ wanted: MappingExpression?, _ text: String?, automatic: [PropertyMapping]
  ) -> [String] {
    let reasons = refusals.filter { concerns($0, name, entity) }
    if !reasons.isEmpty {
      let former = text.map { [comment("The earlier value is \($0).", "        ")] } ?? []
      return reasons.map { comment("\(Self.mark). \($0): \($0.work.reason ?? "").", "        ") } + former + [
        "        PropertyMapping(\(name.swiftLiteral), .unsupported(\("\(Self.mark) \(entity).\(name)".swiftLiteral))),"
      ]
    }
    if automatic.first(where: { $0.name == name })?.valueExpression == wanted { return [] }
    let reason = "\(name) is new; the earlier property with this name was renamed or removed."
    let told = text == nil ? [comment(reason, "        ")] : []
    return told + ["        PropertyMapping(\(name.swiftLiteral), \(text ?? "nil")),"]
  }

  /// Whether a refusal, which is reported where the property is declared, concerns an entity's own or inherited
  /// property.
  private func concerns(_ refusal: ModelDifference.Change, _ property: String, _ entity: String) -> Bool {
    guard let path = refusal.property, path == property || path.hasPrefix(property + "."),
      destination.entity(entity, isKindOf: refusal.entity)
    else { return false }
    // A property that is new to an ancestor may exist in the entity itself.
    return refusal.kind != .added || path != property || !matching.isStored(property, in: entity)
  }

  // MARK: Text

  /// The lines of a list's elements, formatted like formatters do: without a comma after a single one.
  private static func list(_ lines: [String], isSingle: Bool? = nil) -> [String] {
    let isSingle = isSingle ?? (lines.count { !$0.drop(while: { $0 == " " }).hasPrefix("//") } == 1)
    guard isSingle, let last = lines.last, last.hasSuffix(",") else { return lines }
    return lines.dropLast() + [String(last.dropLast())]
  }

  private func comment(_ text: String, _ indentation: String = "    ") -> String {
    "\(indentation)// \(Self.oneLine(text))"
  }

  private static func oneLine(_ text: String) -> String {
    text.split(whereSeparator: \.isNewline).joined(separator: " ")
  }
}
