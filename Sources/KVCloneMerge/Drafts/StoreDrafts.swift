#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
package import KVClone
public import KVCloneCore
public import KVCloneModel
import KVCloneRecords

/// The drafts of a store or a branch: clones with ``CloneOptions/keepsBase``, which are edited and merged back into
/// their sources.
///
/// ```swift
/// var options = CloneOptions()
/// options.keepsBase = true
/// let draft = try store.clone([article], options: options).root
/// try store.write { tx in try tx.set(draft, "title", "New title") }
/// try store.drafts.merge(draft)
/// ```
public struct StoreDrafts: Sendable {
  private let store: ObjectStore

  init(_ store: ObjectStore) { self.store = store }

  /// Returns the descriptions of all drafts, in the order of creation. Expired ones are included until their base is
  /// deleted.
  ///
  /// The duration depends on the changes of the store since the oldest draft.
  ///
  /// - Throws: `corrupted`.
  public func list() throws -> [DraftInfo] {
    let session = try store.readSession()
    var found: [DraftInfo] = []
    for base in try CloneBase.all(in: session) {
      let isMigrated = try !base.isOfSameModel(in: store, session)
      found += try DraftListing(base, in: store, session).drafts(isMigrated: isMigrated)
    }
    return found
  }

  /// Returns whether an object is a clone of a draft that can be merged.
  ///
  /// - Throws: `objectNotFound`.
  public func isDraft(_ id: ObjectID) throws -> Bool {
    let session = try store.readSession()
    guard try session.exists(id) else { throw session.schema.notFound(id) }
    guard let draft = try CloneBase.draft(of: id, in: session)?.draft,
      let base = try CloneBase.find(draft.base, in: session), !base.isExpired(), draft.copy < base.roots.count
    else { return false }
    return try base.state(ofCopy: Int(draft.copy), in: session) == .open
  }

  /// Returns the state in which a draft was cloned; nil for an object that is no clone with a base.
  package func base(of clone: ObjectID) throws(StoreError) -> Snapshot? {
    let session = try store.readSession()
    guard let draft = try CloneBase.draft(of: clone, in: session)?.draft,
      let base = try CloneBase.find(draft.base, in: session)
    else { return nil }
    return Snapshot(SnapshotInfo(base.name, base.value, modelVersion: session.schema.model.versionIdentifier), store)
  }

  /// Plans to merge a draft into its sources, without the write lock.
  ///
  /// If the merge may not fit into the file or on the disk, the plan runs it under the write lock, with its hooks, and
  /// rolls it back.
  ///
  /// - Parameters:
  ///   - clone: any clone of the draft.
  ///   - options: the treatment of conflicts.
  /// - Throws: `objectNotFound`; ``MergeError`` of the kinds `notRelated`, `baseExpired`, `rootDeleted`, `draftInUse`,
  ///   `incompatibleModel`, `idempotencyKeyReused`, and for rules and answers that cannot be used;
  ///   `invalidConfiguration` for an idempotency key that is empty or too long; `busy` and `nestedWrite` if the plan
  ///   needs the write lock and does not get it.
  public func planMerge(_ clone: ObjectID, options: MergeOptions = MergeOptions()) throws -> MergePlan {
    try MergeCall(DraftMerge(store, clone), options).plan()
  }

  /// Merges a draft into its sources, in one transaction. Afterwards its clones are deleted, or with
  /// ``MergeOptions/keepsClones`` are ordinary objects (P7).
  ///
  /// - Throws: ``MergeError`` if there are conflicts without an answer, answers that no longer fit, or violated rules
  ///   of the model, and of the kinds `limitExceeded` and `cancelled`; the errors of ``planMerge(_:options:)``, of
  ///   hooks and of ``MergeOptions/resolve``; `busy`, `diskFull` and other errors of a write transaction. Nothing is
  ///   merged then.
  @available(*, noasync, message: "use the asynchronous form")
  @discardableResult
  public func merge(_ clone: ObjectID, options: MergeOptions = MergeOptions()) throws -> MergeResult {
    try MergeCall(DraftMerge(store, clone), options).run()
  }

  /// Merges a draft from asynchronous code. Cancelling the task cancels the merge.
  @discardableResult
  public func merge(_ clone: ObjectID, options: MergeOptions = MergeOptions()) async throws -> MergeResult {
    try await MergeCall(DraftMerge(store, clone), options).runOnWriterThread()
  }
}

extension ObjectStore {
  /// The drafts of the store: clones that can be merged into their sources.
  public var drafts: StoreDrafts { StoreDrafts(self) }
}
