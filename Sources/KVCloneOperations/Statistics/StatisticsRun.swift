import KVCloneCore
import KVCloneLMDB
import KVCloneRecords

/// The counts of one walk so far, entry by entry. Objects come first, so that the owner of each blob is known.
final class StatisticsRun {
  let schema: Schema
  private(set) var failure: StoreError?
  private(set) var entities: [EntityStatistics] = []
  private(set) var relationships: [RelationshipStatistics] = []
  private(set) var listPieces: [UInt64] = []
  private(set) var largeValues: [BlobStatistics] = []
  private(set) var indexes: [IndexStatistics] = []
  /// By table code; 0 for the lists of saved keys.
  private(set) var previousStates: [UInt16: SpaceUsage] = [:]
  /// Blobs without an object, and those that are being uploaded.
  private(set) var retained = SpaceUsage(kind: .preimages, name: "blobs")
  private(set) var uploads = SpaceUsage(kind: .metadata, name: "uploads")
  private var uploadSerials: Set<UInt64> = []
  /// The entries and the blobs under the numbers of branches and layers.
  private(set) var branchEntries: [UInt32: SpaceUsage] = [:]
  private(set) var branchBlobUses: [UInt32: SpaceUsage] = [:]
  private var branchBlobs: [UInt64: UInt32] = [:]
  private var owners = BlobOwners()
  private var entityPlaces: [UInt16: Int] = [:]
  private var relationshipPlaces: [UInt16: Int] = [:]
  private var indexPlaces: [UInt16: Int] = [:]
  private var attributePlaces: [UInt32: Int] = [:]
  private var outlines: [UInt16: RecordOutline] = [:]
  /// The tables of the map.
  private var tables: [TableCode?] = []

  init(_ schema: Schema) {
    self.schema = schema
    for entity in schema.entities.sorted(by: { $0.name < $1.name }) where !entity.isAbstract {
      entityPlaces[entity.code] = entities.count
      entities.append(EntityStatistics(name: entity.name))
    }
    let relationshipCodes = Set(schema.entities.flatMap { $0.relationships.map(\.code) })
    var found: [(code: UInt16, statistics: RelationshipStatistics)] = []
    for (entity, codes) in schema.codes.properties {
      for (name, code) in codes where relationshipCodes.contains(code) {
        found.append((code, RelationshipStatistics(entity: entity, name: name, isHidden: false)))
      }
    }
    for (entity, codes) in schema.codes.referrers {
      for (name, code) in codes {
        found.append((code, RelationshipStatistics(entity: entity, name: name, isHidden: true)))
      }
    }
    func order(_ statistics: RelationshipStatistics) -> (String, String, Int) {
      (statistics.entity, statistics.name, statistics.isHidden ? 1 : 0)
    }
    for (code, statistics) in found.sorted(by: { order($0.statistics) < order($1.statistics) }) {
      add(statistics, code)
    }
    addIndexes()
  }

  private func addIndexes() {
    var found: [(id: UInt16, statistics: IndexStatistics)] = []
    for (codes, isUnique) in [(schema.codes.indexes, true), (schema.codes.fetchIndexes ?? [:], false)] {
      for (entity, indexes) in codes {
        for (name, id) in indexes {
          found.append((id, IndexStatistics(entity: entity, name: name, isUnique: isUnique)))
        }
      }
    }
    func order(_ index: IndexStatistics) -> (String, String) { (index.entity, index.name) }
    for (id, statistics) in found.sorted(by: { order($0.statistics) < order($1.statistics) }) {
      indexPlaces[id] = indexes.count
      indexes.append(statistics)
    }
  }

  private func add(_ statistics: RelationshipStatistics, _ code: UInt16) {
    relationshipPlaces[code] = relationships.count
    relationships.append(statistics)
    listPieces.append(0)
  }

  /// Sets the tables.
  func begin(_ map: PageMap) {
    tables = map.tables.map { TableCode(name: $0.name) }
  }

  func visit(_ census: PageCensus, _ table: Int, _ entry: CensusEntry) {
    guard failure == nil, table < tables.count, let code = tables[table] else { return }
    do {
      try visit(census, code, entry)
    } catch let error as PageError {
      failure = StoreError(error)
    } catch let error as StoreError {
      failure = error
    } catch {
      failure = StoreError(
        .corrupted,
        "an entry of the table \(schema.tableName(code)) is corrupted: \(error) Run `check` to see the extent")
    }
  }

