public import KVCloneCore
public import KVCloneModel

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// Clones objects, and creates snapshots, as part of a write transaction.
extension WriteTransaction {
  /// Clones objects and their subgraphs in this transaction. Objects that the transaction inserted or changed are
  /// cloned in their current state.
  ///
  /// - Returns: the clones of the roots, with counts, bytes and duration.
  /// - Throws: ``CloneError``. After an error, the transaction is abort-only (R1).
  @discardableResult
  public mutating func clone(_ roots: [ObjectID], options: CloneOptions = CloneOptions()) throws -> CloneResult {
    try CloneOrigin.transaction.clone(roots, options, in: &self)
  }

  /// Clones one object with the parameters of MOCloner in this transaction, and returns the clone (R27).
  ///
  /// `saveBeforeReturn` has no effect: the transaction itself commits.
  ///
  /// - Throws: ``CloneError``. After an error, the transaction is abort-only (R1).
  @discardableResult
  public mutating func clone(
    object: ObjectID, excludedRelationshipNames: [String] = [], passingExclusionList: Bool = false,
    saveBeforeReturn: Bool = true, config: CloneUserInfoKeys = .standard
  ) throws -> ObjectID {
    try clone(
      [object],
      options: CloneOptions(
        excludedRelationshipNames: excludedRelationshipNames, passingExclusionList: passingExclusionList, config: config
      )
    ).root
  }

  /// Clones objects and their subgraphs from a snapshot in this transaction; see <doc:DeepClone>.
  ///
  /// Objects outside the clone are in the state of this transaction. The snapshot must exist since before the
  /// transaction began, and the transaction must not have deleted it.
  ///
  /// - Returns: the clones of the roots, with counts, bytes and duration.
  /// - Throws: ``CloneError``, `snapshotNotFound`. After an error, the transaction is abort-only (R1).
  @discardableResult
  public mutating func clone(
    _ roots: [ObjectID], from snapshot: Snapshot, options: CloneOptions = CloneOptions()
  ) throws -> CloneResult {
    try CloneOrigin.snapshot(snapshot).clone(roots, options, in: &self)
  }

  /// Creates a named snapshot of the current state of this transaction; see
  /// `ObjectStore.createSnapshot(named:expiresAt:userInfo:)`.
  ///
  /// It contains the earlier changes of the transaction, but not the later ones. The rules of the model are validated
  /// at the commit, and only for the final state.
  ///
  /// - Throws: `invalidSnapshotName`, `snapshotExists` and other ``StoreError``.
  @discardableResult
  public mutating func createSnapshot(
    named name: String, expiresAt expires: Date? = nil, userInfo: [String: String] = [:]
  ) throws(StoreError) -> SnapshotInfo {
    try SnapshotManager.change(in: &self) { (snapshots) throws(StoreError) in
      try snapshots.create(name, expires: expires, userInfo: userInfo, isAutomatic: false).info
    }
  }

  // MARK: Typed objects

  /// Clones an object and its subgraph by the clone rules.
  ///
  /// ```swift
  /// let copy = try tx.clone(list)  // TodoList.ID
  /// ```
  ///
  /// - Returns: the id of the clone; of the first copy if ``CloneOptions/count`` is above 1.
  /// - Throws: ``CloneError``, ``StoreError``. After an error, the transaction is abort-only (R1).
  @discardableResult
  public mutating func clone<Object: EntityObject>(_ object: Object, options: CloneOptions = CloneOptions()) throws
    -> TypedObjectID<Object>
  {
    try clone(object.objectID, options: options)
  }

  /// Clones the object with an id; otherwise like the form that takes the object.
  @discardableResult
  public mutating func clone<Object>(_ id: TypedObjectID<Object>, options: CloneOptions = CloneOptions()) throws
    -> TypedObjectID<Object>
  {
    TypedObjectID(try clone([id.objectID], options: options).root)
  }

  /// Clones several objects and their subgraphs at once. Objects that the subgraphs share are cloned once.
  ///
  /// - Returns: the clone of each root, with counts and bytes.
  /// - Throws: ``CloneError``; the transaction is abort-only after it (R1).
  @discardableResult
  public mutating func clone<Object>(_ ids: [TypedObjectID<Object>], options: CloneOptions = CloneOptions()) throws
    -> TypedCloneResult<Object>
  {
    TypedCloneResult(try clone(ids.map(\.objectID), options: options))
  }

  /// Clones an object and its subgraph as a snapshot shows them.
  ///
  /// - Returns: the id of the clone; with ``CloneOptions/count`` above 1, of the first one.
  /// - Throws: ``CloneError``; the transaction is abort-only after it (R1). `snapshotNotFound`.
  @discardableResult
  public mutating func clone<Object>(
    _ id: TypedObjectID<Object>, from snapshot: Snapshot, options: CloneOptions = CloneOptions()
  ) throws -> TypedObjectID<Object> {
    TypedObjectID(try clone([id.objectID], from: snapshot, options: options).root)
  }

  /// Clones the object with an id; otherwise like the form that takes the object.
  @discardableResult
  public mutating func clone(_ id: ObjectID, options: CloneOptions = CloneOptions()) throws -> ObjectID {
    try clone([id], options: options).root
  }
}
