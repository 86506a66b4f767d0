#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import KVClone
import KVCloneBranches
import KVCloneCore
import KVCloneLMDB
import KVCloneModel
import KVCloneRecords

/// The clones of one copy and their sources, as one transaction shows them (P2).
struct DraftStates: MergeStates {
  /// The last commit that the states contain.
  let commit: UInt64
  let target: ObjectStore
  let base: CloneBase
  /// The number of the copy.
  let copy: Int
  /// The source of each clone of the copy, also of deleted ones.
  let sources: ObjectMap
  /// The clone of each source of the copy.
  let clones: ObjectMap
  let sides: (ours: MergeSideStates, theirs: MergeSideStates)
  /// The objects that were inserted since the base.
  let inserted: ObjectSet
  /// The present state with the clones.
  let present: SessionMergeState
  private let space: ScratchSpace
  private let context: StoreContext
  private let schema: Schema
  private let view: any StorageBackend
  private let past: SnapshotBackend
  private let tables: [StorageTable]

  /// - Parameters:
  ///   - id: a clone of the copy.
  ///   - tables: the tables of branches.
  /// - Throws: ``MergeError`` of the kinds `notRelated`, `baseExpired`, `rootDeleted`, `incompatibleModel`.
  init(
    _ store: ObjectStore, _ id: ObjectID, _ tables: [StorageTable], engine: any StorageBackend,
    _ view: any StorageBackend
  ) throws {
    let schema = store.schema
    self.tables = tables
    func session(_ backend: any StorageBackend) -> Session {
      store.context.session(StorageTransaction(lookingInto: backend), schema)
    }
    let now = session(view)
    commit = try now.counter(MetadataKey.commitCounter)
    (target, context, self.schema, self.view) = (store, store.context, schema, view)
    let (base, copy) = try Self.base(of: id, in: now)
    let horizon = SnapshotHorizon(base.value, schema.orderedLists)
    try Self.requireSameModel(base, store, now, id)
    let past = SnapshotBackend(engine, preimages: schema.tables.preimages, horizon, isWritten: engine !== view)
    self.past = past
    // The clones of other copies stay, so they are ordinary objects.
    space = ScratchSpace(directory: store.context.scratchDirectory())
    let (own, clones) = (ObjectMap(in: space), ObjectMap(in: space))
    try base.forEachClone(in: session(past)) { (clone, entry) throws(StoreError) in
      if entry.draft.map({ Int($0.copy) }) == copy {
        try own.set(clone, to: entry.source)
        try clones.set(entry.source, to: clone)
      }
      return true
    }
    for root in base.roots[copy] where try !now.exists(root) {
      let source = own[root].map { schema.rootName(of: $0) }
      throw MergeError(
        .rootDeleted,
        "the clone of the root \(source ?? "") was deleted, which discards the draft; delete its other clones, or "
          + "restore the root by a rollback",
        object: source)
    }
    let changes = try SnapshotComparison.changes(in: base.value.epoch..<(.max), base.value, now)
    let inserted = try ObjectSet.inserted(since: horizon, in: now)
    var (ofSources, ofClones) = (ObjectSet(), ObjectSet())
    for set in [changes.objects, inserted, try inserted.referenced(in: now)] {
      set.forEach { changed in
        if let source = own[changed] {
          _ = ofClones.insert(source)
        } else {
          _ = ofSources.insert(changed)
          _ = ofClones.insert(changed)
        }
        return true
      }
    }
    present = SessionMergeState(session(view), history: MergeHistory(session(view), since: base.value.commit))
    let then = SessionMergeState(session(past))
    sides = (
      MergeSideStates(
        base: SourcesMergeState(then, sources: own, clones: clones),
        now: SourcesMergeState(present, sources: own, clones: clones), changed: ofSources),
      MergeSideStates(
        base: ClonesMergeState(then, sources: own, clones: clones),
        now: ClonesMergeState(present, base: then, sources: own, clones: clones), changed: ofClones)
    )
    self.clones = clones
    sources = own
    self.base = base
    self.copy = copy
    self.inserted = inserted
  }

  /// Returns the role of the clones in the rules of the model after the merge.
  func remainder(keepsClones: Bool) throws -> CloneRemainder {
    // Kept clones are only looked for among the holders of unique values, which exist.
    let clones = keepsClones ? sources.keys : try presentClones()
    return try CloneRemainder(of: clones, sources, in: present, keepsClones: keepsClones, space)
  }

