import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// The problems of a record with a valid checksum.
private struct RecordFaults {
  /// Unreadable attributes: property codes, and reasons.
  var values: [(code: UInt16, reason: String)] = []
  /// Lists with missing or corrupted chunks.
  var lists: [CompiledRelationship] = []
  /// Whether a blob of an attribute that the entity no longer has is missing: it is removed when the record is written.
  var hasOrphanedBlobs = false

  var isEmpty: Bool { values.isEmpty && lists.isEmpty && !hasOrphanedBlobs }
}

/// Removes the unreadable values and lists of a record.
struct RecordMend: ~Copyable, SessionOwner {
  private var session: Session

  init(_ session: consuming Session) {
    self.session = session
  }

  consuming func finish() -> Session { session }

  mutating func mend(_ id: ObjectID, _ run: SalvageRun) throws(StoreError) {
    let faults = try faults(of: id)
    if faults.isEmpty { return }
    let entity = try session.load(id)
    // References to blobs are counted at the end.
    session.orphanedBlobs.blobs.removeAll()
    let name = "\(entity.name)/\(id.serial)"
    for (code, reason) in faults.values {
      guard let field = entity.layout.fieldIndex(ofProperty: code) else { continue }
      session.scratch.setNull(field)
      let attribute = entity.attributes.first { $0.code == code }
      run.lose(
        .value, object: name, property: attribute?.path,
        breaksRule: attribute.map { !$0.description.isOptional && !$0.isDerived } ?? false, reason)
    }
    for relationship in faults.lists {
      let list = session.address(id, relationship.code)
      let expected = session.scratch.view.head(relationship.field).count
      let members = try readableMembers(list, relationship)
      try session.storage.deleteList(list)
      try session.writeList(list, members, relationship, relationship.field)
      run.noteBroken(list, .init(object: name, relationship: relationship, expected: expected))
    }
    try session.store(id, entity)
  }

  private borrowing func faults(of id: ObjectID) throws(StoreError) -> RecordFaults {
    let view = try session.existingRecord(id)
    let entity = try session.schema.entity(of: view, id: id)
    var faults = RecordFaults()
    for field in 0..<view.layout.fieldCount {
      let code = view.layout[field].propertyCode
      switch view.layout.kind(field) {
      case .toOne: break
      case .toMany:
        guard let index = entity.relationshipIndexByCode[code] else { continue }
        if try isFaulty(field, view, session.address(id, code), entity.relationships[index]) {
          faults.lists.append(entity.relationships[index])
        }
      default:
        guard let reason = try fault(of: field, view) else { continue }
        if entity.layout.fieldIndex(ofProperty: code) == nil {
          faults.hasOrphanedBlobs = true
        } else {
          faults.values.append((code, reason))
        }
      }
    }
    return faults
  }

  /// Why an attribute is unreadable; nil if it is not.
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
      guard let info = try session.storage.blobInfo(session.blobTables, blob.id), info.byteCount == blob.byteCount
      else {
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
    if head.isChunked {
      return try !session.storage.findProblems(list, head: head, isOrdered: relationship.isOrdered).isEmpty
    }
    let ids = view.inlineIDs(field)
    if !relationship.isOrdered { return !ids.isStrictlyAscending }
    return (1..<max(1, ids.count)).contains { (ids.firstIndex(of: ids[$0]) ?? $0) < $0 }
  }

  /// The remaining members of a list, each once.
  private borrowing func readableMembers(
    _ list: ListAddress, _ relationship: CompiledRelationship
  ) throws(StoreError) -> [ObjectID] {
    var members: [ObjectID] = []
    let view = session.scratch.view
    if !view.head(relationship.field).isChunked {
      members = view.inlineIDs(relationship.field).array
    } else {
      do throws(StoreError) {
        try session.storage.forEachChunk(list) { (ids) throws(StoreError) in
          for index in 0..<ids.count { members.append(ids[index]) }
          return true
        }
      } catch {
        // A chunk with a valid checksum and an invalid form: those before it stay.
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
