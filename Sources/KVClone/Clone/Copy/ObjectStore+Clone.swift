#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
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
    try runClone(roots, options, CloneMonitor(progress: options.progress))
  }

  /// Clones objects and their subgraphs from asynchronous code, on a thread of the store.
  ///
  /// Cancelling the task ends the clone with `cancelled`, and nothing is written.
  ///
  /// - Returns: the clones of the roots, with counts, bytes and duration.
  /// - Throws: ``CloneError``, ``ValidationError`` and ``StoreError``, as the synchronous form does.
  @discardableResult
  public func clone(_ roots: [ObjectID], options: CloneOptions = CloneOptions()) async throws -> CloneResult {
    let cancellation = CloneMonitor(progress: options.progress)
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        writerQueue.async {
          continuation.resume(with: Result { try self.runClone(roots, options, cancellation) })
        }
      }
    } onCancel: {
      cancellation.cancel()
    }
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
    let survey = try survey(roots, options)
    return try plan(survey) { reasons in
      _ = try runClone(roots, options, CloneMonitor(progress: options.progress), dryRun: reasons)
    }
  }

  private func survey(_ roots: [ObjectID], _ options: CloneOptions) throws -> CloneSurvey {
    let session = try readSession()
    var refusal: CloneError?
    do {
      if let key = try CloneKey(roots, options), try key.result(in: session) != nil {
        return CloneSurvey(repeatedIn: schema)
      }
    } catch let error as CloneError {
      refusal = error
    }
    var survey = try session.survey(roots, options)
    if let refusal, !survey.errors.contains(refusal) { survey.note(refusal) }
    return survey
  }

  func runClone(
    _ roots: [ObjectID], _ options: CloneOptions, _ cancellation: CloneMonitor, dryRun reasons: PlanReasons? = nil
  ) throws -> CloneResult {
    let key = try CloneKey(roots, options)
    return try onceMoreIfMapFull {
      let start = ContinuousClock.now
      // The plan is made without the lock. If somebody committed before the lock was ours, it is made again; the last
      // time under the lock, so that busy writers cannot keep a clone waiting for ever.
      for attempt in 1...3 {
        var planned: PreparedClone?
        if attempt < 3 {
          let reader = try readSession()
          if let key, let known = try key.result(in: reader) { return known }
          planned = PreparedClone(
            commit: try reader.counter(MetadataKey.commitCounter),
            context: try reader.prepareClone(roots, options, cancellation))
        }
        if let result = try write(planned, roots, options, key, cancellation, start, reasons) { return result }
      }
      throw CloneError(.cancelled, "the clone gave up after repeated write conflicts; retry")
    }
  }

  /// Writes what was planned, or, without a plan, plans under the lock. Nil where the plan is not true any more.
  private func write(
    _ planned: PreparedClone?, _ roots: [ObjectID], _ options: CloneOptions, _ key: CloneKey?,
    _ cancellation: CloneMonitor, _ start: ContinuousClock.Instant, _ reasons: PlanReasons?
  ) throws -> CloneResult? {
    // While no transaction of ours is open: the map can grow.
    if let byteCount = planned?.context.byteCount { try engine.space?.makeRoom(for: byteCount) }
    try cancellation.check(.wait, 0, of: nil)
    let commits = try planned.map { try makeFreedPagesUsable(for: $0.context.leastByteCount, dryRun: reasons) } ?? 0
    var transaction = WriteTransaction(try cloneSession(dryRun: reasons))
    transaction.operation = "clone"
    let locked = ContinuousClock.now
    if let key, let known = try key.result(in: transaction.session) { return known }
    let context: CloneContext
    if let planned {
      // A writer who gave up meanwhile leaves the commit as it was, but not the serials.
      guard transaction.session.commit == planned.commit + commits + 1,
        transaction.session.hasFreeSerials(for: planned.context)
      else { return nil }
      context = planned.context
    } else {
      context = try transaction.session.prepareClone(roots, options, cancellation)
    }
    var result: CloneResult
    do {
      result = try transaction.runClone(context, roots, key, start)
      try cancellation.check(.commit, 0, of: result.objectCount)
    } catch {
      // The hook may have shown ids to somebody: they are not given out again.
      noteSerials(of: transaction.session.changes, dryRun: reasons)
      throw error
    }
    let written = ContinuousClock.now
    try transaction.commit(self, dryRun: reasons)
    let committed = ContinuousClock.now
    // A plan that was made under the lock, and what a hook did, say nothing about the next clone.
    if planned != nil, options.didClone == nil, reasons == nil {
      clonePace.note(result, writing: written - locked, commit: committed - written)
    }
    cancellation.report(.commit, result.objectCount, of: result.objectCount)
    result.duration = committed - start
    return result
  }

  private struct PreparedClone {
    let commit: UInt64
    let context: CloneContext
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

extension ObjectReading where Self: ~Copyable {
  /// Returns the objects that a clone of `roots` would copy, ordered by root entity and then serial number.
  ///
  /// - Throws: ``CloneError`` if a root does not exist or a rule is invalid; ``StoreError`` if the store cannot be
  ///   read.
  public borrowing func cloneSet(of roots: [ObjectID], options: CloneOptions = CloneOptions()) throws -> [ObjectID] {
    try _withSession { session in
      let book = session.schema.cloneRules.book(
        session.schema, options, rootEntities: try session.rootEntities(roots))
      if let error = book.errors.first { throw error }
      let mark = try CloneMarker.mark(roots, book, CloneMonitor(), in: session)
      var ids: [ObjectID] = []
      mark.set.forEach { id in
        ids.append(id)
        return true
      }
      return ids
    }
  }
}
