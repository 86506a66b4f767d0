#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
public import KVCloneModel
import KVCloneRecords

extension ObjectStore {
  /// Deep clone: copies objects and everything below them, by the rules of the model, in a write transaction of its own.
  ///
  /// What belongs to the clone is found without the write lock. Everything that can be wrong is found before the first
  /// byte is written (R1). A map that is too small grows before the clone, or after a first try, which is then repeated.
  ///
  /// - Returns: the clones of the roots, and what it took.
  /// - Throws: ``CloneError`` for what the plan refuses; ``ValidationError``; `busy`; `diskFull` and `mapFull`, before the
  ///   first byte where the plan shows it; and what else the file system has to say. Nothing was written then.
  @available(*, noasync, message: "use the asynchronous form")
  @discardableResult
  public func clone(_ roots: [ObjectID], options: CloneOptions = CloneOptions()) throws -> CloneResult {
    try runClone(roots, options, CloneCancellation(progress: options.progress))
  }

  /// Deep clone from asynchronous code, on a thread of the store's own. Cancelling the task ends it with `cancelled` and
  /// nothing written.
  @discardableResult
  public func clone(_ roots: [ObjectID], options: CloneOptions = CloneOptions()) async throws -> CloneResult {
    let cancellation = CloneCancellation(progress: options.progress)
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

  /// MOCloner's call (R27): clones one object and answers the clone. `saveBeforeReturn` has to be true here, where the
  /// clone is a transaction of its own; inside `write` use the transaction's `clone`.
  @available(*, noasync, message: "use the asynchronous form of clone(_:options:)")
  @discardableResult
  public func clone(
    object: ObjectID, excludedRelationshipNames: [String] = [], passingExclusionList: Bool = false,
    saveBeforeReturn: Bool = true, config: CloneUserInfoKeys = .standard
  ) throws -> ObjectID {
    guard saveBeforeReturn else {
      throw CloneError(
        .invalidConfiguration, "a clone that is not saved needs a write transaction to be part of; call it inside write"
      )
    }
    return try clone(
      [object],
      options: CloneOptions(
        excludedRelationshipNames: excludedRelationshipNames, passingExclusionList: passingExclusionList, config: config
      )
    ).root
  }

  /// The dry run (R36): what a clone would make, share and touch, which rule decides where, and everything that stands in
  /// the way. Writes nothing.
  ///
  /// The plan reads, and waits for no writer. Only a clone that comes near a limit of the file, or the end of the disk,
  /// is run in a write transaction that is rolled back, because nothing else tells whether it fits; it holds the write
  /// lock as long as the clone would. Hooks of the store are not called, so what they refuse is not planned.
  public func planClone(_ roots: [ObjectID], options: CloneOptions = CloneOptions()) throws -> ClonePlan {
    let survey = try survey(roots, options)
    return try plan(survey) { reasons in
      _ = try runClone(roots, options, CloneCancellation(progress: options.progress), dryRun: reasons)
    }
  }

  private func survey(_ roots: [ObjectID], _ options: CloneOptions) throws -> CloneSurvey {
    let session = try readSession()
    var refusal: CloneError?
    do {
      if let key = try CloneKey(roots, options), try session.result(of: key) != nil {
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
    _ roots: [ObjectID], _ options: CloneOptions, _ cancellation: CloneCancellation, dryRun reasons: PlanReasons? = nil
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
          if let key, let known = try reader.result(of: key) { return known }
          planned = PreparedClone(
            commit: try reader.counter(MetadataKey.commitCounter),
            context: try reader.prepareClone(roots, options, cancellation))
        }
        if let result = try write(planned, roots, options, key, cancellation, start, reasons) { return result }
      }
      throw CloneError(.cancelled, "the clone found no quiet moment")
    }
  }

  /// Writes what was planned, or, without a plan, plans under the lock. Nil where the plan is not true any more.
  private func write(
    _ planned: PreparedClone?, _ roots: [ObjectID], _ options: CloneOptions, _ key: CloneKey?,
    _ cancellation: CloneCancellation, _ start: ContinuousClock.Instant, _ reasons: PlanReasons?
  ) throws -> CloneResult? {
    // While no transaction of ours is open: the map can grow.
    if let byteCount = planned?.context.byteCount { try engine.makeRoom(for: byteCount) }
    try cancellation.check(.wait, 0, of: nil)
    let commits = try planned.map { try makeFreedPagesUsable(for: $0.context.leastByteCount, dryRun: reasons) } ?? 0
    var transaction = WriteTransaction(try cloneSession(dryRun: reasons))
    transaction.operation = "clone"
    let locked = ContinuousClock.now
    if let key, let known = try transaction.session.result(of: key) { return known }
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
    try commit(transaction.takeSession(), dryRun: reasons)
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
  /// The objects that a clone of `roots` would copy, by root entity and then serial.
  public borrowing func cloneSet(of roots: [ObjectID], options: CloneOptions = CloneOptions()) throws -> [ObjectID] {
    try _withSession { session in
      let book = session.schema.cloneRules.book(
        session.schema, options, rootEntities: try session.rootEntities(roots))
      if let error = book.errors.first { throw error }
      let mark = try session.mark(roots, book, CloneCancellation())
      var ids: [ObjectID] = []
      mark.set.forEach { id in
        ids.append(id)
        return true
      }
      return ids
    }
  }
}
