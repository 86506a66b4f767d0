package import KVCloneCore
package import KVCloneModel
import KVCloneRecords

extension SnapshotDifference {
  /// Calls `body` with the objects that differ between two states, as ``ObjectStore/diff(from:to:_:)`` does, in the same order.
  ///
  /// - Parameters:
  ///   - after: the id of the object after which to begin; nil for all objects.
  ///   - isCancelled: called before each object.
  /// - Throws: `cancelled` once `isCancelled` returns true; the errors of `diff(from:to:_:)`.
  package static func forEach(
    in store: ObjectStore, from: Snapshot, to: Snapshot?, after: ObjectID?, isCancelled: () -> Bool,
    _ body: (SnapshotDifference) throws -> Bool
  ) throws {
    try SnapshotComparison.compare(store, from, to, after: after, isCancelled: isCancelled, body)
  }

  /// Returns the difference of one object between two states; nil if it is equal in both, or in neither of them.
  ///
  /// The duration depends on the changes of the object, not on those of others.
  ///
  /// - Throws: `snapshotNotFound`, `corrupted`.
  package static func of(_ id: ObjectID, in store: ObjectStore, from: Snapshot, to: Snapshot?) throws
    -> SnapshotDifference?
  {
    try SnapshotComparison.difference(of: id, store, from, to)
  }
}

extension SnapshotComparison {
  /// - Parameter to: nil for the current state.
  fileprivate static func difference(of id: ObjectID, _ store: ObjectStore, _ from: Snapshot, _ to: Snapshot?) throws
    -> SnapshotDifference?
  {
    try StoreSnapshots(store).requireOwn(from)
    if let to {
      try StoreSnapshots(store).requireOwn(to)
      if from.info.epoch > to.info.epoch { return try difference(of: id, store, to, from)?.inverted }
    }
    let old = try StoreSnapshots(store).session(of: from)
    let new = if let to { try StoreSnapshots(store).session(of: to) } else { try store.readSession() }
    let first = try Snapshots.existing(new.storage, new.schema.tables, from.info.name, epoch: from.info.epoch)
    if let changes = try changesAcrossLayers(from.name, first, new) { return try difference(id, old, new, changes) }
    return try difference(id, old, new, changes(of: id, first, new))
  }

  /// Returns the changed chunks of an object's lists: those with a preimage in any epoch. A chunk that changed in other
  /// epochs only is equal in both states.
  static func changes(of id: ObjectID, _ first: SnapshotValue, _ session: borrowing Session) throws(StoreError)
    -> Changes
  {
    var changes = Changes(horizon: SnapshotHorizon(first, session.schema.orderedLists))
    let table = TableCode.links.rawValue
    let prefix =
      [UInt8(truncatingIfNeeded: table >> 8), UInt8(truncatingIfNeeded: table)] + ShortKey.linkPrefix(owner: id).array
    try session.storage.scan(session.schema.tables.preimages, within: prefix.span.bytes) {
      (key, _) throws(StoreError) in
      if let saved = try? PreimageKey.key(of: key) { changes.note(.links, saved.withUnsafeBytes { Array($0) }) }
      return true
    }
    changes.sortChunks()
    return changes
  }
}
