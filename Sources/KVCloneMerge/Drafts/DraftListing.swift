#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import KVClone
import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// Describes the drafts of one base. The clones and the changes since are read once for all copies.
struct DraftListing: ~Copyable {
  private let base: CloneBase
  private let retainedByteCount: UInt64
  private let now: Session
  private let past: Session
  /// The copy of each root that exists.
  private let copies: [ObjectID: Int]

  init(_ base: CloneBase, in store: ObjectStore, _ session: borrowing Session) throws {
    let (schema, view) = (store.schema, session.storage.backend)
    let horizon = SnapshotHorizon(base.value, schema.orderedLists)
    self.base = base
    retainedByteCount = try base.retainedByteCount(in: store)
    now = store.context.session(StorageTransaction(lookingInto: view), schema)
    past = store.context.session(
      StorageTransaction(lookingInto: SnapshotBackend(view, preimages: schema.tables.preimages, horizon)), schema)
    var copies: [ObjectID: Int] = [:]
    for (copy, roots) in base.roots.enumerated() {
      for root in roots { copies[root] = copy }
    }
    self.copies = copies
  }

  /// Returns the descriptions of the copies with clones.
  ///
  /// - Parameter isMigrated: whether objects have other ids since, so that nothing can be compared.
  func drafts(isMigrated: Bool) throws -> [DraftInfo] {
    var counts = [Int](repeating: 0, count: base.roots.count)
    var sources: [ObjectID: ObjectID] = [:]
    try base.forEachClone(in: now) { (clone, entry) throws(StoreError) in
      guard let copy = entry.draft.map({ Int($0.copy) }), copy < counts.count else { return true }
      counts[copy] += 1
      if copies[clone] == copy { sources[clone] = entry.source }
      return true
    }
    let isOver = isMigrated || base.isExpired()
    let changed = isOver ? [] : try changedCopies()
    var drafts: [DraftInfo] = []
    for copy in counts.indices where try counts[copy] > 0 && base.state(ofCopy: copy, in: now) != .released {
      let roots = base.roots[copy]
      let found = roots.compactMap { sources[$0] }
      drafts.append(
        DraftInfo(
          roots: roots, sources: found, author: base.author,
          createdAt: Date(timeIntervalSinceReferenceDate: base.value.created),
          expiresAt: base.value.expires.map { Date(timeIntervalSinceReferenceDate: $0) }, objectCount: counts[copy],
          retainedBytes: retainedByteCount,
          // Without a root or a base, the draft can only be deleted.
          isChanged: isOver || found.count < roots.count || changed.contains(copy)))
    }
    return drafts
  }

  /// Returns the copies with clones, or links to clones, that differ from the base.
  private func changedCopies() throws(StoreError) -> Set<Int> {
    var changes = try SnapshotComparison.changes(in: base.value.epoch..<(.max), base.value, now)
    try ObjectSet.inserted(since: changes.horizon, in: now).forEach { id in
      _ = changes.objects.insert(id)
      return true
    }
    var changed: Set<Int> = []
    var windows = ReadWindows(now.storage)
    for rootCode in now.schema.rootCodes {
      let objects = changes.objects.set(rootCode: rootCode)
      var next = objects?.next(from: 0)
      while let serial = next, changed.count < base.roots.count {
        next = objects?.next(from: serial + 1)
        windows.next()
        let id = ObjectID(rootCode: rootCode, serial: serial)
        let copy = try copy(of: id)
        if let copy, changed.contains(copy) { continue }
        guard let difference = try SnapshotComparison.difference(id, past, now, changes) else { continue }
        if let copy {
          if try isChange(difference) { changed.insert(copy) }
        } else {
          changed.formUnion(try copies(gainingOrLosingLinks: difference))
        }
      }
    }
    return changed
  }

  /// Whether the difference of a clone is more than what follows from other objects.
  private func isChange(_ difference: SnapshotDifference) throws(StoreError) -> Bool {
    guard difference.kind == .updated else { return true }
    let entity = try now.entity(of: difference.id)
    for attribute in difference.attributes {
      if let known = entity.attributes.first(where: { $0.path == attribute.name }), !known.isDerived { return true }
    }
    for relationship in difference.relationships {
      if !relationship.added.isEmpty || relationship.isReordered { return true }
      // The deletion of another object takes its links.
      for member in relationship.removed where try now.exists(member) { return true }
    }
    return false
  }

  /// Returns the copies of the clones that another object refers to or no longer refers to, without an inverse: the
  /// clones themselves do not show such links.
  private func copies(gainingOrLosingLinks difference: SnapshotDifference) throws(StoreError) -> [Int] {
    var found: [Int] = []
    switch difference.kind {
    case .deleted: break
    case .updated:
      for relationship in difference.relationships {
        for member in relationship.added + relationship.removed {
          if let copy = try copy(of: member) { found.append(copy) }
        }
      }
    case .inserted:
      let entity = try now.entity(of: difference.id)
      for relationship in entity.relationships where !relationship.hasInverse {
        for member in try now.members(difference.id, relationship) {
          if let copy = try copy(of: member) { found.append(copy) }
        }
      }
    }
    return found
  }

  /// The copy that an object was part of when the copies were made.
  private func copy(of id: ObjectID) throws(StoreError) -> Int? {
    guard let draft = try CloneBase.draft(of: id, in: past)?.draft, draft.base == base.number else { return nil }
    return Int(draft.copy)
  }
}
