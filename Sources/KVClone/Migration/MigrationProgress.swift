/// How far a migration has come.
public struct MigrationProgress: Sendable, Hashable {
  /// What is done, one after the other, in each step.
  public enum Phase: String, Sendable {
    /// A stage's handler, before the step.
    case willMigrate
    /// Deleting the objects of entities that are gone.
    case delete
    /// Giving ids to objects that come under another root entity.
    case move
    /// Rewriting objects.
    case rewrite
    /// Linking other sides of relationships.
    case link
    /// Making indexes.
    case index
    /// A stage's handler, after the step.
    case didMigrate
  }

  /// The step, from 0.
  public let step: Int
  /// How many steps there are.
  public let stepCount: Int
  /// What is being done.
  public let phase: Phase
  /// Objects that were dealt with in this phase.
  public let completed: Int
}

/// What a migration tells while it runs.
final class MigrationRun {
  private let progress: (@Sendable (MigrationProgress) -> Void)?
  private let cancellation: Cancellation?
  let stepCount: Int
  private var step = 0
  private var phase = MigrationProgress.Phase.rewrite
  private var completed = 0

  init(
    stepCount: Int, _ progress: (@Sendable (MigrationProgress) -> Void)?, _ cancellation: Cancellation?
  ) {
    self.stepCount = stepCount
    self.progress = progress
    self.cancellation = cancellation
  }

  func begin(step: Int) { self.step = step }

  func begin(_ phase: MigrationProgress.Phase) throws(StoreError) {
    self.phase = phase
    completed = 0
    try advance(by: 0)
  }

  /// Tells that so many objects more were dealt with.
  ///
  /// - Throws: `cancelled`.
  func advance(by count: Int) throws(StoreError) {
    completed += count
    progress?(MigrationProgress(step: step, stepCount: stepCount, phase: phase, completed: completed))
    if cancellation?.isCancelled == true || Task.isCancelled {
      throw StoreError(.cancelled, "the migration was cancelled; the store is as it was")
    }
  }
}
