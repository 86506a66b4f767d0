#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import KVCloneCore
import KVCloneLMDB
import KVCloneModel
import KVCloneRecords

/// Makes a store of what was copied: values and lists that cannot be read go, both sides of each relationship are brought together, and
/// everything that follows from the objects is made anew.
struct SalvageMend {
  /// Objects that a transaction looks at, so that memory stays flat.
  private static let batchCount = 4096

  let engine: LMDBEngine
  let schema: Schema
  let storeUUID: UUID
  let commit: UInt64
  let run: SalvageRun

  func mend() throws(StoreError) {
    run.steps.begin(.repair)
    try forEachObject { (session, id) throws(StoreError) in try session.mendRecord(id, run) }
    try forEachObject { (session, id) throws(StoreError) in try session.mendLinks(id, run) }
    try reportLists()
  }

  /// Visits all objects, some of them in each transaction; `body` may change everything.
  private func forEachObject(
    _ body: (inout Session, ObjectID) throws(StoreError) -> Void
  ) throws(StoreError) {
    for rootCode in schema.rootCodes {
      var next: ObjectID? = ObjectID(rootCode: rootCode, serial: 0)
      while let start = next {
        try run.steps.check()
        var session = try writeSession()
        let ids: [ObjectID]
        (ids, next) = try session.ids(from: start, limit: Self.batchCount)
        for id in ids { try body(&session, id) }
        try session.commitStorage()
      }
    }
  }

  func writeSession() throws(StoreError) -> Session {
    StoreContext(uuid: storeUUID, engine: engine).session(
      try engine.beginWrite(label: "salvage", timeout: .zero), schema, commit: commit)
  }

  /// Which members the lists that lost pieces have now.
  private func reportLists() throws(StoreError) {
    let session = StoreContext(uuid: storeUUID).session(try engine.beginRead(), schema, commit: commit)
    let lists = run.brokenLists.sorted {
      ($0.key.owner, $0.key.relationship) < ($1.key.owner, $1.key.relationship)
    }
    for (list, broken) in lists {
      let relationship = broken.relationship
      let count = try session.count(list.owner, relationship.name)
      if count < broken.expected {
        run.lose(
          .list, object: broken.object, property: relationship.name,
          breaksRule: count < relationship.description.minCount,
          "\(broken.expected - count) of its \(broken.expected) members are lost with a chunk of the list")
      }
      if relationship.isOrdered, broken.foundCount > 0 {
        run.lose(
          .order, object: broken.object, property: relationship.name,
          "the order of \(broken.foundCount) members is lost; they were appended")
      }
    }
  }
}

extension Session {
  /// The next objects of a table, and the one after them.
  fileprivate borrowing func ids(from start: ObjectID, limit: Int) throws(StoreError) -> ([ObjectID], ObjectID?) {
    guard let table = schema.objectTable(rootCode: start.rootCode) else { return ([], nil) }
    var ids: [ObjectID] = []
    var next: ObjectID?
    let key = ShortKey.object(start)
    let schema = schema
    try storage.scanToEnd(of: table, from: key.bytes) { (key, _) throws(StoreError) in
      let id = try schema.objectID(key)
      if ids.count == limit {
        next = id
        return false
      }
      ids.append(id)
      return true
    }
    return (ids, next)
  }
}

// MARK: Records

/// What is wrong with a record whose bytes are those that were stored.
private struct RecordFaults {
  /// Attributes that cannot be read: by property code, and why.
  var values: [(code: UInt16, reason: String)] = []
  /// Lists of which pieces are missing or damaged.
  var lists: [CompiledRelationship] = []
  /// Whether a large value of an attribute that the entity has no more is missing: it goes when the record is written.
  var isOutlived = false

  var isEmpty: Bool { values.isEmpty && lists.isEmpty && !isOutlived }
}

