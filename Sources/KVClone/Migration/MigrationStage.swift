import KVCloneCore

/// A part of the path from a store's model version to a later one: ``CustomMigrationStage`` or
/// ``LightweightMigrationStage``.
///
/// A stage of another type fails the migration (``StoreError/Kind-swift.struct/invalidStage``).
public protocol MigrationStage: Sendable {
  /// The name of the stage in plans, reports and errors.
  var label: String { get }
}

/// A migration step with code before and after it, in the transaction of the migration, like a custom migration stage
/// of Core Data.
///
/// An intermediate version enables changes that cannot be inferred, because only the app can supply the new values. In
/// this example, version 2 has the new attribute as an optional one, and version 3 as a required one without a default:
///
/// ```swift
/// let stage = CustomMigrationStage(
///   migratingFrom: "Shop 1", to: "Shop 2",
///   didMigrate: { manager in
///     try manager.forEachObject(of: "Book") { tx, id in
///       try tx.set(id, "isbn", .string(try lookUp(id)))
///     }
///   })
/// let options = MigrationOptions(versions: [shop1, shop2, shop3], stages: [stage])
/// ```
///
/// An error that a handler throws ends the migration and leaves the store unchanged
/// (``StoreError/Kind-swift.struct/stageFailed``, with the error as ``StoreError/underlyingError``). When a handler
/// returns, its changes are validated by the model version of the handler
/// (``StoreError/Kind-swift.struct/invalidObject``). No lifecycle hooks are called.
///
/// The step itself is inferred, or uses a mapping model for its two versions. A plan accepts an attribute or
/// relationship that becomes required in this step or a later one, because handlers run first. If the value is still
/// nil in an object when the step is reached, the migration fails (``StoreError/Kind-swift.struct/mappingRequired``).
public struct CustomMigrationStage: MigrationStage {
  /// The code of a stage. It runs on the migrating thread.
  ///
  /// If the map must grow, the migration is rolled back and restarted, and the handler runs again from the beginning.
  public typealias Handler = @Sendable (inout StagedMigrationManager) throws -> Void

  /// The name of the stage in plans, reports and errors.
  public let label: String
  /// The version before the step.
  public let currentModel: ManagedObjectModelReference
  /// The version after the step. Versions between the two are skipped: the step leads there directly.
  public let nextModel: ManagedObjectModelReference
  /// The code that runs before the step, with the earlier version of the model.
  public let willMigrateHandler: Handler?
  /// The code that runs after the step, with the later version of the model.
  public let didMigrateHandler: Handler?

  /// Creates a stage.
  ///
  /// - Parameters:
  ///   - current: the version before the step.
  ///   - next: the version after the step.
  ///   - label: the name of the stage in plans, reports and errors; nil for a label of the two versions.
  ///   - willMigrate: the code that runs before the step, with the earlier version of the model.
  ///   - didMigrate: the code that runs after the step, with the later version of the model.
  public init(
    migratingFrom current: ManagedObjectModelReference, to next: ManagedObjectModelReference, label: String? = nil,
    willMigrate: Handler? = nil, didMigrate: Handler? = nil
  ) {
    self.label = label ?? "\(current) → \(next)"
    currentModel = current
    nextModel = next
    willMigrateHandler = willMigrate
    didMigrateHandler = didMigrate
  }
}

/// Consecutive versions with inferred steps, independent of the content of the store, like a lightweight migration
/// stage of Core Data.
///
/// Steps without a stage are inferred too. With this stage, every step must be inferable, even for entities without
/// objects. Otherwise the migration fails before anything is written (``StoreError/Kind-swift.struct/invalidStage``),
/// in the developer's store as in the customer's.
public struct LightweightMigrationStage: MigrationStage {
  /// The name of the stage in plans and errors.
  public let label: String
  /// The versions, from the earliest to the latest.
  public let versions: [ManagedObjectModelReference]

  /// Creates a stage.
  ///
  /// - Parameters:
  ///   - versions: consecutive versions of `MigrationOptions.versions`, from the earliest to the latest.
  ///   - label: the name of the stage in plans and errors; nil for a label of the first and the last version.
  public init(_ versions: [ManagedObjectModelReference], label: String? = nil) {
    self.versions = versions
    let ends = [versions.first, versions.last].compactMap { $0.map { "\($0)" } }
    self.label = label ?? ends.joined(separator: " → ")
  }
}

extension CustomMigrationStage {
  /// Errors of storage, and cancellation: they are not caused by a handler.
  private static let passed: Set<StoreError.Kind> = [
    .cancelled, .mapFull, .diskFull, .io, .corrupted, .forked, .closed,
  ]

  /// The error for what a handler threw, or for the state that it left.
  func failure(_ error: any Error, in phase: OperationProgress.Phase) -> StoreError {
    if let error = error as? StoreError, Self.passed.contains(error.kind) { return error }
    if error is CancellationError {
      return StoreError(
        .cancelled, "stage \(label) was cancelled in its \(phase.rawValue) handler; the store is unchanged",
        underlyingError: error)
    }
    let known = error as? any KVCloneError
    let reason = known?.message ?? "\(type(of: error))"
    return StoreError(
      .stageFailed,
      "the \(phase.rawValue) handler of stage \(label) failed: \(reason); the store is unchanged",
      entity: known?.entity,
      property: known?.property, object: known?.object, underlyingError: error)
  }

  /// The error for objects that violate rules after a handler.
  func invalid(_ issues: [ValidationIssue], in phase: OperationProgress.Phase) -> StoreError {
    let more = issues.count > 1 ? " (and \(issues.count - 1) more)" : ""
    return StoreError(
      .invalidObject,
      "an object is invalid after the \(phase.rawValue) handler of stage \(label): "
        + "\(issues.first?.message ?? "")\(more)",
      entity: issues.first?.entity, property: issues.first?.property, object: issues.first?.object,
      underlyingError: ValidationError(issues: issues))
  }
}
