import KVClone
import KVCloneBranches
import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// A branch, its store and their common base, as one transaction shows them.
struct BranchStates: MergeStates {
  /// The last commit that the states contain.
  let commit: UInt64
  let branch: ObjectStore
  private let store: ObjectStore
  private let name: String
  let tables: BranchTables
  private let record: BranchValue
  private let horizon: SnapshotHorizon
  private var direction: BranchMerge.Direction
  private let base: SessionMergeState
  private let ofStore: (now: SessionMergeState, changed: ObjectSet)
  private let ofBranch: (now: SessionMergeState, changed: ObjectSet)
  private let context: StoreContext
  private let schema: Schema
  private let views: (store: any StorageBackend, branch: any StorageBackend)

  /// - Throws: `branchNotFound`, `corrupted`; ``MergeError`` of the kind `draftInUse` if the base of the branch would
  ///   move while the branch has open drafts.
  init(
    _ store: ObjectStore, _ branch: ObjectStore, _ name: String, _ tables: BranchTables,
    _ direction: BranchMerge.Direction, engine: any StorageBackend, _ view: any StorageBackend
  ) throws {
    let schema = store.schema
    (self.store, self.branch, self.direction) = (store, branch, direction)
    (self.name, self.tables) = (name, tables)
    let storage = StorageTransaction(lookingInto: view)
    commit = try Metadata.counter(storage, schema.tables.metadata, MetadataKey.commitCounter)
    // Another branch can have got the name since.
    let record = try BranchRecords.existing(storage, tables, name, number: (branch.engine as? BranchEngine)?.number)
    let layer = record.present
    let horizon = try BranchRecords.horizon(of: layer, branch: name, storage, tables, schema.orderedLists)
    let snapshot = try Snapshots.existing(storage, schema.tables, layer.baseName, epoch: layer.baseEpoch)
    (self.record, self.horizon) = (record, horizon)
    // A transaction with a recorder is one that writes, and reads theirs while it changes the store.
    let isWritten = engine !== view
    let overlay = BranchBackend(engine, tables, name: name, record, horizon, isStoreWritten: isWritten)
    (context, self.schema, views) = (store.context, schema, (view, overlay))
    func session(_ backend: any StorageBackend) -> Session {
      store.context.session(StorageTransaction(lookingInto: backend), schema)
    }
    let changes = try SnapshotComparison.changes(in: layer.baseEpoch..<(.max), snapshot, session(view))
    var changed = changes.objects
    let inserted = try ObjectSet.inserted(since: horizon, in: session(view))
    for set in [inserted, try inserted.referenced(in: session(view))] {
      set.forEach { id in
        _ = changed.insert(id)
        return true
      }
    }
    let own = try Self.objects(changedIn: layer.code, tables, storage)
    // What the branch deleted before its base moved is still missing on it.
    let histories = (store: MergeHistory(session(view), since: snapshot.commit), branch: MergeHistory(session(overlay)))
    base = SessionMergeState(
      session(SnapshotBackend(engine, preimages: schema.tables.preimages, horizon, isWritten: isWritten)))
    ofStore = (SessionMergeState(session(view), history: histories.store), changed)
    ofBranch = (SessionMergeState(session(overlay), history: histories.branch), own)
    if isMoving { try Self.refuseOpenDrafts(of: name, in: session(overlay)) }
  }

  /// Refuses to replace the layer of a branch that has the bases of open drafts (P2): nothing could be merged back
  /// afterwards, and a publish would take the clones along as ordinary objects.
  private static func refuseOpenDrafts(of name: String, in branch: borrowing Session) throws {
    var drafts: [String] = []
    for base in try CloneBase.all(in: branch) where !base.isExpired() {
      for copy in try base.openCopies(in: branch) { drafts.append(try branch.name(of: base.roots[copy][0])) }
    }
    guard let first = drafts.first else { return }
    let shown = drafts.prefix(3).joined(separator: ", ") + (drafts.count > 3 ? " and others" : "")
    throw MergeError(
      .draftInUse,
      "the branch \(name) has open drafts with the clones \(shown); merge the drafts on the branch, or delete their "
        + "clones, before its base moves", object: first)
  }

  /// The same states for a merge in one direction.
  func directed(_ direction: BranchMerge.Direction) -> BranchStates {
    var states = self
    states.direction = direction
    return states
  }

  /// The states that a write transaction of the store shows now.
  func refreshed(in storage: borrowing StorageTransaction) throws -> BranchStates {
    let view = storage.backend
    return try BranchStates(
      store, branch, name, tables, direction, engine: storage.recorder?.inner ?? view, view)
  }

  var sides: (ours: MergeSideStates, theirs: MergeSideStates) {
    let store = MergeSideStates(base: base, now: ofStore.now, changed: ofStore.changed)
    let branch = MergeSideStates(base: base, now: ofBranch.now, changed: ofBranch.changed)
    return direction == .publish ? (store, branch) : (branch, store)
  }

  /// A session on theirs, which must not outlive the transaction.
  var theirs: Session {
    context.session(StorageTransaction(lookingInto: direction == .publish ? views.branch : views.store), schema)
  }

  var target: ObjectStore { direction == .publish ? store : branch }

  var scratch: any StorageBackend {
    let scratch = ScratchBackend(views.store, tables.all)
    return direction == .publish ? scratch : BranchBackend(scratch, tables, name: name, record, horizon)
  }

  /// All objects that either side changed since the base, and those that the branch has changed in a transaction.
  func allChanged(with storage: borrowing StorageTransaction) throws(StoreError) -> ObjectSet {
    var all = try Self.objects(changedIn: record.present.code, tables, storage)
    ofStore.changed.forEach { id in
      _ = all.insert(id)
      return true
    }
    return all
  }

  /// Whether a merge moves anything, be it only a base.
  var isMoving: Bool { !ofStore.changed.isEmpty || direction == .publish && !ofBranch.changed.isEmpty }

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
