import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// The lists that entities have lost by a step of a migration, with the relationships that they were of.
struct LostLists {
  /// Codes of lists that some entity has no more; others may have them still.
  private(set) var codes: Set<UInt16> = []
  /// Codes of hidden lists in which objects may be that have the relationship no more.
  private(set) var referrerCodes: Set<UInt16> = []

  init(from source: Schema, to destination: Schema) {
    for old in source.entities where !old.isAbstract {
      // Objects of an entity that is gone were deleted, with all lists.
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

/// Deletes lists of relationships that are gone.
struct ListSweeper: ~Copyable, SessionOwner {
  private var session: Session

  init(_ session: consuming Session) {
    self.session = session
  }

  consuming func finish() -> Session { session }

  /// Deletes the lists of relationships that are gone. The records that they were of are not touched: what those say of
  /// them is never read again.
  mutating func sweep(_ lost: LostLists, _ run: MigrationRun) throws(StoreError) {
    if lost.isEmpty { return }
    var next: ShortKey? = ListAddress(
      links: session.schema.tables.links, owner: ObjectID(rawValue: 0), relationship: 0
    ).key(.chunk, 0)
    while let start = next {
      var lists: [ListAddress] = []
      next = try Self.gatherLists(session.storage, session.schema, lost, from: start, into: &lists)
      for list in lists { try sweep(list, lost) }
      try run.advance(by: 0)
    }
  }

  /// The next lists that may have to go; where to go on.
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
    // Those of entities at the top that are gone stay with their objects, for snapshots.
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
