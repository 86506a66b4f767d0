package import KVCloneModel
package import KVCloneRecords
import Synchronization

/// A model with its codes and tables, compiled for reading and writing. One per store and model version; immutable.
@usableFromInline
package final class Schema: Sendable {
  /// Unique among all schemas of the process.
  let number = Schema.lastNumber.wrappingAdd(1, ordering: .relaxed).newValue
  private static let lastNumber = Atomic<UInt64>(0)
  package let model: ManagedObjectModel
  package let codes: SchemaCodes
  package let tables: SchemaTables
  package let transformers: ValueTransformerRegistry
  /// In the model's order.
  package let entities: [CompiledEntity]
  package let entitiesByName: [String: CompiledEntity]
  package let catalogWatch: CatalogVersionCache
  /// The number of its catalog in the store.
  package let catalogNumber: UInt64
  /// The store's earlier catalogs.
  package let formerCatalogs: FormerCatalogs
  package let derivations: DerivationPlan
  /// Values that features keep with the schema.
  package let attachments = Attachments()
  /// Code → name, for every property that the store ever had; elements of composites as `composite.leaf`.
  package let propertyNames: [UInt16: String]
  private let entitiesByCode: [CompiledEntity?]
  /// Entity code → root entity's code; 0 for unknown codes.
  private let rootCodesByCode: [UInt16]
  private let entityPlaces: NameTable
  private let layoutsByID: [RecordLayout?]
  /// Root-entity code → table of its objects.
  private let objectTables: [StorageTable?]
  /// The root entities with objects, of their own or of subentities, that a commit has to validate.
  private let validatedRoots: Set<UInt16>
  /// Whether a uniqueness constraint contains a derived attribute.
  package let hasDerivedConstraints: Bool
  /// The relationships with ordered lists.
  package let orderedLists: OrderedLists

  /// The schema of a store with this catalog.
  ///
  /// - Parameter maintainsDerived: whether writes update derived attributes; not needed if they are all recomputed
  ///   afterwards.
  package convenience init(
    _ catalog: StoreCatalog, tables: SchemaTables, transformers: ValueTransformerRegistry = ValueTransformerRegistry(),
    formerCatalogs: FormerCatalogs = FormerCatalogs(), maintainsDerived: Bool = true
  ) throws(StoreError) {
    try self.init(
      model: catalog.model, codes: catalog.codes, layouts: catalog.layouts, tables: tables,
      catalogNumber: catalog.number, transformers: transformers, formerCatalogs: formerCatalogs,
      maintainsDerived: maintainsDerived)
  }

  package init(
    model: ManagedObjectModel, codes: SchemaCodes, layouts: [RecordLayout], tables: SchemaTables,
    catalogNumber: UInt64 = 0, transformers: ValueTransformerRegistry = ValueTransformerRegistry(),
    formerCatalogs: FormerCatalogs = FormerCatalogs(), maintainsDerived: Bool = true
  ) throws(StoreError) {
    catalogWatch = CatalogVersionCache(catalogNumber: catalogNumber)
    self.catalogNumber = catalogNumber
    self.formerCatalogs = formerCatalogs
    self.model = model
    self.transformers = transformers
    self.codes = codes
    self.tables = tables
    let former = (codes.former?.properties ?? [:]).compactMap { code, name in UInt16(code).map { ($0, name) } }
    propertyNames = Dictionary(
      codes.properties.values.flatMap { $0.map { ($0.value, $0.key) } } + former,
      uniquingKeysWith: { first, _ in first })
    var layoutsByID = [RecordLayout?](repeating: nil, count: Int(codes.lastLayout) + 1)
    for layout in layouts where Int(layout.id) < layoutsByID.count { layoutsByID[Int(layout.id)] = layout }
    self.layoutsByID = layoutsByID
    let compiler = SchemaCompiler(model: model, codes: codes, tables: tables)
    var entities: [CompiledEntity] = []
    for entity in model.entities { entities.append(try compiler.compile(entity, layouts: layoutsByID)) }
    self.entities = entities
    entitiesByName = Dictionary(entities.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    entityPlaces = NameTable(entities.enumerated().map { (name: $0.element.name, number: $0.offset) })
    derivations = DerivationPlan(
      maintainsDerived ? model : ManagedObjectModel(name: "", entities: []), entities, lastCode: codes.lastEntity)
    var byCode = [CompiledEntity?](repeating: nil, count: Int(codes.lastEntity) + 1)
    for entity in entities { byCode[Int(entity.code)] = entity }
    entitiesByCode = byCode
    rootCodesByCode = byCode.map { $0?.rootCode ?? 0 }
    var objectTables = [StorageTable?](repeating: nil, count: Int(codes.lastEntity) + 1)
    for entity in entities { objectTables[Int(entity.rootCode)] = entity.table }
    self.objectTables = objectTables
    validatedRoots = Set(entities.filter(\.isValidated).map(\.rootCode))
    hasDerivedConstraints = entities.contains { entity in
      entity.constraints.flatMap(\.columns).contains { column in
        if case .attribute(let index) = column { entity.attributes[index].isDerived } else { false }
      }
    }
    orderedLists = OrderedLists(entities, former: codes.former?.orderedLists ?? [])
    for layout in layouts { try check(layout) }
  }

  /// Rejects a layout in which a property's kind differs from the model: reading by it would mix up values.
  private func check(_ layout: RecordLayout) throws(StoreError) {
    guard let entity = entity(code: layout.entityCode) else { return }
    for field in layout.fields {
      guard let current = entity.layout.fieldIndex(ofProperty: field.propertyCode) else { continue }
      guard entity.layout.kind(current) == field.kind else {
        throw StoreError(
          .corrupted,
          "record layout \(layout.id) of \(entity.name) does not fit its model; restore the store from a backup",
          entity: entity.name)
      }
    }
  }

  /// The entity called `name`.
  package func entity(_ name: String) throws(StoreError) -> CompiledEntity {
    if let place = entityPlaces[name] { return entities[place] }
    guard let entity = entitiesByName[name] else { throw model.unknownEntity(name) }
    return entity
  }

  /// The entity with `code`; nil for unknown codes.
  @inline(__always)
  package func entity(code: UInt16) -> CompiledEntity? {
    Int(code) < entitiesByCode.count ? entitiesByCode[Int(code)] : nil
  }

  /// The code of an entity's root entity; 0 for unknown codes.
  @inline(__always)
  func rootCode(ofEntity code: UInt16) -> UInt16 {
    Int(code) < rootCodesByCode.count ? rootCodesByCode[Int(code)] : 0
  }

  /// The layout with `id`; nil for an unknown one.
  @inline(__always)
  package func layout(id: UInt16) -> RecordLayout? {
    Int(id) < layoutsByID.count ? layoutsByID[Int(id)] : nil
  }

  /// The table with a root entity's objects.
  @inline(__always)
  package func objectTable(rootCode: UInt16) -> StorageTable? {
    Int(rootCode) < objectTables.count ? objectTables[Int(rootCode)] : nil
  }

  /// Whether a property code belongs to an earlier version of the model and not to this one.
  package func isFormer(property code: UInt16) -> Bool { codes.former?.properties[String(code)] != nil }

  /// Whether a commit has to validate objects of a root entity, or of its descendants.
  func isValidated(rootCode: UInt16) -> Bool { validatedRoots.contains(rootCode) }

  /// Root codes in use, ascending.
  package var rootCodes: [UInt16] { (0..<objectTables.count).compactMap { objectTables[$0] == nil ? nil : UInt16($0) } }
}

/// The tables that are not an entity's own.
package struct SchemaTables: Sendable {
  package let metadata: StorageTable
  package let links: StorageTable
  package let blobs: StorageTable
  package let blobinfo: StorageTable
  package let indexes: StorageTable
  package let changes: StorageTable
  package let preimages: StorageTable
  package let snapshots: StorageTable
  package let provenance: StorageTable
  package let operations: StorageTable
  package let redirects: StorageTable
  /// By root-entity code; including those that only snapshots need.
  package var objects: [UInt16: StorageTable]
}

/// Inverses in a model, before codes are assigned.
package enum SchemaInverse {
  /// The topmost entity, at or above `entity`, that declares the property.
  package static func declaringEntity(of property: String, from entity: EntityDescription, in model: ManagedObjectModel)
    -> String
  {
    var found = entity.name
    var current: EntityDescription? = entity
    while let candidate = current {
      let declares =
        candidate.attributes.contains { $0.name == property }
        || candidate.relationships.contains { $0.name == property }
      if declares { found = candidate.name }
      current = candidate.superentityName.flatMap { model.entity(named: $0) }
    }
    return found
  }

  /// The inverse relationship, if every object on either side is sure to have it. An inverse that only a subentity of
  /// the destination declares cannot be maintained, so it is ignored.
  package static func inverse(
    of relationship: RelationshipDescription, declaredIn entity: String, in model: ManagedObjectModel
  )
    -> (entity: String, relationship: RelationshipDescription)?
  {
    guard !relationship.isTransient,
      let (_, inverse) = model.inverse(of: relationship.name, in: entity),
      !inverse.isTransient,
      let destination = model.entity(named: relationship.destinationEntityName),
      let back = model.entity(named: inverse.destinationEntityName),
      has(inverse.name, destination, model), has(relationship.name, back, model)
    else { return nil }
    return (declaringEntity(of: inverse.name, from: destination, in: model), inverse)
  }

  private static func has(_ relationship: String, _ entity: EntityDescription, _ model: ManagedObjectModel) -> Bool {
    var current: EntityDescription? = entity
    while let candidate = current {
      if candidate.relationships.contains(where: { $0.name == relationship }) { return true }
      current = candidate.superentityName.flatMap { model.entity(named: $0) }
    }
    return false
  }
}

extension SchemaTables {
  /// All tables that a schema knows.
  package var all: [StorageTable] {
    [metadata, links, blobs, blobinfo, indexes, changes, preimages, snapshots, provenance, operations]
      + objects.values.sorted { $0.code.rawValue < $1.code.rawValue }
  }
}

extension SchemaTables {
  /// The tables by their codes alone, for engines without handles.
  package init(rootCodes: [UInt16]) {
    func table(_ code: TableCode) -> StorageTable { StorageTable(code: code, handle: 0) }
    self.init(
      metadata: table(.metadata), links: table(.links), blobs: table(.blobs), blobinfo: table(.blobInfo),
      indexes: table(.indexes), changes: table(.changes), preimages: table(.preimages),
      snapshots: table(.snapshots), provenance: table(.provenance), operations: table(.operations),
      redirects: table(.redirects),
      objects: Dictionary(
        rootCodes.map { ($0, table(.objects(rootCode: $0))) }, uniquingKeysWith: { first, _ in first }))
  }
}
