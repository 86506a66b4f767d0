import Foundation
package import KVCloneModel

/// Decodes an archived NSManagedObjectModel: the output of Xcode's model compiler, and what Core Data keeps in a store.
///
/// It lacks what only the model editor and source generation need; see ``ArchivedModel``.
///
/// An archive may refer to one object in many places, so that a short one can be a model of any size: its content is
/// bounded by ``ModelLimits``, and counted while it is decoded.
struct ModelArchive {
  /// Why the model cannot be decoded.
  enum Problem: Error, Hashable {
    /// The bytes are not an archived model.
    case corrupted
    /// The model exceeds ``ModelLimits``, with the entity at which that was detected; nil for too many entities.
    case tooLarge(entity: String?)
    /// The archive has an attribute of an unsupported kind.
    case unsupported(entity: String, property: String, reason: String)
    case cancelled
  }

  var archive: KeyedArchive
  var omitted: Set<String> = []
  /// The number of properties, annotations and constraints so far; inherited ones count for each entity.
  private var itemCount = 0
  private let isCancelled: () -> Bool
  /// Why decoding stopped, unless the archive is corrupted.
  private var stop: Problem?

  private init(_ bytes: [UInt8], _ isCancelled: @escaping () -> Bool) throws(BinaryPropertyList.Malformed) {
    archive = try KeyedArchive(bytes)
    self.isCancelled = isCancelled
  }

  /// - Parameters:
  ///   - name: the model's name, which the archive does not contain.
  ///   - version: the version's name; nil uses the version identifiers in the archive.
  ///   - isCancelled: called for every property.
  static func model(
    in bytes: [UInt8], name: String, version: String? = nil, isCancelled: @escaping () -> Bool = { false }
  ) throws(Problem) -> ArchivedModel {
    var reader: ModelArchive
    do throws(BinaryPropertyList.Malformed) {
      reader = try ModelArchive(bytes, isCancelled)
    } catch {
      throw .corrupted
    }
    do throws(BinaryPropertyList.Malformed) {
      return try reader.model(name: name, version: version)
    } catch {
      throw reader.stop ?? .corrupted
    }
  }

  /// Counts what is decoded next.
  mutating func count(_ more: Int, of entity: String) throws(BinaryPropertyList.Malformed) {
    itemCount += more
    if isCancelled() { stop = .cancelled }
    if itemCount > ModelLimits.resolvedProperties { stop = .tooLarge(entity: entity) }
    if stop != nil { throw .init() }
  }

  /// Stops at an attribute that is not supported.
  mutating func refuse(_ property: String, of entity: String, _ reason: String) -> BinaryPropertyList.Malformed {
    stop = .unsupported(entity: entity, property: property, reason: reason)
    return .init()
  }