  private func visit(_ census: PageCensus, _ code: TableCode, _ entry: CensusEntry) throws {
    let byteCount = UInt64(entry.key.count + entry.valueLength)
    if code.rootCode != nil { return try visitObject(census, entry, byteCount) }
    switch code {
    case .links: try visitList(census, entry, byteCount)
    case .blobInfo: try visitBlobInfo(census, entry, byteCount)
    case .blobs:
      add(byteCount, toLargeValue: try NumberKey.numberAndPart(RawSpan(_unsafeBytes: entry.key)).number)
    case .indexes: try visitIndex(entry, byteCount)
    case .overlays: try visitOverlay(entry, byteCount)
    case .preimages:
      let key = RawSpan(_unsafeBytes: entry.key)
      let table = SavedKeysKey.isOne(key) ? 0 : try PreimageKey.table(of: key).rawValue
      let name = table == 0 ? "lists of saved keys" : schema.tableName(TableCode(rawValue: table))
      previousStates[table, default: SpaceUsage(kind: .preimages, name: name)].add(byteCount)
    default: break
    }
  }

  /// Counts an entry of a branch by its number, which the branch's description has.
  private func visitOverlay(_ entry: CensusEntry, _ byteCount: UInt64) throws {
    let key = RawSpan(_unsafeBytes: entry.key)
    let number = try OverlayKey.layer(of: key)
    branchEntries[number, default: SpaceUsage(kind: .branches, name: "")].add(byteCount)
    if try OverlayKey.table(of: key) == .blobInfo {
      branchBlobs[try NumberKey.blobSerial(try OverlayKey.key(of: key))] = number
    }
  }

  private func visitObject(_ census: PageCensus, _ entry: CensusEntry, _ byteCount: UInt64) throws {
    // The header, for two of its numbers.
    let header = RawSpan(_unsafeBytes: try census.bytes(of: entry, 0..<min(24, entry.valueLength)))
    let entity = try RecordView.entityCode(of: header)
    let layoutID = try RecordView.layoutID(of: header)
    let place = entityPlace(entity)
    entities[place].objectCount += 1
    entities[place].byteCount += byteCount
    guard let outline = try outline(layoutID) else { return }
    guard outline.hasLinks || outline.mayHaveBlobs else { return }
    guard outline.fixedLength <= entry.valueLength else { throw RecordError.tooShort }
    let fixed = try census.bytes(of: entry, 0..<outline.fixedLength)
    try outline.forEachLink(fixed) { property, link in
      let place = relationshipPlace(property)
      relationships[place].memberCount += UInt64(link.count)
      relationships[place].inlineBytes += UInt64(link.byteCount)
      if link.isChunked { relationships[place].chunkedListCount += 1 }
    }
    guard outline.mayHaveBlobs else { return }
    var names: [(property: UInt16, offset: Int)] = []
    try outline.forEachBlob(fixed, byteCount: entry.valueLength) { names.append(($0, $1)) }
    for name in names {
      let bytes = try census.bytes(of: entry, name.offset..<name.offset + RecordOutline.blobNameLength)
      let attribute = attributePlace(entity, name.property)
      entities[place].blobCount += 1
      largeValues[attribute].referenceCount += 1
      owners.note(try RecordOutline.blobSerial(bytes), owner: attribute)
    }
  }

  private func outline(_ layoutID: UInt16) throws(StoreError) -> RecordOutline? {
    if let known = outlines[layoutID] { return known }
    guard let layout = schema.layout(id: layoutID) else {
      throw StoreError(
        .corrupted, "a record has layout \(layoutID), which is missing in the metadata; run `check` to see the extent")
    }
    let outline = RecordOutline(layout)
    outlines[layoutID] = outline
    return outline
  }

  private func visitList(_ census: PageCensus, _ entry: CensusEntry, _ byteCount: UInt64) throws {
    let key = try LinkKey(RawSpan(_unsafeBytes: entry.key))
    let place = relationshipPlace(key.relationship)
    relationships[place].chunkBytes += byteCount
    listPieces[place] += 1
    // Other lists have their count in the record.
    guard relationships[place].isHidden, key.kind == .chunk else { return }
    relationships[place].memberCount += UInt64(
      try ListChunk.memberCount(of: try census.bytes(of: entry, 0..<min(12, entry.valueLength))))
  }

