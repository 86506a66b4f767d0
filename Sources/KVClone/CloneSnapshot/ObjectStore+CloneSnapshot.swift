public import KVCloneCore
public import KVCloneModel
import KVCloneRecords

/// Clones from snapshots: the source is what a snapshot shows, the destination the same store as it is now.
///
/// They go the way of clones into another store, from one session to another one. What is different there, the `CloneBridge` says:
/// an object that is not cloned stands for itself, and large values are shared.
extension ObjectStore {
  /// Clones objects and their subgraphs from a snapshot, in a separate write transaction.
  ///
  /// The clones restore, under new ids, the objects that the snapshot shows. The store may have changed or deleted the
  /// objects since. The clone rules are those of the store's current model. The snapshot decides which objects belong
  /// to the clone, and their values, lists and order. Everything outside the clone is the current state of the store:
  ///
  /// - A link to an object that is not cloned leads to the same object, and its inverse gains the clone. If that object
  ///   no longer exists, the link is left out. If the model requires the link, the clone fails with
  ///   `requiredRelationshipExcluded`.
  /// - Maximum counts, occupied to-one inverses and uniqueness constraints are checked against the current state.
  /// - Blobs are shared, including blobs that only snapshots reference. Their bytes stay when the snapshot is deleted.
  ///
  /// - Returns: the clones of the roots, with counts, bytes and duration.
  /// - Throws: ``CloneError`` if the plan finds an error, `objectNotFound` if the snapshot does not show a root;
  ///   `snapshotNotFound`; ``ValidationError``; `busy`, `diskFull`, `mapFull`. Nothing is written if it throws.
  @available(*, noasync, message: "use the asynchronous form")
  @discardableResult
  public func clone(_ roots: [ObjectID], from snapshot: Snapshot, options: CloneOptions = CloneOptions()) throws
    -> CloneResult
  {
    try runClone(roots, from: snapshot, options, CloneMonitor(progress: options.progress))
  }

  /// Clones objects and their subgraphs from a snapshot, from asynchronous code, on a thread of the store.
  ///
  /// Cancelling the task ends the clone with `cancelled`, and nothing is written.
  @discardableResult
  public func clone(_ roots: [ObjectID], from snapshot: Snapshot, options: CloneOptions = CloneOptions()) async throws
    -> CloneResult
  {
    let cancellation = CloneMonitor(progress: options.progress)
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        writerQueue.async {
          continuation.resume(with: Result { try self.runClone(roots, from: snapshot, options, cancellation) })
        }
      }
    } onCancel: {
      cancellation.cancel()
    }
  }

  /// Returns what a clone from a snapshot would create, share and change in the current state, and all errors, without
  /// writing (R36).
  ///
  /// - Throws: `snapshotNotFound`; ``StoreError`` if the store cannot be read; errors of ``CloneOptions/willClone``.
  ///   Errors of the clone itself are in ``ClonePlan/errors``.
  public func planClone(_ roots: [ObjectID], from snapshot: Snapshot, options: CloneOptions = CloneOptions()) throws
    -> ClonePlan
  {
    try checkOwns(snapshot)
    let survey = try survey(roots, snapshot, options)
    return try plan(survey) { reasons in
      _ = try runClone(roots, from: snapshot, options, CloneMonitor(progress: options.progress), dryRun: reasons)
    }
  }

  private func survey(_ roots: [ObjectID], _ snapshot: Snapshot, _ options: CloneOptions) throws -> CloneSurvey {
    let source = try cloneSource(snapshot)
    let reader = try readSession()
    var refusal: CloneError?
    do {
      if let key = try CloneKey(roots, options, epoch: snapshot.info.epoch), try key.result(in: reader) != nil {
        return CloneSurvey(repeatedIn: schema)
      }
    } catch let error as CloneError {
      refusal = error
    }
    let book = schema.cloneRules.book(
      schema, options, rootEntities: try source.rootEntities(roots, shownBy: snapshot))
    var survey = CloneSurvey(book)
    try survey.find { survey in
      let context = try source.prepareClone(
        from: snapshot, roots, book, CloneMonitor(progress: options.progress))
      try survey.check(context, source, reader)
    }
    if let refusal, !survey.errors.contains(refusal) { survey.note(refusal) }
    return survey
  }

  private func checkOwns(_ snapshot: Snapshot) throws(CloneError) {
    guard snapshot.store === self else { throw Self.foreignSnapshot(snapshot) }
  }

  static func foreignSnapshot(_ snapshot: Snapshot) -> CloneError {
    CloneError(
      .invalidConfiguration,
      "the snapshot \(snapshot.name) belongs to another store; clone within the store that created it")
  }

  /// A transaction that sees what the snapshot shows, by the store's present model: its rules are those that count.
  func cloneSource(_ snapshot: Snapshot) throws(StoreError) -> Session {
    try snapshotSession(snapshot.name, epoch: snapshot.info.epoch, byPresentModel: true)
  }

  private func runClone(
    _ roots: [ObjectID], from snapshot: Snapshot, _ options: CloneOptions, _ cancellation: CloneMonitor,
    dryRun reasons: PlanReasons? = nil
  ) throws -> CloneResult {
    try checkOwns(snapshot)
    let key = try CloneKey(roots, options, epoch: snapshot.info.epoch)
    return try onceMoreIfMapFull {
      let start = ContinuousClock.now
      // A call that is made again needs no snapshot any more.
      if let key, let known = try key.result(in: readSession()) { return known }
      // As within the store: planned without the lock, and again if somebody committed before the lock was ours; the last
      // time under the lock.
      for attempt in 1...3 {
        let planned = attempt < 3 ? try prepareClone(roots, from: snapshot, options, cancellation) : nil
        if let result = try write(planned, roots, snapshot, options, key, cancellation, start, reasons) {
          return result
        }
      }
      throw CloneError(.cancelled, "the clone gave up after repeated write conflicts; retry")
    }
  }

  private struct PreparedClone {
    let commit: UInt64
    let context: CloneIntoContext
  }

  private func prepareClone(
    _ roots: [ObjectID], from snapshot: Snapshot, _ options: CloneOptions, _ cancellation: CloneMonitor
  ) throws -> PreparedClone {
    // A snapshot shows the same to whoever begins to read it; of what the store has now the later transaction decides.
    let source = try cloneSource(snapshot)
    let context = try source.prepareClone(from: snapshot, roots, options, cancellation)
    let reader = try readSession()
    try context.check(source, reader)
    return PreparedClone(commit: try reader.counter(MetadataKey.commitCounter), context: context)
  }

  /// Writes what was planned, or, without a plan, plans under the lock. Nil where the plan is not true any more.
  private func write(
    _ planned: PreparedClone?, _ roots: [ObjectID], _ snapshot: Snapshot, _ options: CloneOptions, _ key: CloneKey?,
    _ cancellation: CloneMonitor, _ start: ContinuousClock.Instant, _ reasons: PlanReasons?
  ) throws -> CloneResult? {
    // While no transaction of ours is open: the map can grow.
    if let planned { try engine.space?.makeRoom(for: planned.context.byteCount) }
    try cancellation.check(.wait, 0, of: nil)
    let commits = try planned.map { try makeFreedPagesUsable(for: $0.context.byteCount, dryRun: reasons) } ?? 0
    var transaction = WriteTransaction(try cloneSession(dryRun: reasons))
    transaction.operation = "clone"
    let locked = ContinuousClock.now
    if let key, let known = try key.result(in: transaction.session) { return known }
    // Begun after the write transaction, so both are of one state: nobody has deleted the snapshot, with the bytes of the
    // large values that it alone shows, in the one and not in the other.
    let source = try cloneSource(snapshot)
    let context: CloneIntoContext
    if let planned {
      // A writer who gave up meanwhile leaves the commit as it was, but not the serials.
      context = planned.context
      guard transaction.session.commit == planned.commit + commits + 1,
        try context.hasFreeSerials(transaction.session)
      else { return nil }
    } else {
      context = try source.prepareClone(from: snapshot, roots, options, cancellation)
      try context.check(source, transaction.session)
    }
    var result: CloneResult
    do {
      result = try transaction.runClone(context, source, snapshot, roots, key, start)
      try cancellation.check(.commit, 0, of: result.objectCount)
    } catch {
      // The hook may have shown ids to somebody: they are not given out again.
      noteSerials(of: transaction.session.changes, dryRun: reasons)
      throw error
    }
    let written = ContinuousClock.now
    try transaction.commit(self, dryRun: reasons)
    if planned != nil, options.didClone == nil, reasons == nil {
      clonePace.note(result, writing: written - locked, commit: ContinuousClock.now - written)
    }
    cancellation.report(.commit, result.objectCount, of: result.objectCount)
    result.duration = ContinuousClock.now - start
    return result
  }
}

