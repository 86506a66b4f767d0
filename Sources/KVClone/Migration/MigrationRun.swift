import KVCloneCore

/// The progress and the errors of a running migration.
final class MigrationRun {
  private let progress: (@Sendable (OperationProgress) -> Void)?
  private let cancellation: Cancellation?
  /// Collects the reasons of a dry run; nil for a migration.
  let dryRun: MigrationDryRun?
  var stepCount = 0
  private var step = 0
  private var phase = OperationProgress.Phase.rewrite
  private var completed = 0

  init(
    _ progress: (@Sendable (OperationProgress) -> Void)?, _ cancellation: Cancellation?, dryRun: MigrationDryRun? = nil
  ) {
    self.progress = progress
    self.cancellation = cancellation
    self.dryRun = dryRun
    dryRun?.beginAttempt()
  }

  /// Whether a dry run has found a reason why the migration fails.
  var hasFailed: Bool { dryRun?.reasons.isEmpty == false }

  /// Throws an error of the migration; a dry run collects it and continues.
  func refuse(_ error: StoreError) throws(StoreError) {
    guard let dryRun else { throw error }
    do { try dryRun.reasons.note(thrown: error) } catch { throw (error as? StoreError) ?? StoreError(.io, "\(error)") }
  }

  func begin(step: Int) { self.step = step }

  func begin(_ phase: OperationProgress.Phase) throws(StoreError) {
    self.phase = phase
    completed = 0
    try advance(by: 0)
  }

  /// Reports that so many more objects were processed.
  ///
  /// - Throws: `cancelled`.
  func advance(by count: Int) throws(StoreError) {
    completed += count
    progress?(OperationProgress(phase: phase, completed: completed, step: step, stepCount: stepCount))
    if cancellation?.isCancelled == true || Task.isCancelled {
      throw StoreError(.cancelled, "the migration was cancelled; the store is unchanged")
    }
  }
}

/// The dry run of a migration: its plan, and the reasons why it fails.
final class MigrationDryRun {
  /// Those of the current attempt.
  var reasons = PlanReasons()
  private var estimate = MigrationPlan(steps: [])
  /// The results of strides with a single step, by the step's number.
  private var measured: [Int: MigrationTally] = [:]

  /// Discards the results of an attempt that reached the end of the map.
  func beginAttempt() {
    reasons = PlanReasons()
    measured = [:]
  }

  /// Takes the plan from the models and the object counts. Returns whether its first steps can be run: a property
  /// without values is a reason, and does not prevent finding others.
  func begin(_ plan: MigrationPlan) -> Bool {
    estimate = plan
    for step in plan.steps {
      for refusal in step.refusals { reasons.note(PlanIssue(step.error(for: refusal))) }
    }
    return plan.steps.allSatisfy { $0.refusals.allSatisfy(\.isAboutMissingValues) }
  }

  /// Records the results of a stride.
  func note(_ stride: MigrationStride, from before: MigrationTally, to after: MigrationTally) {
    guard stride.steps.count == 1 else { return }
    var done = MigrationTally()
    done.rewrittenCount = after.rewrittenCount - before.rewrittenCount
    done.movedCount = after.movedCount - before.movedCount
    done.deletedCount = after.deletedCount - before.deletedCount
    measured[stride.first] = done
  }

  /// The plan, with the results of the migration's report.
  func plan(_ report: MigrationReport) -> MigrationPlan {
    var plan = estimate
    plan.errors = reasons.issues
    plan.errorCount = reasons.count
    if reasons.isEmpty, !plan.steps.isEmpty {
      plan.report = report
      plan.report?.snapshot = nil
      plan.steps = plan.steps.enumerated().map { index, step in measured[index].map(step.measured) ?? step }
    }
    return plan
  }
}

extension MigrationPlan.Step {
  /// The step with the numbers of a dry run instead of those from the models and the object counts.
  fileprivate func measured(_ done: MigrationTally) -> MigrationPlan.Step {
    var step = self
    step.deletedCount = done.deletedCount
    if kind == .mapping { return step }
    step.rewrittenCount = done.rewrittenCount
    step.movedCount = done.movedCount
    return step
  }
}