  private func visitBlobInfo(_ census: PageCensus, _ entry: CensusEntry, _ byteCount: UInt64) throws {
    let key = RawSpan(_unsafeBytes: entry.key)
    let serial = try NumberKey.blobSerial(key)
    let value = RawSpan(_unsafeBytes: try census.bytes(of: entry, 0..<entry.valueLength))
    let info = try BlobInfo(stored: value, seed: ValueEnvelope.seed(tableCode: .blobInfo, key: key))
    if info.state == .pending { uploadSerials.insert(serial) }
    if let owner = owners[serial] { largeValues[owner].add(info.byteCount, references: info.referenceCount) }
    add(byteCount, toLargeValue: serial)
  }

  private func add(_ byteCount: UInt64, toLargeValue serial: UInt64) {
    if let owner = owners[serial] {
      largeValues[owner].storedBytes += byteCount
    } else if uploadSerials.contains(serial) {
      uploads.add(byteCount)
    } else if let number = branchBlobs[serial] {
      branchBlobUses[number, default: SpaceUsage(kind: .branches, name: "")].add(byteCount)
    } else {
      retained.add(byteCount)
    }
  }

  private func visitIndex(_ entry: CensusEntry, _ byteCount: UInt64) throws {
    let id = try IndexKey.indexID(of: RawSpan(_unsafeBytes: entry.key))
    let place: Int
    if let known = indexPlaces[id] {
      place = known
    } else {
      place = indexes.count
      indexPlaces[id] = place
      indexes.append(IndexStatistics(entity: "", name: "removed index \(id)", isUnique: false))
    }
    indexes[place].entryCount += 1
    indexes[place].byteCount += byteCount
  }

  // MARK: Removed from the model

  private func entityPlace(_ code: UInt16) -> Int {
    if let known = entityPlaces[code] { return known }
    entityPlaces[code] = entities.count
    entities.append(EntityStatistics(name: schema.entity(code: code)?.name ?? "removed entity \(code)"))
    return entities.count - 1
  }

  private func relationshipPlace(_ code: UInt16) -> Int {
    if let known = relationshipPlaces[code] { return known }
    let name = schema.propertyNames[code] ?? "relationship"
    // Several may have had the name.
    add(RelationshipStatistics(entity: "", name: "removed \(name) \(code)", isHidden: false), code)
    return relationships.count - 1
  }

  /// Several removed ones may have had the name.
  private func attributeName(_ property: UInt16, of entity: UInt16) -> String {
    let known = schema.entity(code: entity)?.attributes.first { $0.code == property }
    return known?.path ?? "removed \(schema.propertyNames[property] ?? "attribute") \(property)"
  }

  private func attributePlace(_ entity: UInt16, _ property: UInt16) -> Int {
    let key = UInt32(entity) << 16 | UInt32(property)
    if let known = attributePlaces[key] { return known }
    attributePlaces[key] = largeValues.count
    largeValues.append(
      BlobStatistics(
        entity: entities[entityPlace(entity)].name,
        attribute: attributeName(property, of: entity)))
    return largeValues.count - 1
  }
}

extension SpaceUsage {
  mutating func add(_ byteCount: UInt64) {
    count += 1
    self.byteCount += byteCount
  }
}

/// The owners of blobs, by serial: two bytes each, in blocks, because serials are dense.
struct BlobOwners {
  private static let blockShift: UInt64 = 9
  private var blocks: [UInt64: [UInt16]] = [:]

  /// The first owner counts. Owners beyond 65,534 share the last number.
  mutating func note(_ serial: UInt64, owner: Int) {
    let index = Int(serial & (1 << Self.blockShift - 1))
    let number = UInt16(clamping: owner + 1)
    let block = serial >> Self.blockShift
    if blocks[block, default: Array(repeating: 0, count: 1 << Self.blockShift)][index] == 0 {
      blocks[block, default: Array(repeating: 0, count: 1 << Self.blockShift)][index] = number
    }
  }

  subscript(serial: UInt64) -> Int? {
    guard let owner = blocks[serial >> Self.blockShift]?[Int(serial & (1 << Self.blockShift - 1))], owner > 0 else {
      return nil
    }
    return Int(owner) - 1
  }
}