  private mutating func model(
    name: String, version: String?
  ) throws(BinaryPropertyList.Malformed) -> ArchivedModel {
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
    var identifiers: [String] = []
    for node in try archive.items(of: try archive.field("NSVersionIdentifiers", of: root)) ?? [] {
      if case .string(let text) = node, !text.isEmpty { identifiers.append(text) }
    }
    entities.sort { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    entities = Self.withoutInherited(entities)
    return ArchivedModel(
      model: ManagedObjectModel(
        name: name,
        versionIdentifier: version ?? (identifiers.isEmpty ? nil : identifiers.sorted().joined(separator: ", ")),
        entities: entities, configurations: try configurations(of: root),
        fetchRequestTemplates: try fetchRequestTemplates(of: root)),
      omitted: omitted.sorted())
  }

  /// The properties, constraints and indexes that an entity's subentities inherit.
  private struct Inherited {
    let properties: Set<String>
    let constraints: Set<[String]>
    let indexes: Set<FetchIndexDescription>

    init(_ parent: EntityDescription) {
      properties = Set(
        parent.attributes.map(\.name) + parent.relationships.map(\.name) + parent.fetchedProperties.map(\.name))
      constraints = Set(parent.uniquenessConstraints)
      indexes = Set(parent.indexes)
    }
  }

  /// Removes inherited properties, which the archive lists with every entity; a model has them where they are declared.
  ///
  /// Takes linear time: each parent is visited once, and each entity for its own properties.
  private static func withoutInherited(_ entities: [EntityDescription]) -> [EntityDescription] {
    let byName = Dictionary(entities.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    var known: [String: Inherited] = [:]
    return entities.map { entity in
      guard let parent = entity.superentityName.flatMap({ byName[$0] }) else { return entity }
      let inherited = known[parent.name] ?? Inherited(parent)
      known[parent.name] = inherited
      var entity = entity
      entity.attributes.removeAll { inherited.properties.contains($0.name) }
      entity.relationships.removeAll { inherited.properties.contains($0.name) }
      entity.fetchedProperties.removeAll { inherited.properties.contains($0.name) }
      entity.uniquenessConstraints.removeAll { inherited.constraints.contains($0) }
      entity.indexes.removeAll { inherited.indexes.contains($0) }
      return entity
    }
  }

  // MARK: Collections

  /// The text keys and their values of a dictionary of any class that Core Data uses.
  mutating func pairs(
    _ node: KeyedArchive.Node
  ) throws(BinaryPropertyList.Malformed) -> [(key: String, value: KeyedArchive.Node)] {
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

  mutating func userInfo(
    of object: KeyedArchive.Object, in entity: String
  ) throws(BinaryPropertyList.Malformed) -> [String: String] {
    var result: [String: String] = [:]
    let entries = try pairs(try archive.field("NSUserInfo", of: object))
    try count(entries.count, of: entity)
    for (key, value) in entries {
      if case .string(let text) = value { result[key] = text }
    }
    return result
  }

  mutating func flag(_ name: String, of object: KeyedArchive.Object) throws(BinaryPropertyList.Malformed) -> Bool {
    switch try archive.field(name, of: object) {
    case .boolean(let flag): flag
    case .integer(let number): number != 0
    default: false
    }
  }

  mutating func renaming(
    of object: KeyedArchive.Object, name: String
  ) throws(BinaryPropertyList.Malformed) -> String? {
    guard let text = try archive.text("NSRenamingIdentifier", of: object), text != name, !text.isEmpty else {
      return nil
    }
    return text
  }

  /// The name of the entity that a field refers to.
  mutating func entityName(
    _ field: String, of object: KeyedArchive.Object
  ) throws(BinaryPropertyList.Malformed) -> String? {
    guard case .object(let entity) = try archive.field(field, of: object) else { return nil }
    return try archive.text("NSEntityName", of: entity)
  }

  // MARK: Entities

  private mutating func entity(
    _ object: KeyedArchive.Object, name: String
  ) throws(BinaryPropertyList.Malformed) -> EntityDescription {
    var entity = EntityDescription(name: name)
    let className = try archive.text("NSClassNameForEntity", of: object)
    // The class of entities without one.
    entity.managedObjectClassName = className == "NSManagedObject" ? nil : className
    entity.superentityName = try entityName("NSSuperentity", of: object)
    entity.isAbstract = try flag("NSIsAbstract", of: object)
    entity.renamingIdentifier = try renaming(of: object, name: name)
    entity.versionHashModifier = try archive.text("NSVersionHashModifier", of: object)
    entity.userInfo = try userInfo(of: object, in: name)
    let properties = try pairs(try archive.field("NSProperties", of: object))
    if properties.count > ModelLimits.properties {
      stop = .tooLarge(entity: name)
      throw .init()
    }
    var indexed: [String] = []
    for (property, node) in properties {
      try count(1, of: entity.name)
      guard case .object(let given) = node, let object = try underlying(given) else { continue }
      switch object.className {
      case "NSRelationshipDescription":
        entity.relationships.append(try relationship(object, name: property, in: entity.name))
      case "NSFetchedPropertyDescription":
        entity.fetchedProperties.append(try fetchedProperty(object, name: property, in: entity.name))
      // Derived and composite attributes have classes of their own.
      case "NSAttributeDescription", "NSDerivedAttributeDescription":
        entity.attributes.append(try attribute(object, name: property, in: entity.name))
        if try flag("NSIsIndexed", of: object) { indexed.append(property) }
      case "NSCompositeAttributeDescription": throw refuse(property, of: name, Self.isComposite)
      // It contains a result of a fetch request, and is not stored.
      case "NSExpressionDescription": omitted.insert("expression properties")
      default: throw refuse(property, of: name, "is a property of the unknown class \(object.className)")
      }
    }
    entity.attributes.sort { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    entity.relationships.sort { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    entity.fetchedProperties.sort { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    for names in try lists("NSUniqueTuples", of: object, in: name) where !names.isEmpty {
      entity.uniquenessConstraints.append(names)
    }
    entity.indexes = try indexes(of: object, in: name, indexed: indexed.sorted())
    return entity
  }

  /// Resolves a proxy: models from before iOS 10 have one for each inherited property in each entity. Nil if that is
  /// not an object, or an endless chain of proxies.
  private mutating func underlying(
    _ given: KeyedArchive.Object
  ) throws(BinaryPropertyList.Malformed) -> KeyedArchive.Object? {
    var object = given
    for _ in 0..<ModelLimits.inheritanceDepth {
      guard object.className == Self.proxy else { return object }
      guard case .object(let next) = try archive.field("NSUnderlyingProperty", of: object) else { return nil }
      object = next
    }
    throw .init()
  }

  private static let proxy = "_NSPropertyDescriptionProxy"

  /// A list of lists of texts. Properties in them count by their names.
  mutating func lists(
    _ field: String, of object: KeyedArchive.Object, in entity: String
  ) throws(BinaryPropertyList.Malformed) -> [[String]] {
    var result: [[String]] = []
    for node in try archive.items(of: try archive.field(field, of: object)) ?? [] {
      var names: [String] = []
      let items = try archive.items(of: node) ?? []
      try count(1 + items.count, of: entity)
      for item in items {
        switch item {
        case .string(let name): names.append(name)
        case .object(let given):
          if let property = try underlying(given), let name = try archive.text("NSPropertyName", of: property) {
            names.append(name)
          }
        default: break
        }
      }
      result.append(names)
    }
    return result
  }

  /// The relationship that is another one's inverse.
  mutating func inverse(
    of object: KeyedArchive.Object
  ) throws(BinaryPropertyList.Malformed) -> (name: String, entity: String?)? {
    let name = try archive.text("_NSInverseRelationshipName", of: object)
    guard case .object(let given) = try archive.field("NSInverseRelationship", of: object),
      let inverse = try underlying(given)
    else { return name.map { ($0, nil) } }
    guard let name = try archive.text("NSPropertyName", of: inverse) ?? name else { return nil }
    return (name, try entityName("NSEntity", of: inverse))
  }
}

/// A model from an archive, and what it lacks compared to Xcode's files.
package struct ArchivedModel: Sendable {
  /// The model, not validated.
  package var model: ManagedObjectModel
  /// The kinds of omitted content: `fetch indexes over expressions`.
  package var omitted: [String]
}
