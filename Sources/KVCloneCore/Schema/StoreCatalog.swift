#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  import Foundation
#endif
package import KVCloneModel
package import KVCloneRecords

/// The self-description of a store: the model with its codes, and every record layout that was ever used. It allows
/// opening a store without the model's file.
package struct StoreCatalog {
  package let model: ManagedObjectModel
  package private(set) var codes: SchemaCodes
  package let layouts: [RecordLayout]
  /// Its number in the metadata table.
  package let number: UInt64

  /// Creates the catalog of a new store.
  package init(new model: ManagedObjectModel) throws(StoreError) {
    var codes = SchemaCodes()
    try codes.assign(model)
    try codes.assignFetchIndexes(model)
    self.model = model
    number = 1
    self.codes = codes
    let compiler = SchemaCompiler(
      model: model, codes: codes, tables: nil)
    var layouts: [RecordLayout] = []
    for entity in model.entities where !entity.isAbstract { layouts.append(try compiler.layout(for: entity)) }
    self.layouts = layouts
  }

  /// Reads the catalog of an existing store: the current one, or an earlier one by its number.
  package init(
    _ storage: borrowing StorageTransaction, _ metadata: StorageTable, number earlier: UInt64? = nil
  ) throws(StoreError) {
    if let earlier { number = earlier } else { number = try Metadata.counter(storage, metadata, MetadataKey.catalog) }
    let name = MetadataKey.model(UInt16(truncatingIfNeeded: number))
    guard let stored = try Metadata.get(storage, metadata, name, as: BytesValue.self) else {
      throw StoreError(.corrupted, "the store's metadata has no model; restore the store from a backup")
    }
    do {
      let document = try JSONDecoder().decode(Document.self, from: Data(stored.bytes))
      model = try document.model()
      codes = document.codes
      // A file may contain any model; compiling requires a valid one.
      try model.requireValid()
      guard codes.isConsistent else { throw DocumentError() }
    } catch let error as StoreError {
      throw error
    } catch {
      throw StoreError(.corrupted, "the store's model cannot be decoded; restore the store from a backup")
    }
    var layouts: [RecordLayout] = []
    for id in 1...max(1, codes.lastLayout) where id <= codes.lastLayout {
      guard let layout = try Metadata.get(storage, metadata, MetadataKey.layout(id), as: RecordLayout.self) else {
        throw StoreError(.corrupted, "the store's metadata has no record layout \(id); restore the store from a backup")
      }
      layouts.append(layout)
    }
    self.layouts = layouts
  }

  /// The initial entries of a new store's metadata table.
  package func entries(uuid: UUID, created: Date) throws(StoreError) -> [(key: [UInt8], value: [UInt8])] {
    let version =
      codes.fetchIndexes == nil ? FormatLimits.oldestFormatVersion : FormatLimits.fetchIndexFormatVersion
    let format = FormatRecord(
      version: version, minimumReaderVersion: version, storeUUID: uuid,
      created: created.timeIntervalSinceReferenceDate)
    var entries = [
      (key: MetadataKey.bytes(MetadataKey.format), value: format.encoded()),
      Metadata.entry(MetadataKey.commitCounter, CounterValue(0)),
      Metadata.entry(MetadataKey.catalog, CounterValue(1)),
      Metadata.entry(MetadataKey.model(1), try document()),
    ]
    let derivations = model.derivations
    if !derivations.entries.isEmpty {
      entries.append(Metadata.entry(MetadataKey.derivations, Metadata.derivations(derivations.fingerprint)))
    }
    for layout in layouts { entries.append(Metadata.entry(MetadataKey.layout(layout.id), layout)) }
    return entries
  }

  /// The encoded model with its codes, for the metadata table.
  func document() throws(StoreError) -> BytesValue {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    do {
      return BytesValue(Array(try encoder.encode(Document(codes: codes, modelJSON: try model.encodedJSON()))))
    } catch {
      throw StoreError(.invalidModel, "the model cannot be encoded: \(error)")
    }
  }

  /// Whether adopting the model requires more than storing it: it has another hash, or differs in how values are stored
  /// or indexed.
  package func needsMigration(to other: ManagedObjectModel) -> Bool {
    if other.modelHash != model.modelHash { return true }
    return other.entities.contains { entity in
      let mine = model.entity(named: entity.name)
      return mine?.uniquenessConstraints != entity.uniquenessConstraints
        || mine?.attributes.filter(\.isDerived).map(\.name) != entity.attributes.filter(\.isDerived).map(\.name)
    }
  }

  /// The catalog with another model, for the same records.
  ///
  /// - Throws: `invalidModel`.
  package func adopting(_ other: ManagedObjectModel) throws(StoreError) -> StoreCatalog {
    do {
      try other.requireValid()
    } catch {
      throw StoreError(.invalidModel, "\(error)")
    }
    return StoreCatalog(model: other, codes: codes, layouts: layouts, number: number)
  }

  /// The catalog that follows `stored`, in which the model's fetch indexes have ids, or those of them that `stored`
  /// has; nil if it is equal to `stored`.
  package func succeeding(_ stored: StoreCatalog, addsIndexes: Bool = true) throws(StoreError) -> StoreCatalog? {
    var codes = codes
    try codes.assignFetchIndexes(model, givesNew: addsIndexes)
    guard model != stored.model || codes != stored.codes else { return nil }
    return StoreCatalog(model: model, codes: codes, layouts: layouts, number: stored.number + 1)
  }

  /// The catalog of the next version of the model: data with an unchanged form keeps its codes.
  package func migrated(_ matching: ModelMatching) throws(StoreError) -> StoreCatalog {
    let model = matching.destination
    var codes = try CodeMigration(matching: matching, old: codes).codes(number: number + 1)
    let compiler = SchemaCompiler(model: model, codes: codes, tables: nil)
    var layouts = layouts
    for entity in model.entities where !entity.isAbstract {
      let wanted = try compiler.layout(for: entity)
      let known = layouts.last { $0.entityCode == wanted.entityCode && $0.fields == wanted.fields }
      try codes.assignLayout(known?.id, to: entity.name)
      guard known == nil, let id = codes.layouts[entity.name] else { continue }
      layouts.append(RecordLayout(id: id, entityCode: wanted.entityCode, fields: wanted.fields))
    }
    return StoreCatalog(model: model, codes: codes, layouts: layouts, number: number + 1)
  }

  private init(model: ManagedObjectModel, codes: SchemaCodes, layouts: [RecordLayout], number: UInt64) {
    self.model = model
    self.codes = codes
    self.layouts = layouts
    self.number = number
  }

  /// Removes the indexes that a later catalog lacks.
  package mutating func forgetIndexes(missingIn later: StoreCatalog) { codes.keepIndexes(of: later.codes) }

  /// The codes of all tables of a store with this model.
  package var tableCodes: [TableCode] {
    TableCode.fixed + allRootCodes.map { TableCode.objects(rootCode: $0) }
  }

  /// The codes of the root entities, and of former ones that still have tables, for snapshots.
  package var allRootCodes: [UInt16] { (rootCodes + (codes.former?.rootCodes ?? [])).sorted() }

  /// The codes of the root entities, ascending.
  package var rootCodes: [UInt16] {
    model.entities.filter { $0.superentityName == nil }.compactMap { codes.entities[$0.name] }.sorted()
  }

  private struct DocumentError: Error {}

  /// The model with its codes, as one JSON document.
  private struct Document: Codable {
    let codes: SchemaCodes
    /// The model's canonical form, as text, so that exactly the hashed bytes are stored.
    let modelText: String

    init(codes: SchemaCodes, modelJSON: [UInt8]) {
      self.codes = codes
      modelText = String(decoding: modelJSON, as: UTF8.self)
    }

    func model() throws -> ManagedObjectModel {
      try ManagedObjectModel(encodedJSON: Array(modelText.utf8))
    }
  }
}
