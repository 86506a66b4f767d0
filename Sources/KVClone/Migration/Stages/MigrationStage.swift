import KVCloneModel

/// A part of the way from a store's version of the model to a later one: ``CustomMigrationStage`` or
/// ``LightweightMigrationStage``. Stages of any other type are refused (``StoreError/Kind-swift.enum/invalidStage``).
public protocol MigrationStage: Sendable {
  /// What plans, reports and errors call it.
  var label: String { get }
}

/// A step with code before and after it, in the migration's own transaction: Core Data's custom migration stage.
///
/// What cannot be inferred, because only the app knows it, becomes possible by a version in between. Here, version 2 has the new
/// attribute as an optional one, and version 3 as a mandatory one without a default:
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
/// What a handler throws ends the migration, and the store is as it was
/// (``StoreError/Kind-swift.enum/stageFailed``, with the error as ``StoreError/underlyingError``). What it has changed is validated when it
/// returns, by the version that it worked with (``StoreError/Kind-swift.enum/invalidObject``). No hooks are called.
///
/// The step itself is inferred, or done by a mapping model for its two versions. An attribute or relationship that becomes
/// mandatory in it, or in a later step, is no reason to refuse the plan: handlers come before. Objects in which it is still nil
/// when the step is reached are (``StoreError/Kind-swift.enum/notInferable``).
public struct CustomMigrationStage: MigrationStage {
  /// Code of a stage. It runs on the thread that migrates; twice if the map had to grow, and then from the beginning, with nothing
  /// left of the first time.
  public typealias Handler = @Sendable (inout StagedMigrationManager) throws -> Void

  /// What plans, reports and errors call it.
  public let label: String
  /// The version that it begins with.
  public let currentModel: ManagedObjectModelReference
  /// The version that it ends with. Versions between the two are passed over: the step goes there at once.
  public let nextModel: ManagedObjectModelReference
  /// What is done before the step, by the earlier version of the model.
  public let willMigrateHandler: Handler?
  /// What is done after the step, by the later version of the model.
  public let didMigrateHandler: Handler?

  /// Describes a stage.
  ///
  /// - Parameters:
  ///   - current: the version that it begins with.
  ///   - next: the version that it ends with.
  ///   - label: what plans, reports and errors call it; nil is a label of the two versions.
  ///   - willMigrate: what is done before, by the earlier version of the model.
  ///   - didMigrate: what is done after, by the later one.
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

/// Versions that follow each other by steps that are inferred, whatever a store holds: Core Data's lightweight migration stage.
///
/// Steps without a stage are inferred, too. A stage says that they have to be, always: one that cannot be, even for entities without
/// objects, is refused before anything is written (``StoreError/Kind-swift.enum/invalidStage``), in the developer's store as in the customer's.
public struct LightweightMigrationStage: MigrationStage {
  /// What plans and errors call it.
  public let label: String
  /// The versions, from the earliest to the latest.
  public let versions: [ManagedObjectModelReference]

  /// Describes a stage.
  ///
  /// - Parameters:
  ///   - versions: versions that follow each other in `MigrationOptions.versions`, from the earliest to the latest.
  ///   - label: what plans and errors call it; nil is a label of the first and the last version.
  public init(_ versions: [ManagedObjectModelReference], label: String? = nil) {
    self.versions = versions
    let ends = [versions.first, versions.last].compactMap { $0.map { "\($0)" } }
    self.label = label ?? ends.joined(separator: " → ")
  }
}

extension CustomMigrationStage {
  /// Errors of storage, and of those who gave up: they are no fault of a handler.
  private static let passed: Set<StoreError.Kind> = [
    .cancelled, .mapFull, .diskFull, .io, .corrupted, .forked, .closed,
  ]

  /// The error for what a handler threw, or for what it has left.
  func failure(_ error: any Error, in phase: MigrationProgress.Phase) -> StoreError {
    if let error = error as? StoreError, Self.passed.contains(error.kind) { return error }
    if error is CancellationError {
      return StoreError(
        .cancelled, "stage \(label) gave up in its \(phase.rawValue) handler; the store is as it was",
        underlyingError: error)
    }
    let known = error as? any KVCloneError
    let reason = known?.message ?? "\(type(of: error))"
    return StoreError(
      .stageFailed,
      "the \(phase.rawValue) handler of stage \(label) failed: \(reason); the store is as it was",
      entity: known?.entity,
      property: known?.property, object: known?.object, underlyingError: error)
  }

  /// The error for objects that break rules after a handler.
  func invalid(_ issues: [ValidationIssue], in phase: MigrationProgress.Phase) -> StoreError {
    let more = issues.count > 1 ? " (and \(issues.count - 1) more)" : ""
    return StoreError(
      .invalidObject,
      "an object is not valid after the \(phase.rawValue) handler of stage \(label): \(issues.first?.message ?? "")\(more)",
      entity: issues.first?.entity, property: issues.first?.property, object: issues.first?.object,
      underlyingError: ValidationError(issues: issues))
  }
}