  var scratch: any StorageBackend { ScratchBackend(view, tables) }

  /// A session on the state before the merge, which must not outlive the transaction.
  var session: Session { context.session(StorageTransaction(lookingInto: view), schema) }

  /// A session on the base, which must not outlive the transaction.
  var baseSession: Session { context.session(StorageTransaction(lookingInto: past), schema) }

  /// The clones of the copy that exist, except some.
  func presentClones(besides excluded: ObjectSet = ObjectSet()) throws(StoreError) -> ObjectSet {
    var found = ObjectSet()
    try sources.keys.forEach { (clone) throws(StoreError) in
      if !excluded.contains(clone), try present.entity(of: clone) != nil { _ = found.insert(clone) }
      return true
    }
    return found
  }

  private static func base(of id: ObjectID, in session: borrowing Session) throws -> (CloneBase, copy: Int) {
    let name = try session.name(of: id)
    func notRelated() -> MergeError {
      MergeError(
        .notRelated, "\(name) is no clone with a base; clone with keepsBase to be able to merge back", object: name)
    }
    guard let draft = try CloneBase.draft(of: id, in: session)?.draft else { throw notRelated() }
    let copy = Int(draft.copy)
    guard let base = try CloneBase.find(draft.base, in: session), copy < base.roots.count else {
      throw MergeError(
        .baseExpired,
        "the base of the draft of \(name) is not here: it was deleted, or the draft was cloned in the store or on "
          + "another branch; merge it there, or copy its changes by hand", object: name)
    }
    if base.isExpired() {
      throw MergeError(
        .baseExpired,
        "the draft of \(name) is expired and cannot be merged; copy its changes by hand, or delete its clones",
        object: name)
    }
    if try base.state(ofCopy: copy, in: session) == .released { throw notRelated() }
    return (base, copy)
  }

  /// The properties are matched by code (P2).
  private static func requireSameModel(
    _ base: CloneBase, _ store: ObjectStore, _ session: borrowing Session, _ clone: ObjectID
  ) throws {
    if try base.isOfSameModel(in: store, session) { return }
    let name = try session.name(of: clone)
    throw MergeError(
      .incompatibleModel,
      "the store was migrated since \(name) was cloned, and objects have other ids; copy the draft's changes by hand",
      object: name)
  }
}

extension CloneBase {
  /// Whether the objects of the base have the same ids in the present model.
  func isOfSameModel(in store: ObjectStore, _ session: borrowing Session) throws(StoreError) -> Bool {
    Set(try schema(in: store, session).rootCodes).isSubset(of: Set(store.schema.rootCodes))
  }
}

extension ObjectSet {
  /// The objects that were inserted since a snapshot.
  static func inserted(since horizon: SnapshotHorizon, in session: borrowing Session) throws(StoreError) -> ObjectSet {
    var found = ObjectSet()
    let schema = session.schema
    for rootCode in schema.rootCodes {
      guard let table = schema.objectTable(rootCode: rootCode) else { continue }
      let first = ShortKey.object(horizon.firstLater(rootCode: rootCode))
      try session.storage.scanToEnd(of: table, from: first.bytes) { (key, _) throws(StoreError) in
        _ = found.insert(try schema.objectID(key))
        return true
      }
    }
    return found
  }

  /// The objects that these refer to without an inverse. This link of a new object changes nothing of its target but a
  /// list of referrers, of which an earlier snapshot may see nothing.
  func referenced(in session: borrowing Session) throws(StoreError) -> ObjectSet {
    var found = ObjectSet()
    let roots = session.schema.entities.filter { $0.relationships.contains { !$0.hasInverse } }.map(\.rootCode)
    var windows = ReadWindows(session.storage)
    for rootCode in Set(roots).sorted() {
      var next = set(rootCode: rootCode)?.next(from: 0)
      while let serial = next {
        next = set(rootCode: rootCode)?.next(from: serial + 1)
        windows.next()
        let id = ObjectID(rootCode: rootCode, serial: serial)
        for relationship in try session.entity(of: id).relationships where !relationship.hasInverse {
          for target in try session.members(id, relationship) { _ = found.insert(target) }
        }
      }
    }
    return found
  }
}
