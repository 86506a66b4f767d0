import Foundation
package import KVCloneModel

/// Writes models in Core Data's archive format, which Xcode compiles models to and Core Data keeps in a store.
///
/// Written after the contents of real archives, without the library's reader.
package struct ModelArchiveWriter {
  /// The variations of archives.
  package struct Options: Sendable {
    /// Whether entities have a proxy for each inherited property, as before iOS 10; otherwise the property itself.
    package var usesProxies = false
    /// Whether dictionaries have the class that Core Data uses in its caches.
    package var usesKnownKeys = false
    package var isXML = false

    package init(usesProxies: Bool = false, usesKnownKeys: Bool = false, isXML: Bool = false) {
      self.usesProxies = usesProxies
      self.usesKnownKeys = usesKnownKeys
      self.isXML = isXML
    }
  }

  let options: Options
  let model: ManagedObjectModel
  private var objects: [TestValue] = [.string("$null")]
  private var classes: [String: Int] = [:]
  private var texts: [String: Int] = [:]
  private var entities: [String: Int] = [:]
  /// The property by `Entity.property`, where it is declared.
  private var properties: [String: Int] = [:]

  /// Returns the archive of a model.
  package static func bytes(_ model: ManagedObjectModel, _ options: Options = Options()) -> [UInt8] {
    var writer = ModelArchiveWriter(options: options, model: model)
    let root = writer.root()
    let list = TestValue.dictionary([
      ("$version", .integer(100_000)), ("$archiver", .string("NSKeyedArchiver")),
      ("$top", .dictionary([("root", root)])), ("$objects", .array(writer.objects)),
    ])
    return options.isXML ? PropertyListWriter.xml(list) : PropertyListWriter.bytes(list)
  }

  /// Returns the bytes of a `VersionInfo.plist` with arbitrary hashes.
  package static func versionInfo(_ models: [ManagedObjectModel], current: String?, isXML: Bool = false) -> [UInt8] {
    var members: [(String, TestValue)] = []
    if let current { members.append(("NSManagedObjectModel_CurrentVersionName", .string(current))) }
    let hashes = models.map { model in
      (
        model.versionIdentifier,
        TestValue.dictionary(model.entities.map { ($0.name, TestValue.data([UInt8](repeating: 7, count: 32))) })
      )
    }
    members.append(("NSManagedObjectModel_VersionHashes", .dictionary(hashes)))
    return isXML ? PropertyListWriter.xml(.dictionary(members)) : PropertyListWriter.bytes(.dictionary(members))
  }

  private init(options: Options, model: ManagedObjectModel) {
    self.options = options
    self.model = model
  }

  // MARK: Objects

  private mutating func reserve() -> Int {
    objects.append(.null)
    return objects.count - 1
  }

  mutating func add(_ value: TestValue) -> TestValue {
    objects.append(value)
    return .reference(objects.count - 1)
  }

  mutating func text(_ text: String?) -> TestValue {
    guard let text else { return .reference(0) }
    if let known = texts[text] { return .reference(known) }
    let value = add(.string(text))
    texts[text] = objects.count - 1
    return value
  }

  @discardableResult
  mutating func object(_ name: String, _ fields: [(String, TestValue)], at place: Int? = nil) -> TestValue {
    let known: Int
    if let place = classes[name] {
      known = place
    } else {
      objects.append(.dictionary([("$classname", .string(name)), ("$classes", .array([.string(name)]))]))
      known = objects.count - 1
      classes[name] = known
    }
    let value = TestValue.dictionary(fields + [("$class", .reference(known))])
    guard let place else { return add(value) }
    objects[place] = value
    return .reference(place)
  }

  mutating func list(_ items: [TestValue], _ name: String = "NSMutableArray") -> TestValue {
    object(name, [("NS.objects", .array(items))])
  }

  mutating func dictionary(_ pairs: [(String, TestValue)]) -> TestValue {
    let keys = pairs.map { text($0.0) }
    guard options.usesKnownKeys else {
      return object(
        "NSMutableDictionary", [("NS.keys", .array(keys)), ("NS.objects", .array(pairs.map(\.1)))])
    }
    let names = list(keys, "NSArray")
    let mapping = object(
      "NSKnownKeysMappingStrategy1", [("keys", names), ("length", .integer(Int64(keys.count)))])
    let values = list(pairs.map(\.1), "NSArray")
    return object("NSKnownKeysDictionary1", [("searchMapping", mapping), ("values", values)])
  }

  private mutating func userInfo(_ info: [String: String]) -> TestValue {
    let pairs = info.sorted { $0.key < $1.key }.map { ($0.key, text($0.value)) }
    let keys = pairs.map { text($0.0) }
    return object("NSDictionary", [("NS.keys", .array(keys)), ("NS.objects", .array(pairs.map(\.1)))])
  }

  private func reference(_ entity: String?) -> TestValue { .reference(entity.flatMap { entities[$0] } ?? 0) }

  // MARK: The model

  private mutating func root() -> TestValue {
    for entity in model.entities {
      entities[entity.name] = reserve()
      for name in Self.names(entity) { properties["\(entity.name).\(name)"] = reserve() }
    }
    for entity in model.entities { write(entity) }
    let list = dictionary(model.entities.map { ($0.name, reference($0.name)) })
    var configurations: [(String, TestValue)] = []
    for (name, members) in model.configurations.sorted(by: { $0.key < $1.key }) {
      configurations.append((name, self.list(members.map { reference($0) }, "NSSet")))
    }
    let everything = self.list(model.entities.map { reference($0.name) }, "NSSet")
    configurations.append(("PF_DEFAULT_CONFIGURATION_NAME", everything))
    var requests: [(String, TestValue)] = []
    for template in model.fetchRequestTemplates { requests.append((template.name, request(template))) }
    let identifiers = self.list([text("")], "NSSet")
    return object(
      "NSManagedObjectModel",
      [
        ("NSEntities", list), ("NSVersionIdentifiers", identifiers), ("NSConfigurations", dictionary(configurations)),
        ("NSFetchRequestTemplates", dictionary(requests)),
      ])
  }

  private static func names(_ entity: EntityDescription) -> [String] {
    entity.attributes.map(\.name) + entity.relationships.map(\.name) + entity.fetchedProperties.map(\.name)
  }

  private mutating func write(_ entity: EntityDescription) {
    for attribute in entity.attributes { write(attribute, of: entity.name) }
    for relationship in entity.relationships { write(relationship, of: entity.name) }
    for property in entity.fetchedProperties { write(property, of: entity.name) }
    var listed: [(String, TestValue)] = []
    for name in model.superentities(of: entity.name).reversed() + [entity.name] {
      for property in model.entity(named: name).map(Self.names) ?? [] {
        guard let place = properties["\(name).\(property)"], !listed.contains(where: { $0.0 == property }) else {
          continue
        }
        listed.append((property, name == entity.name ? .reference(place) : inherited(place, of: entity.name)))
      }
    }
    let indexed = entity.indexes.filter { $0.origin == .fetchIndex }.map { index($0, of: entity.name) }
    let compound = entity.indexes.filter { $0.origin == .compoundIndex }.map { index in
      list(index.elements.map { text($0.propertyName) }, "NSArray")
    }
    let unique = entity.uniquenessConstraints.map { names in list(names.map { text($0) }) }
    let fields: [(String, TestValue)] = [
      ("NSEntityName", text(entity.name)),
      ("NSClassNameForEntity", text(entity.managedObjectClassName ?? "NSManagedObject")),
      ("NSIsAbstract", .boolean(entity.isAbstract)), ("NSSuperentity", reference(entity.superentityName)),
      ("NSRenamingIdentifier", text(entity.renamingIdentifier ?? entity.name)),
      ("NSVersionHashModifier", text(entity.versionHashModifier)), ("NSUserInfo", userInfo(entity.userInfo)),
      ("NSProperties", dictionary(listed)), ("NSUniqueTuples", list(unique)),
      ("NSFetchIndexDescriptions", list(indexed)), ("NSCompoundIndexes", list(compound)),
    ]
    object("NSEntityDescription", fields, at: entities[entity.name])
  }

  /// Returns an entity's form of a property that is inherited from an ancestor.
  private mutating func inherited(_ place: Int, of entity: String) -> TestValue {
    guard options.usesProxies else { return .reference(place) }
    return object(
      "_NSPropertyDescriptionProxy",
      [
        ("NSUnderlyingProperty", .reference(place)), ("NSEntityDescription", reference(entity)),
        ("NSReferenceID", .integer(0)),
      ])
  }

  private mutating func shared(
    _ name: String, optional: Bool, transient: Bool, renaming: String?, modifier: String?, info: [String: String],
    of entity: String
  ) -> [(String, TestValue)] {
    [
      ("NSPropertyName", text(name)), ("NSIsOptional", .boolean(optional)), ("NSIsTransient", .boolean(transient)),
      ("NSRenamingIdentifier", text(renaming ?? name)), ("NSVersionHashModifier", text(modifier)),
      ("NSUserInfo", userInfo(info)), ("NSEntity", reference(entity)),
    ]
  }

  // MARK: Properties

  private static let types: [AttributeType: Int64] = [
    .undefined: 0, .integer16: 100, .integer32: 200, .integer64: 300, .decimal: 400, .double: 500, .float: 600,
    .string: 700, .boolean: 800, .date: 900, .binary: 1000, .uuid: 1100, .uri: 1200, .transformable: 1800,
    .composite: 2100,
  ]

  private mutating func write(_ attribute: AttributeDescription, of entity: String) {
    var fields = shared(
      attribute.name, optional: attribute.isOptional, transient: attribute.isTransient,
      renaming: attribute.renamingIdentifier, modifier: attribute.versionHashModifier, info: attribute.userInfo,
      of: entity)
    let flags: Int64 =
      (attribute.allowsExternalBinaryDataStorage ? 4 : 0) | (attribute.preservesValueInHistoryOnDeletion ? 16 : 0)
    let isIndexed = model.entity(named: entity)?.indexes.contains {
      $0.origin == .indexedAttribute && $0.elements.first?.propertyName == attribute.name
    }
    fields += [
      ("NSAttributeType", .integer(Self.types[attribute.type] ?? 0)), ("NSFlagsKey", .integer(flags)),
      ("NSIsIndexed", .boolean(isIndexed ?? false)), ("NSValueTransformerName", text(attribute.valueTransformerName)),
      ("NSAttributeValueClassName", text(attribute.attributeValueClassName)),
      ("NSDefaultValue", attribute.defaultValue.map { value($0) } ?? .reference(0)),
    ]
    let bounds = bounds(of: attribute)
    if !bounds.isEmpty { fields.append(("NSValidationPredicates", list(bounds))) }
    if let text = attribute.derivationExpression {
      fields.append(("NSDerivationExpression", derivation(text)))
    }
    object(
      attribute.isDerived ? "NSDerivedAttributeDescription" : "NSAttributeDescription", fields,
      at: properties["\(entity).\(attribute.name)"])
  }

  private mutating func write(_ relationship: RelationshipDescription, of entity: String) {
    let inverse = model.inverse(of: relationship.name, in: entity).flatMap { inverse in
      let lineage = [inverse.entityName] + model.superentities(of: inverse.entityName)
      return lineage.compactMap { properties["\($0).\(inverse.relationship.name)"] }.first
    }
    let rules: [DeleteRule: Int64] = [.noAction: 0, .nullify: 1, .cascade: 2, .deny: 3]
    let fields =
      shared(
        relationship.name, optional: relationship.isOptional, transient: relationship.isTransient,
        renaming: relationship.renamingIdentifier, modifier: relationship.versionHashModifier,
        info: relationship.userInfo, of: entity) + [
        ("_NSDestinationEntityName", text(relationship.destinationEntityName)),
        ("NSDestinationEntity", reference(relationship.destinationEntityName)),
        ("_NSInverseRelationshipName", text(relationship.inverseName)),
        ("NSInverseRelationship", .reference(inverse ?? 0)), ("NSIsOrdered", .boolean(relationship.isOrdered)),
        ("NSMinCount", .integer(Int64(relationship.minCount))), ("NSMaxCount", .integer(Int64(relationship.maxCount))),
        ("NSDeleteRule", .integer(rules[relationship.deleteRule] ?? 1)),
      ]
    object("NSRelationshipDescription", fields, at: properties["\(entity).\(relationship.name)"])
  }

  private mutating func write(_ property: FetchedPropertyDescription, of entity: String) {
    let fields =
      shared(
        property.name, optional: property.isOptional, transient: true, renaming: property.renamingIdentifier,
        modifier: property.versionHashModifier, info: property.userInfo, of: entity) + [
        ("_NSFetchRequestEntityName", text(property.fetchRequest.entityName)),
        ("NSFetchRequest", request(property.fetchRequest)),
      ]
    object("NSFetchedPropertyDescription", fields, at: properties["\(entity).\(property.name)"])
  }

  private mutating func index(_ index: FetchIndexDescription, of entity: String) -> TestValue {
    let elements = index.elements.map { element in
      object(
        "NSFetchIndexElementDescription",
        [
          ("NSPropertyName", text(element.propertyName)), ("NSAscending", .boolean(element.isAscending)),
          ("NSFetchIndexElementType", .integer(element.kind == .rTree ? 1 : 0)),
        ])
    }
    let predicate = index.partialPredicate.map { self.predicate($0) } ?? .reference(0)
    return object(
      "NSFetchIndexDescription",
      [
        ("NSIndexName", text(index.name)), ("NSEntity", reference(entity)), ("NSIndexElements", list(elements)),
        ("NSPartialIndexPredicate", predicate),
      ])
  }

  private mutating func request(_ request: FetchRequestTemplate) -> TestValue {
    let flags: [(Bool, Int64)] = [
      (request.returnsDistinctResults, 1), (request.includesSubentities, 2), (request.includesPropertyValues, 4),
      (request.returnsObjectsAsFaults, 8), (request.includesPendingChanges, 16),
    ]
    return object(
      "NSFetchRequest",
      [
        ("NSEntity", reference(request.entityName)),
        ("NSPredicate", request.predicateString.map { predicate($0) } ?? .reference(0)),
        ("NSHasFetchRequestFlags", .boolean(true)),
        ("NSFetchRequestFlags", .integer(flags.reduce(0) { $0 + ($1.0 ? $1.1 : 0) })),
        ("NSFetchLimit", .integer(Int64(request.fetchLimit))), ("NSBatchSize", .integer(Int64(request.fetchBatchSize))),
        ("NSResultType", .integer(Int64(request.resultType))),
      ])
  }
}
