public import KVCloneCore
public import KVCloneModel
import KVCloneRecords

extension ObjectStore {
  /// Clones objects and their subgraphs by the rules of the model, in a separate write transaction.
  ///
  /// The plan is created without the write lock. All rules are checked before the first byte is written (R1). If the
  /// map is too small, it grows before the clone, or after a first attempt, which is then repeated.
  ///
  /// - Parameters:
  ///   - roots: the objects to clone; at least one.
  ///   - options: rules, limits and hooks of this call.
  /// - Returns: the clones of the roots, with counts, bytes and duration.
  /// - Throws: ``CloneError`` if the plan finds an error; ``ValidationError``; `busy`; `diskFull` and `mapFull`, before
  ///   the first byte if the plan detects it; other file system errors as `io`. Nothing is written if it throws.
  @available(*, noasync, message: "use the asynchronous form")
  @discardableResult
  public func clone(_ roots: [ObjectID], options: CloneOptions = CloneOptions()) throws -> CloneResult {
    try CloneCall(roots, options, to: self).run()
  }

  /// Clones objects and their subgraphs from asynchronous code, on a thread of the store.
  ///
  /// Cancelling the task ends the clone with `cancelled`, and nothing is written.
  ///
  /// - Returns: the clones of the roots, with counts, bytes and duration.
  /// - Throws: ``CloneError``, ``ValidationError`` and ``StoreError``, as the synchronous form does.
  @discardableResult
  public func clone(_ roots: [ObjectID], options: CloneOptions = CloneOptions()) async throws -> CloneResult {
    try await CloneCall(roots, options, to: self).runOnWriterThread()
  }

  /// Clones one object with the parameters of MOCloner, and returns the clone (R27).
  ///
  /// The clone runs in a separate write transaction, so `saveBeforeReturn` must be true. Inside `write`, use
  /// ``WriteTransaction/clone(object:excludedRelationshipNames:passingExclusionList:saveBeforeReturn:config:)``.
  ///
  /// - Throws: `invalidConfiguration` if `saveBeforeReturn` is false; the errors of `clone(_:options:)`.
  @available(*, noasync, message: "use the asynchronous form of clone(_:options:)")
  @discardableResult
  public func clone(
    object: ObjectID, excludedRelationshipNames: [String] = [], passingExclusionList: Bool = false,
    saveBeforeReturn: Bool = true, config: CloneUserInfoKeys = .standard
  ) throws -> ObjectID {
    guard saveBeforeReturn else {
      throw CloneError(
        .invalidConfiguration, "a clone without saving needs a surrounding write transaction; call it inside write"
      )
    }
    return try clone(
      [object],
      options: CloneOptions(
        excludedRelationshipNames: excludedRelationshipNames, passingExclusionList: passingExclusionList, config: config
      )
    ).root
  }

  /// Returns what a clone would create, share and change, which rules apply, and all errors, without writing (R36).
  ///
  /// The plan reads one snapshot and waits for no writer. If the clone would almost fill the file or the disk, the
  /// plan runs it in a write transaction that is rolled back, because only this shows whether it fits. That
  /// transaction holds the write lock as long as the clone would. Hooks of the store are not called, so the plan does
  /// not contain their rejections.
  ///
  /// - Throws: ``StoreError`` if the store cannot be read; errors of ``CloneOptions/willClone``. Errors of the clone
  ///   itself are in ``ClonePlan/errors``.
  public func planClone(_ roots: [ObjectID], options: CloneOptions = CloneOptions()) throws -> ClonePlan {
    try CloneCall(roots, options, to: self).plan()
  }
}

extension CloneOptions {
  init(excludedRelationshipNames: [String], passingExclusionList: Bool, config: CloneUserInfoKeys) {
    self.init()
    self.excludedRelationshipNames = excludedRelationshipNames
    self.passingExclusionList = passingExclusionList
    userInfoKeys = config
  }
}
