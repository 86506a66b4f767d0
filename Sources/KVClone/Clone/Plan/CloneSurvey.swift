import KVCloneCore
import KVCloneRecords

/// The result of planning a clone: its size, and the reasons why it would fail.
struct CloneSurvey {
  /// Nil for a repeated call.
  private let book: CloneRuleBook?
  private let schema: Schema
  private let start = ContinuousClock.now
  private(set) var tally: CloneTally
  private(set) var errors: [CloneError]
  private(set) var errorCount: Int
  /// Whether only writing shows if the clone fits into the file and onto the disk.
  private(set) var isNearLimit = false

  init(_ book: CloneRuleBook) {
    self.book = book
    schema = book.schema
    tally = CloneTally(entityCount: Int(schema.codes.lastEntity))
    errors = book.errors
    errorCount = errors.count
  }

  /// The survey of a repeated call.
  init(repeatedIn schema: Schema) {
    book = nil
    self.schema = schema
    tally = CloneTally(entityCount: Int(schema.codes.lastEntity))
    errors = []
    errorCount = 0
  }

  /// Whether the call would clone nothing, because its idempotency key is known.
  var isRepeated: Bool { book == nil }

  mutating func note(_ error: CloneError) {
    errorCount += 1
    if errors.count < ClonePlanner.errorLimit { errors.append(error) }
  }

  mutating func note(_ reasons: PlanReasons) {
    for issue in reasons.issues { note(CloneError(issue)) }
    errorCount += reasons.count - reasons.issues.count
  }

  /// Runs `body`, unless the call itself is invalid, and records a thrown error if it is a reason.
  mutating func find(_ body: (inout CloneSurvey) throws -> Void) throws {
    guard errorCount == 0 else { return }
    do {
      try body(&self)
    } catch let error as CloneError {
      note(error)
    } catch let error as StoreError where [.limitExceeded, .diskFull, .mapFull].contains(error.kind) {
      note(CloneError(PlanIssue(error)))
    }
  }

  /// Checks every object of the clone, and the limits and the space of the destination. Within a store, both sessions
  /// are the same.
  mutating func check(_ context: CloneContext, _ source: borrowing Session, _ destination: borrowing Session) throws {
    var planner = ClonePlanner(context: context, isExhaustive: true)
    try planner.check(source, destination)
    tally = planner.tally
    errors = planner.errors
    errorCount = planner.errorCount
    try checkRoom(destination)
  }

  /// Checks the limits of the destination, and its space.
  private mutating func checkRoom(_ session: borrowing Session) throws {
    if let error = try StoreLimits.error(addingClones: tally.objects, in: session) { note(error) }
    let byteCount = tally.bytesWritten.saturatingAdd(tally.bytesCopied)
    do throws(StoreError) {
      try StoreLimits.checkFileLimit(adding: byteCount, in: session)
      try session.engine?.space?.checkRoom(for: byteCount)
    } catch {
      guard [.limitExceeded, .diskFull, .mapFull].contains(error.kind) else { throw error }
      var issue = PlanIssue(error)
      if error.kind != .limitExceeded { issue.message += " The clone would write at least \(byteCount) bytes." }
      note(CloneError(issue))
    }
    isNearLimit = StoreRoom(of: session)?.isNearLimit(adding: byteCount) ?? false
  }

  /// The plan.
  var plan: ClonePlan {
    guard let book else { return .repeated(ContinuousClock.now - start) }
    var plan = ClonePlan(
      objectCount: tally.objects, counts: tally.countsByName(schema), affectedObjectCount: tally.touched.count,
      affectedObjectIDs: tally.firstTouched, blobsShared: tally.blobsShared, bytesShared: tally.bytesShared,
      bytesCopied: tally.bytesCopied, bytesWritten: tally.bytesWritten, duration: ContinuousClock.now - start,
      rules: book.appliedRules(tally), errors: errors, errorCount: errorCount)
    plan.branches = book.branches(tally)
    return plan
  }
}

extension CloneError {
  /// A reason that is not specific to clones: a limit of the store, or a rule of the model.
  fileprivate init(_ issue: PlanIssue) {
    let kind: Kind =
      switch issue.kindName {
      case StoreError.Kind.diskFull.rawValue: .diskFull
      case StoreError.Kind.mapFull.rawValue: .mapFull
      case StoreError.Kind.limitExceeded.rawValue: .limitExceeded
      default: Kind(known: issue.kindName) ?? .invalidValue
      }
    self.init(kind, issue.message, entity: issue.entity, property: issue.property, object: issue.object)
  }
}
