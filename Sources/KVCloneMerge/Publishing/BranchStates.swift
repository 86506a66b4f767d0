#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import KVClone
import KVCloneBranches
import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// A branch, its store and their common base, as one transaction shows them.
struct BranchStates {
  /// The last commit that the states contain.
  let commit: UInt64
  /// The branch.
  let record: BranchValue
  private let base: SessionMergeState
  private let store: (now: SessionMergeState, changed: ObjectSet)
  private let branch: (now: SessionMergeState, changed: ObjectSet)
  private let context: StoreContext
  private let schema: Schema
  private let tables: BranchTables
  private let views: (store: any StorageBackend, branch: any StorageBackend)

  /// - Parameters:
  ///   - engine: a transaction of the engine, without decorators. It must outlive the states.
  ///   - view: a transaction that shows the store: `engine`, or the same with a recorder of preimages.
  ///   - only: the ids of the branch's changes to merge; nil for all.
  /// - Throws: `branchNotFound`, `corrupted`.
  init(
    _ store: ObjectStore, _ name: String, _ tables: BranchTables, engine: any StorageBackend,
    _ view: any StorageBackend, only: ObjectSet? = nil
  ) throws(StoreError) {
    let schema = store.schema
    let storage = StorageTransaction(lookingInto: view)
    commit = try Metadata.counter(storage, schema.tables.metadata, MetadataKey.commitCounter)
    record = try BranchRecords.existing(storage, tables, name)
    let layer = record.present
    let horizon = try BranchRecords.horizon(of: layer, branch: name, storage, tables, schema.orderedLists)
    let snapshot = try Snapshots.existing(storage, schema.tables, layer.baseName, epoch: layer.baseEpoch)
    let ofBranch = BranchBackend(engine, tables, name: name, record, horizon)
    (context, self.schema, self.tables, views) = (store.context, schema, tables, (view, ofBranch))
    func session(_ backend: any StorageBackend) -> Session {
      store.context.session(StorageTransaction(lookingInto: backend), schema)
    }
    let changes = try SnapshotComparison.changes(in: layer.baseEpoch..<(.max), snapshot, session(view))
    var ofStore = changes.objects
    try Self.addInserted(since: horizon, to: &ofStore, session(view))
    var own = try Self.objects(changedIn: layer.code, tables, storage)
    if let only { own = own.filter { only.contains($0) } }
    let (storeChange, branchChange) = (MergeHistory(session(view)), MergeHistory(session(ofBranch)))
    base = SessionMergeState(session(SnapshotBackend(engine, preimages: schema.tables.preimages, horizon)))
    self.store = (
      SessionMergeState(session(view)) { (commit) throws(StoreError) in try storeChange.change(commit) }, ofStore
    )
    branch = (
      SessionMergeState(session(ofBranch)) { (commit) throws(StoreError) in try branchChange.change(commit) }, own
    )
  }

  /// The two sides of a merge in a direction.
  func sides(_ direction: BranchMerge.Direction) -> (ours: MergeSideStates, theirs: MergeSideStates) {
    let store = MergeSideStates(base: base, now: store.now, changed: store.changed)
    let branch = MergeSideStates(base: base, now: branch.now, changed: branch.changed)
    return direction == .publish ? (store, branch) : (branch, store)
  }

  /// A session on theirs, which must not outlive the transaction.
  func theirs(_ direction: BranchMerge.Direction) -> Session {
    context.session(StorageTransaction(lookingInto: direction == .publish ? views.branch : views.store), schema)
  }

  /// Whether a merge moves anything, be it only the base.
  func moves(_ direction: BranchMerge.Direction) -> Bool {
    !store.changed.isEmpty || direction == .publish && record.entryCount > 0
  }

  /// All objects that either side changed since the base, and those that the branch has changed in the transaction.
  func allChanged(with storage: borrowing StorageTransaction) throws(StoreError) -> ObjectSet {
    var all = try Self.objects(changedIn: record.present.code, tables, storage)
    store.changed.forEach { id in
      _ = all.insert(id)
      return true
    }
    return all
  }