extension Session {
  fileprivate mutating func mendRecord(_ id: ObjectID, _ run: SalvageRun) throws(StoreError) {
    let faults = try faults(of: id)
    if faults.isEmpty { return }
    let entity = try load(id)
    // Large values are counted when all is done.
    outlived.blobs.removeAll()
    let name = "\(entity.name)/\(id.serial)"
    for (code, reason) in faults.values {
      guard let field = entity.layout.fieldIndex(ofProperty: code) else { continue }
      scratch.setNull(field)
      let attribute = entity.attributes.first { $0.code == code }
      run.lose(
        .value, object: name, property: attribute?.path,
        breaksRule: attribute.map { !$0.description.isOptional && !$0.isDerived } ?? false, reason)
    }
    for relationship in faults.lists {
      let list = address(id, relationship.code)
      let expected = scratch.view.head(relationship.field).count
      let members = try readableMembers(list, relationship)
      try storage.deleteList(list)
      try writeList(list, members, relationship, relationship.field)
      run.noteBroken(list, .init(object: name, relationship: relationship, expected: expected))
    }
    try store(id, entity)
  }

  private borrowing func faults(of id: ObjectID) throws(StoreError) -> RecordFaults {
    let view = try existingRecord(id)
    let entity = try schema.entity(of: view, id: id)
    var faults = RecordFaults()
    for field in 0..<view.layout.fieldCount {
      let code = view.layout[field].propertyCode
      switch view.layout.kind(field) {
      case .toOne: break
      case .toMany:
        guard let index = entity.relationshipIndexByCode[code] else { continue }
        if try isFaulty(field, view, address(id, code), entity.relationships[index]) {
          faults.lists.append(entity.relationships[index])
        }
      default:
        guard let reason = try fault(of: field, view) else { continue }
        if entity.layout.fieldIndex(ofProperty: code) == nil {
          faults.isOutlived = true
        } else {
          faults.values.append((code, reason))
        }
      }
    }
    return faults
  }

  /// Why an attribute cannot be read; nil where it can.
  private borrowing func fault(of field: Int, _ view: borrowing RecordView) throws(StoreError) -> String? {
    let kind = view.layout.kind(field)
    let offset = view.layout.offset(field)
    let bytes = view.bytes
    if view.isNull(field) {
      let isEmpty =
        kind.isVariable
        ? view.variableBytes(field).byteCount == 0 && !view.isBlob(field)
        : (0..<kind.width).allSatisfy { bytes.unsafeLoad(fromByteOffset: offset + $0, as: UInt8.self) == 0 }
      return isEmpty ? nil : "it is nil, but had a value"
    }
    switch kind {
    case .boolean where bytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self) > 1:
      return "its Boolean is neither true nor false"
    case .string, .uri:
      return (try? view.string(field)) == nil ? RecordError.invalidUTF8.description : nil
    case .binary, .transformable:
      guard let blob = view.blobReference(field) else { return nil }
      guard let info = try storage.blobInfo(blobTables, blob.id), info.byteCount == blob.byteCount else {
        return "some or all of its \(blob.byteCount) bytes are lost"
      }
      return nil
    default: return nil
    }
  }

  private borrowing func isFaulty(
    _ field: Int, _ view: borrowing RecordView, _ list: ListAddress, _ relationship: CompiledRelationship
  ) throws(StoreError) -> Bool {
    let head = view.head(field)
    if head.isChunked { return try !storage.findProblems(list, head: head, isOrdered: relationship.isOrdered).isEmpty }
    let ids = view.inlineIDs(field)
    if !relationship.isOrdered { return !ids.isStrictlyAscending }
    return (1..<max(1, ids.count)).contains { (ids.firstIndex(of: ids[$0]) ?? $0) < $0 }
  }

  /// The members that are left of a list, each once.
  private borrowing func readableMembers(
    _ list: ListAddress, _ relationship: CompiledRelationship
  ) throws(StoreError) -> [ObjectID] {
    var members: [ObjectID] = []
    let view = scratch.view
    if !view.head(relationship.field).isChunked {
      members = view.inlineIDs(relationship.field).array
    } else {
      do throws(StoreError) {
        try storage.forEachChunk(list) { (ids) throws(StoreError) in
          for index in 0..<ids.count { members.append(ids[index]) }
          return true
        }
      } catch {
        // A piece with a right checksum and a wrong form: those before it stay.
        guard error.kind == .corrupted else { throw error }
      }
    }
    if relationship.isOrdered {
      var seen = TargetSet(capacity: members.count)
      return members.filter { seen.insert($0) }
    }
    members.sort()
    var unique: [ObjectID] = []
    for member in members where unique.last != member { unique.append(member) }
    return unique
  }
}
