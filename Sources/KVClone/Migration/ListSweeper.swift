import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// The lists, and their relationships, that entities lose in a migration step.
struct LostLists {
  /// The codes of lists that some entity no longer has; others may still have them.
  private(set) var codes: Set<UInt16> = []
  /// The codes of hidden lists that may contain objects without the relationship.
  private(set) var referrerCodes: Set<UInt16> = []

  init(from source: Schema, to destination: Schema) {
    for old in source.entities where !old.isAbstract {
      // Objects of a removed entity were deleted, with all lists.
      guard let new = destination.entity(code: old.code) else { continue }
      codes.formUnion(Self.codes(old).subtracting(Self.codes(new)))
      for relationship in old.relationships where !relationship.hasInverse {
        if new.relationship(referrerCode: relationship.inverseCode) == nil {
          referrerCodes.insert(relationship.inverseCode)
        }
      }
    }
  }

  private static func codes(_ entity: CompiledEntity) -> Set<UInt16> {
    Set(entity.relationships.filter(\.isToMany).map(\.code) + entity.referrerCodes)
  }

  var isEmpty: Bool { codes.isEmpty && referrerCodes.isEmpty }

  func concerns(_ code: UInt16) -> Bool { codes.contains(code) || referrerCodes.contains(code) }
}

/// Deletes lists of removed relationships.
struct ListSweeper: ~Copyable, SessionOwner {
  private var session: Session

  init(_ session: consuming Session) {
    self.session = session
  }

  consuming func finish() -> Session { session }

  /// Deletes lists of removed relationships. The owners' records stay unchanged: their list heads are never read again.
  mutating func sweep(_ lost: LostLists, _ run: MigrationRun) throws(StoreError) {
    if lost.isEmpty { return }
    var next: ShortKey? = ListAddress(
      links: session.schema.tables.links, owner: ObjectID(rawValue: 0), relationship: 0
    ).key(.chunk, 0)
    var windows = ReadWindows(session.storage)
    while let start = next {
      windows.renew()
      var lists: [ListAddress] = []
      next = try Self.gatherLists(session.storage, session.schema, lost, from: start, into: &lists)
      for list in lists { try sweep(list, lost) }
      try run.advance(by: 0)
    }
  }

  /// Collects the next lists that may have to be deleted; returns where to continue.
  private static func gatherLists(
    _ storage: borrowing StorageTransaction, _ schema: Schema, _ lost: LostLists, from start: ShortKey,
    into lists: inout [ListAddress]
  ) throws(StoreError) -> ShortKey? {
    var next: ShortKey?
    var found: [ListAddress] = []
    try storage.scanToEnd(of: schema.tables.links, from: start.bytes) { (key, _) throws(StoreError) in
      guard let link = try? LinkKey(copy key) else {
        throw StoreError(.corrupted, "the table of lists has a malformed key; run `check` to see the extent")
      }
      guard lost.concerns(link.relationship) else { return true }
      if let last = found.last, last.owner == link.owner, last.relationship == link.relationship { return true }
      if found.count == 1024 {
        next = .link(link)
        return false
      }
      found.append(ListAddress(links: schema.tables.links, owner: link.owner, relationship: link.relationship))
      return true
    }
    lists = found
    return next
  }

  private mutating func sweep(_ list: ListAddress, _ lost: LostLists) throws(StoreError) {
    // Lists of removed root entities stay with their objects, for snapshots.
    guard session.schema.objectTable(rootCode: list.owner.rootCode) != nil else { return }
    let entity = try session.entity(of: list.owner)
    if let index = entity.relationshipIndexByCode[list.relationship], entity.relationships[index].isToMany { return }
    guard entity.referrerCodes.contains(list.relationship) else { return try session.storage.deleteList(list) }
    guard lost.referrerCodes.contains(list.relationship) else { return }
    var gone: [ObjectID] = []
    for member in try session.storage.members(list) {
      if session.schema.objectTable(rootCode: member.rootCode) != nil,
        try session.entity(of: member).relationship(referrerCode: list.relationship) != nil
      {
        continue
      }
      gone.append(member)
    }
    for member in gone { _ = try session.storage.removeUnordered(list, member) }
  }
}
