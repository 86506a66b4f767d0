import Foundation
package import KVCloneModel

/// Reads the model that Core Data keeps in a store: an archived NSManagedObjectModel.
///
/// It has less than Xcode's files: bounds of values, indexes and fetch requests are archived predicates, which are left out, and
/// some flags have no name that is documented; see ``ArchivedModel``.
///
/// An archive may name one object in many places, so that a short one can be a model of any size: what it may hold is bounded by
/// ``ModelLimits``, and counted while it is read.
struct ModelArchive {
  /// Why there is no model.
  enum Problem: Error, Hashable {
    /// The bytes are no archive of a model.
    case damaged
    /// The model has more than ``ModelLimits`` allow; the entity with which that was found, nil where there are too many.
    case tooLarge(entity: String?)
    case cancelled
  }

  private var archive: KeyedArchive
  private var omitted: Set<String> = []
  /// Properties, annotations and constraints so far, those that entities inherit counted with each of them.
  private var itemCount = 0
  private let isCancelled: () -> Bool
  /// Why the reading was given up, where it is not the archive that is damaged.
  private var stop: Problem?

  private init(_ bytes: [UInt8], _ isCancelled: @escaping () -> Bool) throws(BinaryPropertyList.Damage) {
    archive = try KeyedArchive(bytes)
    self.isCancelled = isCancelled
  }

  /// - Parameters:
  ///   - name: the model's name, which the archive does not have.
  ///   - isCancelled: is asked for every property.
  static func model(
    in bytes: [UInt8], name: String, isCancelled: @escaping () -> Bool = { false }
  ) throws(Problem) -> ArchivedModel {
    var reader: ModelArchive
    do throws(BinaryPropertyList.Damage) {
      reader = try ModelArchive(bytes, isCancelled)
    } catch {
      throw .damaged
    }
    do throws(BinaryPropertyList.Damage) {
      return try reader.model(name: name)
    } catch {
      throw reader.stop ?? .damaged
    }
  }

  /// Counts what is about to be read.
  private mutating func count(_ more: Int, of entity: String) throws(BinaryPropertyList.Damage) {
    itemCount += more
    if isCancelled() { stop = .cancelled }
    if itemCount > ModelLimits.resolvedProperties { stop = .tooLarge(entity: entity) }
    if stop != nil { throw .init() }
  }

