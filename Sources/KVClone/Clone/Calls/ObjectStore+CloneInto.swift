public import KVCloneCore
public import KVCloneModel

extension ObjectStore {
  /// Clones objects and their subgraphs into another store, in a separate write transaction of `destination` (R35).
  ///
  /// The rules, the model and the state are those of this store. This store is only read.
  ///
  /// For every entity of the clones, the model of the destination must have an entity of the same name, with the
  /// attributes and relationships of this one under the same names and types. Links never cross stores. A link to an
  /// object that is not cloned leads to the object of the destination that has the same values under a uniqueness
  /// constraint; ``CloneOptions/outsideObjects-swift.property`` selects another treatment. Each blob is written once,
  /// even if several clones reference it.
  ///
  /// - Returns: the clones of the roots, as objects of the destination. Affected objects belong to the destination too.
  /// - Throws: ``CloneError`` if the plan finds an error, such as `incompatibleModel` and `outsideObjectUnmatched`, and
  ///   `invalidConfiguration` if both stores are the same; ``ValidationError`` for the model of the destination;
  ///   `busy`, `diskFull`, `mapFull` of the destination. Nothing is written if it throws.
  @available(*, noasync, message: "use the asynchronous form")
  @discardableResult
  public func clone(
    _ roots: [ObjectID], into destination: ObjectStore, options: CloneOptions = CloneOptions()
  ) throws -> CloneResult {
    try CloneCall(roots, options, from: .store(self), to: destination).run()
  }

  /// Clones objects and their subgraphs into another store from asynchronous code, on the writer thread of the
  /// destination.
  ///
  /// Cancelling the task ends the clone with `cancelled`, and nothing is written.
  @discardableResult
  public func clone(
    _ roots: [ObjectID], into destination: ObjectStore, options: CloneOptions = CloneOptions()
  ) async throws -> CloneResult {
    try await CloneCall(roots, options, from: .store(self), to: destination).runOnWriterThread()
  }

  /// Returns what a clone into another store would create there, and all errors, without writing (R35, R36). Affected
  /// objects belong to the destination.
  ///
  /// - Throws: ``StoreError`` if a store cannot be read; errors of ``CloneOptions/willClone``. Errors of the clone
  ///   itself are in ``ClonePlan/errors``.
  public func planClone(
    _ roots: [ObjectID], into destination: ObjectStore, options: CloneOptions = CloneOptions()
  ) throws -> ClonePlan {
    try CloneCall(roots, options, from: .store(self), to: destination).plan()
  }
}
