public import KVCloneCore
public import KVCloneModel

/// Options of a migration to another version of the model.
public struct MigrationOptions: Sendable {
  /// The versions of the model, from the earliest to the latest.
  ///
  /// ``stages`` and ``mappings`` refer to them, and renaming identifiers are followed through them (a → b → c). An
  /// inferred migration is one step and does not use intermediate versions. The order only matters if stages and
  /// mapping models define no path; see <doc:Migration#Paths>.
  public var versions: [ManagedObjectModel] = []
  /// Whether a snapshot is created first, which keeps the earlier content readable. The default is true.
  ///
  /// The snapshot stores the preimages of everything that is rewritten or deleted. It costs nothing if no object
  /// changes.
  public var takesSnapshot = true

  /// The mapping models, in any order.
  ///
  /// Each mapping model covers the step between the two versions that it names, if the path has this step. A mapping
  /// model without versions covers the step that stages and other mapping models leave. Unused ones are ignored and
  /// listed in ``MigrationPlan/unused``.
  public var mappings: [MappingModel] = []
  /// Whether every mapping model must be used, as with `kvclone migrate --mapping`. The default is false.
  ///
  /// The path may then have at most one inferred step, before, between or after the mapping models. Otherwise the
  /// migration fails (``StoreError/Kind-swift.struct/invalidMapping``).
  public var requiresAllMappings = false
  /// The policies, by the class names that the mapping models use.
  public var policies: [String: any EntityMigrationPolicy] = [:]
  /// The ``CustomMigrationStage``s and ``LightweightMigrationStage``s, in any order.
  ///
  /// Their versions, which are in ``versions`` or equal to the target version, define their place. Unused stages are
  /// ignored and listed in ``MigrationPlan/unused``.
  public var stages: [any MigrationStage] = []

  /// Creates options. Each argument has its default value.
  public init(
    versions: [ManagedObjectModel] = [], mappings: [MappingModel] = [],
    policies: [String: any EntityMigrationPolicy] = [:], stages: [any MigrationStage] = [], takesSnapshot: Bool = true,
    requiresAllMappings: Bool = false
  ) {
    self.versions = versions
    self.mappings = mappings
    self.policies = policies
    self.stages = stages
    self.takesSnapshot = takesSnapshot
    self.requiresAllMappings = requiresAllMappings
  }
}

/// The result of a dry run of a migration.
public struct MigrationPlan: Sendable {
  /// A step from one version to the next.
  public struct Step: Sendable {
    /// The work that a step requires.
    public enum Kind: String, Sendable {
      /// Updates the stored model only. No object changes.
      case metadata
      /// Builds or drops indexes.
      case indexes
      /// Rewrites objects.
      case objects
      /// Recreates all objects with a mapping model.
      case mapping
      /// Cannot be inferred; see ``refusals``.
      case refused
    }

    /// The name of the version before the step.
    public let from: String
    /// The name of the version after the step.
    public let to: String
    /// The work of the step, without stage handlers.
    public let kind: Kind
    /// The label of the custom stage of the step; nil for a step without handlers.
    public let stage: String?
    /// The differences between the two versions.
    public let changes: [ModelDifference.Change]
    /// The differences that cannot be inferred. Differences of entities without objects are not included.
    public let refusals: [ModelDifference.Change]
    /// The number of rewritten objects.
    ///
    /// For a step that runs alone and succeeds, it equals the number that the migration reports. Otherwise it is an
    /// estimate.
    public internal(set) var rewrittenCount: Int
    /// The number of objects that a later step also rewrites, without a handler between the steps. They are written
    /// once for all of these steps.
    public let joinedCount: Int
    /// The number of objects that receive ids under another root entity.
    public internal(set) var movedCount: Int
    /// The number of objects that are deleted with their entities.
    public internal(set) var deletedCount: Int
    /// The approximate number of bytes written, including preimages for the snapshot, without the writes of handlers.
    public let byteCount: UInt64
    /// Swift source of a mapping model for a refused step, with marked gaps to fill in; nil for other steps.
    public let mappingSkeleton: String?
    /// Renaming identifiers that match nothing in the version before the step.
    public internal(set) var warnings: [ModelWarning] = []
    /// The entities that an inferred step removes, with their objects and the links to them.
    public internal(set) var removals: [Removal] = []
    /// For a refused step, a chain of versions that can be inferred one after another, and its losses; nil otherwise.
    public internal(set) var chain: Chain?
  }