  /// Records the changes of the store since the base in the history of a session on the branch.
  func noteChangesOfStore(in session: inout Session) throws(StoreError) {
    var next = store.changed.first(from: ObjectID(rawValue: 0))
    while let id = next {
      next = store.changed.first(from: ObjectID(rawValue: id.rawValue + 1))
      let (before, after) = (try branch.now.entity(of: id), try store.now.entity(of: id))
      switch (before, after) {
      case (nil, nil): continue
      case (nil, .some): session.state.history?.noteInserts(from: id, count: 1)
      case (.some(let entity), nil):
        _ = try session.load(id)
        try HistoryWriter.noteDeletion(id, entity, in: &session)
      case (.some, .some(let entity)):
        let (old, new) = (try branch.now.values(of: id, entity), try store.now.values(of: id, entity))
        for (index, attribute) in entity.attributes.enumerated() where old[index] != new[index] {
          session.state.history?.noteUpdate(id, property: attribute.code)
        }
        for relationship in entity.relationships {
          if try branch.now.members(of: id, relationship) == store.now.members(of: id, relationship) { continue }
          session.state.history?.noteUpdate(id, property: relationship.code)
        }
      }
    }
  }

  /// Adds the objects that the store inserted since the base.
  private static func addInserted(
    since horizon: SnapshotHorizon, to found: inout ObjectSet, _ session: borrowing Session
  ) throws(StoreError) {
    let schema = session.schema
    for rootCode in schema.rootCodes {
      guard let table = schema.objectTable(rootCode: rootCode) else { continue }
      let first = ShortKey.object(horizon.firstLater(rootCode: rootCode))
      try session.storage.scanToEnd(of: table, from: first.bytes) { (key, _) throws(StoreError) in
        _ = found.insert(try schema.objectID(key))
        return true
      }
    }
  }

  /// Returns the objects of which a layer has the record or a list. Entries of other tables follow from these.
  private static func objects(
    changedIn layer: UInt32, _ tables: BranchTables, _ storage: borrowing StorageTransaction
  ) throws(StoreError) -> ObjectSet {
    var found = ObjectSet()
    let prefix = OverlayKey.prefix(layer)
    try storage.scan(tables.overlays, within: prefix.span.bytes) { (key, _) throws(StoreError) in
      guard key.withUnsafeBytes({ $0.starts(with: prefix) }) else { return false }
      do throws(RecordError) {
        let table = try OverlayKey.table(of: copy key)
        if table.rootCode != nil {
          _ = found.insert(try NumberKey.objectID(OverlayKey.key(of: copy key)))
        } else if table == .links {
          _ = found.insert(try LinkKey(OverlayKey.key(of: copy key)).owner)
        }
      } catch {
        throw StoreError(.corrupted, "an entry of a branch has a malformed key; run `check` to see the extent")
      }
      return true
    }
    return found
  }
}

/// Looks up commits in a history, each once.
private final class MergeHistory {
  private let session: Session
  private var known: [UInt64: ObjectChange] = [:]

  init(_ session: consuming Session) {
    self.session = session
  }

  /// The author and the time of a commit; only its number if the history does not have it.
  func change(_ commit: UInt64) throws(StoreError) -> ObjectChange? {
    if let change = known[commit] { return change }
    var change = ObjectChange(commit: commit)
    if commit > 0 {
      try HistoryReader.forEachTransaction(after: commit - 1, in: session) { (number, header) throws(StoreError) in
        if number == commit {
          change = ObjectChange(
            commit: commit, author: header.author, date: Date(timeIntervalSinceReferenceDate: header.time))
        }
        return false
      }
    }
    known[commit] = change
    return change
  }
}

extension ObjectSet {
  fileprivate func filter(_ isWanted: (ObjectID) -> Bool) -> ObjectSet {
    var found = ObjectSet()
    forEach { id in
      if isWanted(id) { _ = found.insert(id) }
      return true
    }
    return found
  }
}
