import KVCloneCore
import KVCloneModel
import KVCloneRecords
import KVCloneTracing

/// A clone in its own write transaction, or the plan for one.
struct CloneCall: Sendable {
  let roots: [ObjectID]
  let options: CloneOptions
  let origin: CloneOrigin
  let destination: ObjectStore

  init(_ roots: [ObjectID], _ options: CloneOptions, from origin: CloneOrigin = .transaction, to store: ObjectStore) {
    self.roots = roots
    self.options = options
    self.origin = origin
    destination = store
  }

  /// The recent write rate of clones of the destination.
  var pace: ClonePace { destination.schema.attachments.value(of: ClonePace.self) }

  // MARK: Cloning

  /// A new span of the clone. It begins when the clone is called, and not at its turn.
  var span: StoreSpan { StoreSpan(.clone, of: destination.engine) }

  func run() throws -> CloneResult { try span.run { try run(CloneMonitor(progress: options.progress)) } }

  /// Clones on the writer thread of the destination. Cancelling the task cancels the clone.
  func runOnWriterThread() async throws -> CloneResult {
    let cancellation = CloneMonitor(progress: options.progress)
    let span = span
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        destination.writerQueue.async {
          continuation.resume(with: Result { try span.run { try run(cancellation) } })
        }
      }
    } onCancel: {
      cancellation.cancel()
    }
  }

  func run(_ cancellation: CloneMonitor, dryRun reasons: PlanReasons? = nil) throws -> CloneResult {
    try origin.check(destination)
    let attempt = Attempt(
      key: try origin.key(roots, options, in: destination.engine), cancellation: cancellation, reasons: reasons)
    return try retryIfMapFull {
      // A repeated call needs no sources.
      if let key = attempt.key, let known = try key.result(in: destination.readSession()) { return known }
      return try run(attempt, ContinuousClock.now)
    }
  }

  private struct Attempt {
    let key: CloneKey?
    let cancellation: CloneMonitor
    let reasons: PlanReasons?
  }

  /// The result of planning without the write lock.
  private struct Planned {
    let commit: UInt64
    let context: CloneContext
  }

  private func run(_ attempt: Attempt, _ start: ContinuousClock.Instant) throws -> CloneResult {
    let other = try OtherStore(self, attempt.cancellation)
    // The plan is made without the lock. If another transaction has committed before the lock is taken, it is repeated;
    // the last time under the lock, so that busy writers cannot delay a clone for ever.
    for number in 1...3 {
      var planned: Planned?
      if number < 3 {
        let session = try destination.readSession()
        let reader = other == nil ? try origin.beginReading() : nil
        planned = Planned(
          commit: try session.counter(MetadataKey.commitCounter),
          context: try prepare(other, reader, session, attempt.cancellation))
      }
      if let result = try write(planned, other, attempt, start) { return result }
    }
    throw CloneError(.cancelled, "the clone gave up after repeated write conflicts; retry")
  }

  /// Another store is read in one transaction from the mark to the commit: its state, and therefore the clone set,
  /// stays the same. Only the check of the destination is repeated.
  private struct OtherStore {
    let reader: CloneReader
    let scope: CloneScope

    init?(_ call: CloneCall, _ cancellation: CloneMonitor) throws {
      guard case .store = call.origin, let reader = try call.origin.beginReading() else { return nil }
      self.reader = reader
      scope = try call.origin.scope(
        call.roots, call.options, cancellation, call.destination.schema, in: reader.session)
    }
  }

  private func prepare(
    _ other: OtherStore?, _ reader: CloneReader?, _ session: borrowing Session, _ cancellation: CloneMonitor
  ) throws -> CloneContext {
    if let other { return try other.scope.prepare(other.reader.session, session) }
    return try origin.prepare(roots, options, cancellation, reader, session)
  }

  /// Writes the planned clone, or, without a plan, plans under the lock. Returns nil if the plan is outdated.
  private func write(
    _ planned: Planned?, _ other: OtherStore?, _ attempt: Attempt, _ start: ContinuousClock.Instant
  ) throws -> CloneResult? {
    let (cancellation, reasons) = (attempt.cancellation, attempt.reasons)
    // While this store has no open transaction: the map can grow.
    if let byteCount = planned?.context.byteCount { try destination.engine.space?.makeRoom(for: byteCount) }
    try cancellation.check(.wait, 0, of: nil)
    let commits =
      try planned.map { try makeFreedPagesUsable(for: $0.context.leastByteCount, dryRun: reasons) } ?? 0
    var transaction = WriteTransaction(
      try destination.writeSession(label: reasons == nil ? "clone" : "clone plan", isDryRun: reasons != nil))
    transaction.operation = "clone"
    let locked = ContinuousClock.now
    if let key = attempt.key, let known = try key.result(in: transaction.session) { return known }
    // A snapshot is read by a transaction that begins after the write transaction, so that both see one state:
    // otherwise the snapshot, with the blobs that only it references, could be deleted in one of them.
    let reader = try other?.reader ?? origin.beginReading()
    let context: CloneContext
    if let planned {
      // An aborted writer leaves the commit unchanged, but not the serials.
      context = planned.context
      guard transaction.session.commit == planned.commit + commits + 1,
        context.places.areFree(in: transaction.session)
      else { return nil }
    } else {
      context = try prepare(other, reader, transaction.session, cancellation)
    }
    var result: CloneResult
    do {
      result = try origin.write(context, reader, roots, attempt.key, start, in: &transaction)
      try cancellation.check(.commit, 0, of: result.objectCount)
    } catch {
      // The hook may have shown ids to its caller: they are not reused.
      destination.noteSerials(of: transaction.session.changes, dryRun: reasons)
      throw error
    }
    let written = ContinuousClock.now
    try transaction.commit(destination, dryRun: reasons)
    let committed = ContinuousClock.now
    // A plan that was made under the lock, and changes by a hook, do not predict the next clone.
    if planned != nil, options.didClone == nil, reasons == nil {
      pace.note(result, writing: written - locked, commit: committed - written)
    }
    cancellation.report(.commit, result.objectCount, of: result.objectCount)
    result.duration = committed - start
    return result
  }

  /// Less than this, freed or needed, is not worth a commit.
  private static let worthReusing: UInt64 = 1 << 20

  /// Makes the pages that the last commit freed usable for a large write. LMDB gives them to the next commit but one,
  /// so this makes a small commit in between. Otherwise a clone right after the delete of another one would make the
  /// file grow by its whole size.
  ///
  /// - Parameter byteCount: the minimum size of the write.
  /// - Returns: the number of commits made.
  private func makeFreedPagesUsable(for byteCount: UInt64, dryRun reasons: PlanReasons?) throws -> UInt64 {
    guard reasons == nil, byteCount >= Self.worthReusing, let space = destination.engine.space,
      try space.lastFreedByteCount() >= Self.worthReusing
    else {
      return 0
    }
    var session = try destination.writeSession(label: "clone")
    session.changes.isEmpty = false
    try WriteTransaction(session).commit(destination)
    return 1
  }

  // MARK: Planning

  /// Returns the plan of the clone. If only writing shows whether the clone fits, it is run in a dry run.
  func plan() throws -> ClonePlan {
    try origin.check(destination)
    var survey = try survey()
    if survey.isNearLimit, survey.errorCount == 0, !survey.isRepeated {
      if destination.options.isReadOnly {
        survey.note(
          CloneError(
            .limitExceeded,
            "the clone may not fit into the file or on the disk, and a read-only store cannot test whether it fits"
              + "; plan it with the store open for writing"))
      } else {
        let reasons = PlanReasons()
        do {
          _ = try run(CloneMonitor(progress: options.progress), dryRun: reasons)
        } catch {
          try reasons.note(thrown: error)
        }
        survey.note(reasons)
      }
    }
    var plan = survey.plan
    if !plan.isRepeated { plan.estimatedLockDuration = pace.lockDuration(of: plan) }
    return plan
  }

  private func survey() throws -> CloneSurvey {
    let reader = try origin.beginReading()
    let session = try destination.readSession()
    var refusal: CloneError?
    do {
      if let key = try origin.key(roots, options, in: destination.engine), try key.result(in: session) != nil {
        return CloneSurvey(repeatedIn: destination.schema)
      }
    } catch let error as CloneError {
      refusal = error
    }
    var survey = try origin.survey(roots, options, reader, session)
    if let refusal, !survey.errors.contains(refusal) { survey.note(refusal) }
    return survey
  }
}
