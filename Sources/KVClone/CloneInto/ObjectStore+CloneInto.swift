public import KVCloneCore
public import KVCloneModel
import KVCloneRecords

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
    try runClone(roots, into: destination, options, CloneMonitor(progress: options.progress))
  }

  /// Clones objects and their subgraphs into another store from asynchronous code, on the writer thread of the
  /// destination.
  ///
  /// Cancelling the task ends the clone with `cancelled`, and nothing is written.
  @discardableResult
  public func clone(
    _ roots: [ObjectID], into destination: ObjectStore, options: CloneOptions = CloneOptions()
  ) async throws -> CloneResult {
    let cancellation = CloneMonitor(progress: options.progress)
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        destination.writerQueue.async {
          continuation.resume(
            with: Result { try self.runClone(roots, into: destination, options, cancellation) })
        }
      }
    } onCancel: {
      cancellation.cancel()
    }
  }

  /// Returns what a clone into another store would create there, and all errors, without writing (R35, R36). Affected
  /// objects belong to the destination.
  ///
  /// - Throws: ``StoreError`` if a store cannot be read; errors of ``CloneOptions/willClone``. Errors of the clone
  ///   itself are in ``ClonePlan/errors``.
  public func planClone(
    _ roots: [ObjectID], into destination: ObjectStore, options: CloneOptions = CloneOptions()
  ) throws -> ClonePlan {
    try checkCanClone(into: destination)
    let survey = try survey(roots, destination, options)
    return try destination.plan(survey) { reasons in
      _ = try runClone(
        roots, into: destination, options, CloneMonitor(progress: options.progress), dryRun: reasons)
    }
  }

  private func survey(_ roots: [ObjectID], _ destination: ObjectStore, _ options: CloneOptions) throws -> CloneSurvey {
    let source = try readSession()
    let reader = try destination.readSession()
    var refusal: CloneError?
    do {
      if let key = try CloneKey(roots, options, sourceStore: uuid), try key.result(in: reader) != nil {
        return CloneSurvey(repeatedIn: schema)
      }
    } catch let error as CloneError {
      refusal = error
    }
    let book = CloneRuleBook(
      schema: schema, options: options, rootEntities: try source.rootEntities(roots))
    var survey = CloneSurvey(book)
    try survey.find { survey in
      let context = try source.prepareCloneInto(
        destination.schema, roots, book, CloneMonitor(progress: options.progress))
      try survey.check(context, source, reader)
    }
    if let refusal, !survey.errors.contains(refusal) { survey.note(refusal) }
    return survey
  }

  private func checkCanClone(into destination: ObjectStore) throws(CloneError) {
    guard self === destination || path == destination.path else { return }
    throw CloneError(
      .invalidConfiguration,
      "the source store and the destination are the same; use clone(_:options:) within one store (R35)")
  }

  private func runClone(
    _ roots: [ObjectID], into destination: ObjectStore, _ options: CloneOptions, _ cancellation: CloneMonitor,
    dryRun reasons: PlanReasons? = nil
  ) throws -> CloneResult {
    try checkCanClone(into: destination)
    let key = try CloneKey(roots, options, sourceStore: uuid)
    return try onceMoreIfMapFull {
      let start = ContinuousClock.now
      if let key, let known = try key.result(in: destination.readSession()) { return known }
      // One read transaction from the mark to the commit: the source is one state, whatever is written meanwhile.
      let source = try readSession()
      let book = CloneRuleBook(schema: schema, options: options, rootEntities: try source.rootEntities(roots))
      if let error = book.errors.first { throw error }
      let context = try source.prepareCloneInto(destination.schema, roots, book, cancellation)
      // What belongs to the clone is settled; what the destination has to say is checked without its lock. If somebody
      // committed before the lock was ours, it is checked again, the last time under the lock.
      for attempt in 1...3 {
        var planned: UInt64?
        if attempt < 3 {
          let reader = try destination.readSession()
          planned = try reader.counter(MetadataKey.commitCounter)
          try context.check(source, reader)
        }
        if let result = try destination.write(context, planned: planned, source, roots, key, start, reasons) {
          return result
        }
      }
      throw CloneError(.cancelled, "the clone gave up after repeated write conflicts; retry")
    }
  }

  /// Writes into this store what was checked when its commit was `planned`, or checks it under the lock where that is
  /// nil. Nil where the check is not true any more.
  private func write(
    _ context: CloneIntoContext, planned: UInt64?, _ source: borrowing Session, _ roots: [ObjectID], _ key: CloneKey?,
    _ start: ContinuousClock.Instant, _ reasons: PlanReasons?
  ) throws -> CloneResult? {
    // While no transaction of this store's is open: its map can grow.
    if planned != nil { try engine.space?.makeRoom(for: context.byteCount) }
    let cancellation = context.cancellation
    try cancellation.check(.wait, 0, of: nil)
    let commits = planned == nil ? 0 : try makeFreedPagesUsable(for: context.byteCount, dryRun: reasons)
    var transaction = WriteTransaction(try cloneSession(dryRun: reasons))
    transaction.operation = "clone"
    let locked = ContinuousClock.now
    if let key, let known = try key.result(in: transaction.session) { return known }
    if let planned {
      // A writer who gave up meanwhile leaves the commit as it was, but not the serials.
      guard transaction.session.commit == planned + commits + 1, try context.hasFreeSerials(transaction.session) else {
        return nil
      }
    } else {
      try context.check(source, transaction.session)
    }
    var result: CloneResult
    do {
      let tally = try transaction.session.stream(source, context)
      result = try transaction.finish(
        context, tally, sourceCommit: try source.counter(MetadataKey.commitCounter), store: source.storeUUID, roots,
        key, start)
      try cancellation.check(.commit, 0, of: result.objectCount)
    } catch {
      // The hook may have shown ids to somebody: they are not given out again.
      noteSerials(of: transaction.session.changes, dryRun: reasons)
      throw error
    }
    let written = ContinuousClock.now
    try transaction.commit(self, dryRun: reasons)
    if planned != nil, context.book.options.didClone == nil, reasons == nil {
      clonePace.note(result, writing: written - locked, commit: ContinuousClock.now - written)
    }
    cancellation.report(.commit, result.objectCount, of: result.objectCount)
    result.duration = ContinuousClock.now - start
    return result
  }
}

extension CloneIntoContext {
  /// Everything that has to be right in the destination before the first byte is written (R1).
  ///
  /// - Throws: the first `CloneError` that stands in the way.
  func check(_ source: borrowing Session, _ destination: borrowing Session) throws {
    try place(in: destination)
    var planner = try CloneIntoPlanner(context: self, source)
    try planner.check(source, destination)
    if let error = planner.errors.first { throw error }
    blobs = planner.blobs
    byteCount = planner.tally.bytesWritten.saturatingAdd(planner.tally.bytesCopied)
  }
}
