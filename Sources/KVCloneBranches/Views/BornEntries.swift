package import KVCloneCore
import KVCloneModel
package import KVCloneRecords

/// The entries of a store that a snapshot does not contain because they are newer: found from new objects, without
/// scanning the tables.
///
/// Objects, their lists, provenance and blobs are in the order of their serials, and so are new indexes. Other entries
/// follow from a new object's record and lists: its entries in indexes, and, in the lists of older objects that it is
/// linked to, the chunks and member indexes that have its id. A chunk of an unordered list that has it begins with the
/// new object, which has the inverse side of the link; chunks of ordered lists are found with their owners (see
/// ``SnapshotHorizon``).
package struct BornEntries {
  /// The inverse side of a property or hidden list.
  private struct Side: Hashable {
    let code: UInt16
    let isOrdered: Bool
  }

  private let since: SnapshotValue
  private let horizon: SnapshotHorizon
  private let schema: Schema
  /// The lists of the inverse side, by the code on this side. Several if entities redeclare a relationship.
  private let sides: [UInt16: Set<Side>]

  /// - Parameter schema: of the state that is read.
  package init(since: SnapshotValue, _ schema: Schema) {
    self.since = since
    self.schema = schema
    horizon = SnapshotHorizon(since, schema.orderedLists)
    var sides: [UInt16: Set<Side>] = [:]
    for relationship in schema.entities.flatMap(\.relationships) {
      if !relationship.hasInverse {
        // The target has a hidden list, and its members have the relationship.
        sides[relationship.code, default: []].insert(Side(code: relationship.inverseCode, isOrdered: false))
        if relationship.isToMany {
          sides[relationship.inverseCode, default: []].insert(
            Side(code: relationship.code, isOrdered: relationship.isOrdered))
        }
      } else if relationship.inverseIsToMany {
        sides[relationship.code, default: []].insert(
          Side(code: relationship.inverseCode, isOrdered: relationship.inverseIsOrdered))
      }
    }
    self.sides = sides
  }

  package typealias Visit = (StorageTable, UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws(StoreError) -> Void

  /// Calls `body` with table, key and value of each entry, possibly more than once. An object's record comes before the
  /// entries that follow from it.
  package func forEach(in session: borrowing Session, _ body: Visit) throws(StoreError) {
    for rootCode in schema.rootCodes {
      guard let table = schema.objectTable(rootCode: rootCode) else { continue }
      try forEachObject(table, rootCode, session, body)
      try forEachLink(rootCode, session, body)
      try scan(schema.tables.provenance, rootCode, session, body)
    }
    let index = IndexKey.prefix(indexID: since.nextIndexID)
    try session.storage.scanToEnd(of: schema.tables.indexes, from: index.span.bytes) {
      (key, value) throws(StoreError) in
      try body(schema.tables.indexes, unsafePointers(copy key), unsafePointers(copy value))
      return true
    }
    let blob = ShortKey.blobInfo(since.nextBlobSerial)
    for table in [schema.tables.blobinfo, schema.tables.blobs] {
      try session.storage.scanToEnd(of: table, from: blob.bytes) { (key, value) throws(StoreError) in
        try body(table, unsafePointers(copy key), unsafePointers(copy value))
        return true
      }
    }
  }

  private func forEachObject(
    _ table: StorageTable, _ rootCode: UInt16, _ session: borrowing Session, _ body: Visit
  ) throws(StoreError) {
    let first = ShortKey.object(horizon.firstLater(rootCode: rootCode))
    var windows = ReadWindows(session.storage)
    try session.storage.scanToEnd(of: table, from: first.bytes) { (key, value) throws(StoreError) in
      windows.next()
      let id = try schema.objectID(key)
      try body(table, unsafePointers(copy key), unsafePointers(copy value))
      let view = try schema.view(of: copy value, id: id)
      let entity = try schema.entity(of: view, id: id)
      if entity.hasIndexes {
        for key in try entity.indexKeys(id, view, schema) { try visit(index: key, session, body) }
      }
      for field in 0..<view.layout.fieldCount {
        let code = view.layout[field].propertyCode
        switch view.layout.kind(field) {
        case .toOne:
          if let target = view.toOne(field) { try visit(target, code, id, session, body) }
        case .toMany where !view.head(field).isChunked:
          let ids = view.inlineIDs(field)
          for index in 0..<ids.count { try visit(ids[index], code, id, session, body) }
        default: break
        }
      }
      return true
    }
  }

  /// Visits the lists of new objects.
  private func forEachLink(_ rootCode: UInt16, _ session: borrowing Session, _ body: Visit) throws(StoreError) {
    let links = schema.tables.links
    let first = ShortKey.linkPrefix(owner: horizon.firstLater(rootCode: rootCode))
    let prefix = Self.prefix(rootCode)
    var windows = ReadWindows(session.storage)
    try session.storage.scan(links, from: first.bytes, within: prefix.span.bytes) { (key, value) throws(StoreError) in
      windows.renew()
      let link: LinkKey
      do throws(RecordError) { link = try LinkKey(copy key) } catch { throw Self.corrupted(error) }
      guard link.owner.rootCode == rootCode else { return false }
      try body(links, unsafePointers(copy key), unsafePointers(copy value))
      guard link.kind == .chunk, sides[link.relationship] != nil else { return true }
      let ids: ObjectIDList
      do throws(RecordError) {
        let seed = ValueEnvelope.seed(tableCode: .links, key: copy key)
        ids = try ListChunk(copy value, seed: seed, unorderedAt: nil).ids
      } catch {
        throw Self.corrupted(error)
      }
      for index in 0..<ids.count { try visit(ids[index], link.relationship, link.owner, session, body) }
      return true
    }
  }

  /// The prefix of all ids of a root entity.
  private static func prefix(_ rootCode: UInt16) -> [UInt8] {
    [UInt8(rootCode >> 8), UInt8(truncatingIfNeeded: rootCode)]
  }

  private func scan(
    _ table: StorageTable, _ rootCode: UInt16, _ session: borrowing Session, _ body: Visit
  ) throws(StoreError) {
    let first = ShortKey.object(horizon.firstLater(rootCode: rootCode))
    let prefix = Self.prefix(rootCode)
    try session.storage.scan(table, from: first.bytes, within: prefix.span.bytes) { (key, value) throws(StoreError) in
      guard let id = try? NumberKey.objectID(copy key), id.rootCode == rootCode else { return false }
      try body(table, unsafePointers(copy key), unsafePointers(copy value))
      return true
    }
  }

  private func visit(index key: [UInt8], _ session: borrowing Session, _ body: Visit) throws(StoreError) {
    // Newer indexes are visited as a whole.
    guard key.withUnsafeBytes({ SnapshotHorizon.indexID($0) }) < since.nextIndexID,
      let value = try session.storage.get(schema.tables.indexes, key.span.bytes)
    else { return }
    try body(schema.tables.indexes, unsafePointers(key.span.bytes), unsafePointers(value))
  }

  /// Visits the entries of a new object in an older object's list.
  private func visit(
    _ owner: ObjectID, _ code: UInt16, _ member: ObjectID, _ session: borrowing Session, _ body: Visit
  ) throws(StoreError) {
    guard horizon.sees(owner), let sides = sides[code] else { return }
    for side in sides {
      let key = ShortKey.link(
        LinkKey(
          owner: owner, relationship: side.code, kind: side.isOrdered ? .memberIndex : .chunk,
          position: member.rawValue))
      guard let value = try session.storage.get(schema.tables.links, key.bytes) else { continue }
      try body(schema.tables.links, unsafePointers(key.bytes), unsafePointers(value))
    }
  }

  private static func corrupted(_ error: RecordError) -> StoreError {
    StoreError(.corrupted, "a list is corrupted: \(error) Run `check` to see the extent")
  }
}