  private mutating func model(name: String) throws(BinaryPropertyList.Damage) -> ArchivedModel {
    guard case .object(let root) = try archive.rootNode(), root.className == "NSManagedObjectModel" else {
      throw .init()
    }
    var entities: [EntityDescription] = []
    let listed = try pairs(try archive.field("NSEntities", of: root))
    if listed.count > ModelLimits.entities {
      stop = .tooLarge(entity: nil)
      throw .init()
    }
    for (key, node) in listed {
      guard case .object(let object) = node else { continue }
      entities.append(try entity(object, name: key))
    }
    guard !entities.isEmpty else { throw .init() }
    var versions: [String] = []
    for node in try archive.items(of: try archive.field("NSVersionIdentifiers", of: root)) ?? [] {
      if case .string(let text) = node, !text.isEmpty { versions.append(text) }
    }
    if case .object = try archive.field("NSFetchRequestTemplates", of: root) { omitted.insert("fetch requests") }
    entities.sort { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    entities = Self.withoutInherited(entities)
    return ArchivedModel(
      model: ManagedObjectModel(
        name: name, versionIdentifier: versions.isEmpty ? nil : versions.sorted().joined(separator: ", "),
        entities: entities),
      omitted: omitted.sorted())
  }

  /// What an entity hands down.
  private struct Inherited {
    let attributes: Set<String>
    let relationships: Set<String>
    let constraints: Set<[String]>
    let userInfo: [String: String]

    init(_ parent: EntityDescription) {
      attributes = Set(parent.attributes.map(\.name))
      relationships = Set(parent.relationships.map(\.name))
      constraints = Set(parent.uniquenessConstraints)
      userInfo = parent.userInfo
    }
  }

  /// The archive lists inherited properties with every entity; a model has them where they are declared.
  ///
  /// The work is linear in what the entities have: each parent is looked through once, and each entity for its own properties.
  private static func withoutInherited(_ entities: [EntityDescription]) -> [EntityDescription] {
    let byName = Dictionary(entities.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    var known: [String: Inherited] = [:]
    return entities.map { entity in
      guard let parent = entity.superentityName.flatMap({ byName[$0] }) else { return entity }
      let inherited = known[parent.name] ?? Inherited(parent)
      known[parent.name] = inherited
      var entity = entity
      entity.attributes.removeAll { inherited.attributes.contains($0.name) }
      entity.relationships.removeAll { inherited.relationships.contains($0.name) }
      entity.uniquenessConstraints.removeAll { inherited.constraints.contains($0) }
      entity.userInfo = entity.userInfo.filter { inherited.userInfo[$0.key] != $0.value }
      return entity
    }
  }

  // MARK: Collections

  /// The keys that are texts, and their values, of a dictionary of any class that Core Data uses.
  private mutating func pairs(
    _ node: KeyedArchive.Node
  ) throws(BinaryPropertyList.Damage) -> [(key: String, value: KeyedArchive.Node)] {
    guard case .object(let object) = node else { return [] }
    let keys: [KeyedArchive.Node]
    let values: [KeyedArchive.Node]
    if object.className.hasPrefix("NSKnownKeysDictionary") {
      guard case .object(let mapping) = try archive.field("searchMapping", of: object) else { throw .init() }
      keys = try archive.items(of: try archive.field("keys", of: mapping)) ?? []
      values = try archive.items(of: try archive.field("values", of: object)) ?? []
    } else {
      keys = try archive.members("NS.keys", of: object) ?? []
      values = try archive.members("NS.objects", of: object) ?? []
    }
    guard keys.count == values.count else { throw .init() }
    var result: [(String, KeyedArchive.Node)] = []
    for (key, value) in zip(keys, values) {
      if case .string(let key) = key { result.append((key, value)) }
    }
    return result
  }

  private mutating func userInfo(
    of object: KeyedArchive.Object, in entity: String
  ) throws(BinaryPropertyList.Damage) -> [String: String] {
    var result: [String: String] = [:]
    let entries = try pairs(try archive.field("NSUserInfo", of: object))
    try count(entries.count, of: entity)
    for (key, value) in entries {
      if case .string(let text) = value { result[key] = text }
    }
    return result
  }

  private mutating func flag(_ name: String, of object: KeyedArchive.Object) throws(BinaryPropertyList.Damage) -> Bool {
    switch try archive.field(name, of: object) {
    case .boolean(let flag): flag
    case .integer(let number): number != 0
    default: false
    }
  }

  private mutating func renaming(
    of object: KeyedArchive.Object, name: String
  ) throws(BinaryPropertyList.Damage) -> String? {
    guard let text = try archive.text("NSRenamingIdentifier", of: object), text != name, !text.isEmpty else {
      return nil
    }
    return text
  }

  // MARK: Entities

  private mutating func entity(
    _ object: KeyedArchive.Object, name: String
  ) throws(BinaryPropertyList.Damage) -> EntityDescription {
    var entity = EntityDescription(name: name)
    entity.managedObjectClassName = try archive.text("NSClassNameForEntity", of: object)
    if case .object(let parent) = try archive.field("NSSuperentity", of: object) {
      entity.superentityName = try archive.text("NSEntityName", of: parent)
    }
    entity.isAbstract = try flag("NSIsAbstract", of: object)
    entity.renamingIdentifier = try renaming(of: object, name: name)
    entity.versionHashModifier = try archive.text("NSVersionHashModifier", of: object)
    entity.userInfo = try userInfo(of: object, in: name)
    let properties = try pairs(try archive.field("NSProperties", of: object))
    if properties.count > ModelLimits.properties {
      stop = .tooLarge(entity: name)
      throw .init()
    }
    for (property, node) in properties {
      try count(1, of: entity.name)
      guard case .object(let object) = node else { continue }
      switch object.className {
      case "NSRelationshipDescription":
        entity.relationships.append(try relationship(object, name: property, in: entity.name))
      case "NSFetchedPropertyDescription": omitted.insert("fetched properties")
      default: entity.attributes.append(try attribute(object, name: property, in: entity.name))
      }
    }
    entity.attributes.sort { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    entity.relationships.sort { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    for node in try archive.items(of: try archive.field("NSUniqueTuples", of: object)) ?? [] {
      var names: [String] = []
      let items = try archive.items(of: node) ?? []
      try count(1 + items.count, of: name)
      for item in items {
        if case .string(let name) = item { names.append(name) }
      }
      if !names.isEmpty { entity.uniquenessConstraints.append(names) }
    }
    if case .object = try archive.field("NSFetchIndexDescriptions", of: object) { omitted.insert("fetch indexes") }
    return entity
  }

  private mutating func relationship(
    _ object: KeyedArchive.Object, name: String, in owner: String
  ) throws(BinaryPropertyList.Damage) -> RelationshipDescription {
    var destination = try archive.text("_NSDestinationEntityName", of: object)
    if destination == nil, case .object(let entity) = try archive.field("NSDestinationEntity", of: object) {
      destination = try archive.text("NSEntityName", of: entity)
    }
    let maximum = Int(clamping: max(0, try archive.integer("NSMaxCount", of: object) ?? 0))
    var relationship =
      maximum == 1
      ? RelationshipDescription(name, toOne: destination ?? "")
      : RelationshipDescription(name, toMany: destination ?? "")
    relationship.isOptional = try flag("NSIsOptional", of: object)
    relationship.isTransient = try flag("NSIsTransient", of: object)
    relationship.isOrdered = maximum != 1 ? try flag("NSIsOrdered", of: object) : false
    relationship.minCount = Int(clamping: max(0, try archive.integer("NSMinCount", of: object) ?? 0))
    relationship.maxCount = maximum
    switch try archive.integer("NSDeleteRule", of: object) {
    case 0: relationship.deleteRule = .noAction
    case 2: relationship.deleteRule = .cascade
    case 3: relationship.deleteRule = .deny
    default: relationship.deleteRule = .nullify
    }
    if case .object(let inverse) = try archive.field("NSInverseRelationship", of: object) {
      relationship.inverseName = try archive.text("NSPropertyName", of: inverse)
      if case .object(let entity) = try archive.field("NSEntity", of: inverse) {
        let entity = try archive.text("NSEntityName", of: entity)
        relationship.inverseEntityName = entity == destination ? nil : entity
      }
    }
    relationship.userInfo = try userInfo(of: object, in: owner)
    relationship.renamingIdentifier = try renaming(of: object, name: name)
    relationship.versionHashModifier = try archive.text("NSVersionHashModifier", of: object)
    return relationship
  }

  // MARK: Attributes

  private static let types: [Int64: AttributeType] = [
    100: .integer16, 200: .integer32, 300: .integer64, 400: .decimal, 500: .double, 600: .float, 700: .string,
    800: .boolean, 900: .date, 1000: .binary, 1100: .uuid, 1200: .uri, 1800: .transformable,
  ]
  /// Of `NSFlagsKey`: the value may be in a file of its own; it outlives its object in the history of deletions.
  private static let (storedExternally, preservedAfterDeletion): (Int64, Int64) = (4, 16)

  private mutating func attribute(
    _ object: KeyedArchive.Object, name: String, in owner: String
  ) throws(BinaryPropertyList.Damage) -> AttributeDescription {
    let number = try archive.integer("NSAttributeType", of: object) ?? 0
    let type = Self.types[number] ?? .undefined
    if type == .undefined, number != 0 { omitted.insert("attributes of type \(number)") }
    var attribute = AttributeDescription(name, type)
    attribute.isOptional = try flag("NSIsOptional", of: object)
    // Nothing of an attribute without a type is stored.
    attribute.isTransient = try flag("NSIsTransient", of: object) || type == .undefined
    attribute.valueTransformerName = try archive.text("NSValueTransformerName", of: object)
    if type == .transformable {
      attribute.attributeValueClassName = try archive.text("NSAttributeValueClassName", of: object)
    }
    attribute.defaultValue = try defaultValue(of: object, type).flatMap { attribute.coerce($0) }
    let flags = try archive.integer("NSFlagsKey", of: object) ?? 0
    attribute.allowsExternalBinaryDataStorage = type == .binary && flags & Self.storedExternally != 0
    attribute.preservesValueInHistoryOnDeletion = flags & Self.preservedAfterDeletion != 0
    attribute.userInfo = try userInfo(of: object, in: owner)
    attribute.renamingIdentifier = try renaming(of: object, name: name)
    attribute.versionHashModifier = try archive.text("NSVersionHashModifier", of: object)
    if case .object = try archive.field("NSValidationPredicates", of: object) { omitted.insert("bounds of values") }
    let derivation = try archive.field("NSDerivationExpression", of: object)
    if case .object = derivation {
      attribute.derivationExpression = try ExpressionArchive.text(of: derivation, in: archive)
    }
    return attribute
  }

  private mutating func defaultValue(
    of object: KeyedArchive.Object, _ type: AttributeType
  ) throws(BinaryPropertyList.Damage) -> AttributeValue? {
    let node = try archive.field("NSDefaultValue", of: object)
    switch node {
    case .null: return nil
    case .boolean(let flag): return type == .boolean ? .boolean(flag) : .integer(flag ? 1 : 0)
    case .integer(let number):
      return type == .date ? .date(Date(timeIntervalSinceReferenceDate: Double(number))) : .integer(number)
    case .real(let number): return .double(number)
    case .string(let text): return type == .uri ? .uri(text) : .string(text)
    case .data(let bytes): return type == .transformable ? .transformable(Data(bytes)) : .binary(Data(bytes))
    case .object: return try ExpressionArchive.value(of: node, in: archive)
    }
  }
}

/// A model out of a store, and what it does not have that the one in Xcode's files has.
package struct ArchivedModel: Sendable {
  /// The model; validated by nobody yet.
  package var model: ManagedObjectModel
  /// Kinds of things that were left out: `fetch indexes`.
  package var omitted: [String]
}
