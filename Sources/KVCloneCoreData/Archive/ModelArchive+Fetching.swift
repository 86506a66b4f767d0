import KVCloneModel

extension ModelArchive {
  /// Flags of `NSFetchRequestFlags`.
  private enum FetchFlag {
    static let distinctResults: Int64 = 1
    static let subentities: Int64 = 2
    static let propertyValues: Int64 = 4
    static let faults: Int64 = 8
    static let pendingChanges: Int64 = 16
    /// Core Data's defaults.
    static let standard = subentities | propertyValues | faults | pendingChanges
  }

  mutating func fetchRequestTemplates(
    of root: KeyedArchive.Object
  ) throws(BinaryPropertyList.Malformed) -> [FetchRequestTemplate] {
    var result: [FetchRequestTemplate] = []
    for (name, node) in try pairs(try archive.field("NSFetchRequestTemplates", of: root)) {
      try count(1, of: name)
      guard case .object(let object) = node, let request = try fetchRequest(object, name: name, entity: nil) else {
        omitted.insert("the fetch request \(name)")
        continue
      }
      result.append(request)
    }
    return result.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
  }

  /// Nil if it uses unsupported features.
  private mutating func fetchRequest(
    _ object: KeyedArchive.Object, name: String, entity: String?
  ) throws(BinaryPropertyList.Malformed) -> FetchRequestTemplate? {
    guard let entity = try entityName("NSEntity", of: object) ?? entity else { return nil }
    var predicate: QueryPredicate?
    let node = try archive.field("NSPredicate", of: object)
    if case .object = node {
      guard let known = try ExpressionArchive.predicate(of: node, in: archive) else { return nil }
      predicate = known
    }
    var flags = FetchFlag.standard
    if try flag("NSHasFetchRequestFlags", of: object) {
      flags = try archive.integer("NSFetchRequestFlags", of: object) ?? flags
    }
    func count(_ number: Int64?) -> Int { Int(clamping: max(0, number ?? 0)) }
    return FetchRequestTemplate(
      name, entity: entity, predicate: predicate?.predicateFormat,
      limit: count(try archive.integer("NSFetchLimit", of: object)),
      batchSize: count(try archive.integer("NSBatchSize", of: object)),
      resultType: count(try archive.integer("NSResultType", of: object)),
      includesSubentities: flags & FetchFlag.subentities != 0,
      includesPropertyValues: flags & FetchFlag.propertyValues != 0,
      includesPendingChanges: flags & FetchFlag.pendingChanges != 0,
      returnsObjectsAsFaults: flags & FetchFlag.faults != 0,
      returnsDistinctResults: flags & FetchFlag.distinctResults != 0)
  }

  mutating func fetchedProperty(
    _ object: KeyedArchive.Object, name: String, in owner: String
  ) throws(BinaryPropertyList.Malformed) -> FetchedPropertyDescription {
    let entity = try archive.text("_NSFetchRequestEntityName", of: object)
    // The name that Xcode gives the request of every fetched property, and that the archive omits.
    var request = FetchRequestTemplate("fetchedPropertyFetchRequest", entity: entity ?? "")
    if case .object(let given) = try archive.field("NSFetchRequest", of: object),
      let known = try fetchRequest(given, name: request.name, entity: entity)
    {
      request = known
    } else {
      omitted.insert("the predicate of \(owner).\(name)")
    }
    var property = FetchedPropertyDescription(
      name, request, optional: try flag("NSIsOptional", of: object), userInfo: try userInfo(of: object, in: owner))
    property.renamingIdentifier = try renaming(of: object, name: name)
    property.versionHashModifier = try archive.text("NSVersionHashModifier", of: object)
    return property
  }

  mutating func configurations(
    of root: KeyedArchive.Object
  ) throws(BinaryPropertyList.Malformed) -> [String: [String]] {
    var result: [String: [String]] = [:]
    for (name, node) in try pairs(try archive.field("NSConfigurations", of: root)) {
      var members: Set<String> = []
      let items = try archive.items(of: node) ?? []
      try count(1 + items.count, of: name)
      for item in items {
        switch item {
        case .string(let entity): members.insert(entity)
        case .object(let entity):
          if let entity = try archive.text("NSEntityName", of: entity) { members.insert(entity) }
        default: break
        }
      }
      // Core Data's default configuration has all entities.
      if name != Self.standardConfiguration { result[name] = members.sorted() }
    }
    return result
  }

  private static let standardConfiguration = "PF_DEFAULT_CONFIGURATION_NAME"

  // MARK: Indexes

  /// Decodes the fetch indexes of an entity.
  ///
  /// If there are any, Xcode also marks their attributes for systems before iOS 11, which adds no information.
  ///
  /// - Parameter indexed: the marked attributes.
  mutating func indexes(
    of object: KeyedArchive.Object, in entity: String, indexed: [String]
  ) throws(BinaryPropertyList.Malformed) -> [FetchIndexDescription] {
    let nodes = try archive.items(of: try archive.field("NSFetchIndexDescriptions", of: object)) ?? []
    if nodes.isEmpty {
      let compounds = try lists("NSCompoundIndexes", of: object, in: entity).filter { !$0.isEmpty }
      return indexed.map { FetchIndexDescription("indexed:\($0)", [.init($0)], origin: .indexedAttribute) }
        + compounds.map { names in
          FetchIndexDescription(
            "compound:" + names.joined(separator: ","), names.map { .init($0) }, origin: .compoundIndex)
        }
    }
    var result: [FetchIndexDescription] = []
    for node in nodes {
      try count(1, of: entity)
      guard case .object(let index) = node, let known = try fetchIndex(index, in: entity) else { continue }
      result.append(known)
    }
    return result
  }

  private mutating func fetchIndex(
    _ object: KeyedArchive.Object, in entity: String
  ) throws(BinaryPropertyList.Malformed) -> FetchIndexDescription? {
    guard let name = try archive.text("NSIndexName", of: object) else { return nil }
    var index = FetchIndexDescription(name, [])
    let nodes = try archive.items(of: try archive.field("NSIndexElements", of: object)) ?? []
    try count(nodes.count, of: entity)
    for node in nodes {
      guard case .object(let element) = node, let property = try archive.text("NSPropertyName", of: element) else {
        omitted.insert("fetch indexes over expressions")
        return nil
      }
      index.elements.append(
        .init(
          property, ascending: try flag("NSAscending", of: element),
          kind: try archive.integer("NSFetchIndexElementType", of: element) == 1 ? .rTree : .binary))
    }
    let predicate = try archive.field("NSPartialIndexPredicate", of: object)
    if case .object = predicate {
      guard let known = try ExpressionArchive.predicate(of: predicate, in: archive) else {
        omitted.insert("fetch indexes with unsupported predicates")
        return nil
      }
      index.partialPredicate = known.predicateFormat
    }
    return index
  }
}