  /// An entity that a step removes.
  public struct Removal: Sendable, Hashable {
    /// The name of the entity in the earlier version.
    public let entity: String
    /// The number of its objects, which are deleted.
    public let objectCount: Int
    /// The relationships of remaining entities, such as `Vehicle.events`, that lose links to these objects.
    public let links: [String]
  }

  /// A chain of versions, each inferable from the previous one, for two versions without an inferable step.
  public struct Chain: Sendable, Hashable {
    /// An entity or property that a version of the chain does not have.
    public struct Loss: Sendable, Hashable {
      /// The name of the version that lacks it.
      public let version: String
      /// The name of the entity in that version; for a removed entity, its earlier name.
      public let entity: String
      /// The name of the property; nil for an entity with its objects.
      public let property: String?
    }

    /// The names of the versions, from the store's version to the target version.
    public let versions: [String]
    /// The losses along the chain, even if the target version has the entity or property again.
    public let losses: [Loss]
  }

  /// The steps in the order of execution; empty if the store already has the model.
  public internal(set) var steps: [Step]
  /// Stages and mapping models that the path does not use.
  public let unused: [Unused]
  /// The first 100 errors that would fail the migration: differences that cannot be inferred, and conflicting content
  /// of objects.
  public internal(set) var errors: [PlanIssue] = []
  /// The total number of errors.
  public internal(set) var errorCount = 0
  /// The report that the migration would return, without the name of the snapshot; nil if it would fail or has nothing
  /// to do.
  public internal(set) var report: MigrationReport?

  init(steps: [Step], unused: [Unused] = []) {
    self.steps = steps
    self.unused = unused
  }

  /// Whether the migration would succeed.
  public var isPossible: Bool { errorCount == 0 && steps.allSatisfy { $0.refusals.isEmpty } }
  /// The number of bytes that the migration would write, as in its report; an estimate if it would fail.
  public var byteCount: UInt64 { report?.byteCount ?? steps.reduce(0) { $0 + $1.byteCount } }
  /// The estimated duration. It assumes a commit of 5 ms and 2 µs per changed object, as measured on a machine where an
  /// object took 1.6 µs, and 2.5 µs with a snapshot.
  public var estimatedDuration: Duration {
    if steps.isEmpty { return .zero }
    let seconds = steps.reduce(0.005) {
      $0 + Double($1.rewrittenCount - $1.joinedCount + 2 * $1.movedCount + 2 * $1.deletedCount) * 2e-6
    }
    return .seconds(seconds)
  }
}

/// The result of a migration.
public struct MigrationReport: Sendable {
  /// The versions that the store had, in order, and its current version.
  public let versions: [String]
  /// The labels of the custom stages, in the order of execution.
  public let stages: [String]
  /// The name of the snapshot with the content before the migration; nil if none was requested, and in a plan.
  public internal(set) var snapshot: String?
  /// The number of objects that were rewritten or examined.
  public let rewrittenCount: Int
  /// The number of objects that received ids under another root entity.
  public let movedCount: Int
  /// The number of objects that mapping models created.
  public let createdCount: Int
  /// The number of objects that were deleted with their entities.
  public let deletedCount: Int
  /// The size of the written keys and values, in bytes, including preimages for the snapshot.
  public let byteCount: UInt64
  /// Renaming identifiers that matched nothing in the version before a step.
  public let warnings: [ModelWarning]
  /// The time from the write lock to the durable commit.
  public let duration: Duration
}

extension StoreOptions {
  /// The options for migrating a store of another model version when it is opened; nil, the default, for no migration.
  ///
  /// With nil, opening a store with another model version throws `incompatibleModel`. A migration rewrites all affected
  /// records before the store is open. Check
  /// ``ObjectStore/planMigration(at:to:migration:options:progress:cancellation:)`` before enabling this in a service.
  public var automaticMigration: MigrationOptions? {
    get { features[ObjectIdentifier(MigrationOptions.self)] as? MigrationOptions }
    set { features[ObjectIdentifier(MigrationOptions.self)] = newValue }
  }
}