extension Session {
  /// Finds what belongs to a clone of what a snapshot shows, which this session sees.
  ///
  /// - Throws: the first `CloneError` that stands in the way of finding it; `StoreError`.
  borrowing func prepareClone(
    from snapshot: Snapshot, _ roots: [ObjectID], _ options: CloneOptions, _ cancellation: CloneMonitor
  ) throws -> CloneIntoContext {
    let book = schema.cloneRules.book(schema, options, rootEntities: try rootEntities(roots, shownBy: snapshot))
    if let error = book.errors.first { throw error }
    return try prepareClone(from: snapshot, roots, book, cancellation)
  }

  /// The concrete entities of the roots, by the store's present model.
  ///
  /// - Throws: `unknownEntity` for objects of an entity that only the snapshot's own model has.
  fileprivate borrowing func rootEntities(
    _ roots: [ObjectID], shownBy snapshot: Snapshot
  ) throws -> [CompiledEntity] {
    let own = try snapshot.store.snapshotSession(snapshot.name, epoch: snapshot.info.epoch)
    if own.schema.catalogNumber != schema.catalogNumber {
      for root in roots where try own.exists(root) {
        let entity = try own.entity(of: root)
        if schema.entity(code: entity.code) != nil { continue }
        throw CloneError(
          .unknownEntity,
          """
          the entity of \(entity.name)/\(root.serial) of the snapshot \(snapshot.name) exists only in the snapshot's \
          model, version “\(own.schema.model.versionIdentifier)”, not in the store's model, version \
          “\(schema.model.versionIdentifier)”; dump the object from the snapshot
          """, entity: entity.name, object: "\(entity.name)/\(root.serial)")
      }
    }
    return try rootEntities(roots)
  }

  fileprivate borrowing func prepareClone(
    from snapshot: Snapshot, _ roots: [ObjectID], _ book: CloneRuleBook, _ cancellation: CloneMonitor
  ) throws -> CloneIntoContext {
    _ = try Snapshots.existing(storage, schema.tables, snapshot.name, epoch: snapshot.info.epoch)
    return try prepareClone(
      across: CloneBridge(source: schema, destination: schema, isWithinStore: true), roots, book, cancellation)
  }
}
