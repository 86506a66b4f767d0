public import KVCloneModel

/// How a store is migrated to another version of its model.
public struct MigrationOptions: Sendable {
  /// The versions of the model. ``stages`` and ``mappings`` name them, and renaming identifiers are followed through
  /// them (a → b → c). An inferred migration is one step and passes through none of them. Their order, from the
  /// earliest to the latest, counts only where stages and mapping models lead to no path by themselves: see
  /// <doc:Migration#Paths>.
  public var versions: [ManagedObjectModel] = []
  /// Makes a snapshot of the store first, by which everything can be read as it was. It costs what is rewritten or
  /// deleted once more, and nothing where no object has to be touched.
  public var takesSnapshot = true

  /// Mapping models, in any order. Each does the step between the two versions that it names, where the path has this
  /// step; one without names does the step that stages and other mapping models leave. Those that are not needed are
  /// left out, and the plan lists them (``MigrationPlan/unused``).
  public var mappings: [MappingModel] = []
  /// Requires that every mapping model is used, as `kvclone migrate --mapping` does: with one inferred step at most,
  /// before, between or after them. Otherwise the migration is refused (``StoreError/Kind-swift.enum/invalidMapping``).
  public var requiresAllMappings = false
  /// What mapping models name as their policies' classes.
  public var policies: [String: any EntityMigrationPolicy] = [:]
  /// ``CustomMigrationStage``s and ``LightweightMigrationStage``s, in any order: their versions, which are some of
  /// ``versions`` or the wanted one, say where they belong. Those that are not needed are left out, and the plan lists
  /// them (``MigrationPlan/unused``).
  public var stages: [any MigrationStage] = []

  /// The defaults.
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

/// What a migration would do.
public struct MigrationPlan: Sendable {
  /// From one version to the next.
  public struct Step: Sendable {
    /// What a step asks of a store.
    public enum Kind: String, Sendable {
      /// The model is written down, and no object is touched.
      case metadata
      /// Indexes are made or dropped.
      case indexes
      /// Objects are rewritten.
      case objects
      /// A mapping model makes all objects anew.
      case mapping
      /// It cannot be done without being told how; see ``refusals``.
      case refused
    }

    /// The name of the version that it begins with.
    public let from: String
    /// The name of the version that the store has afterwards.
    public let to: String
    /// How much there is to be done, without what the handlers of a stage do.
    public let kind: Kind
    /// The label of the custom stage that the step is; nil for a step without handlers.
    public let stage: String?
    /// What differs between them.
    public let changes: [ModelDifference.Change]
    /// The differences that stand in the way: those of entities that have no objects do not.
    public let refusals: [ModelDifference.Change]
    /// Objects that are rewritten: of a step that is done alone, and can be done, as many as the migration reports;
    /// otherwise an estimate.
    public internal(set) var rewrittenCount: Int
    /// How many of them a later step rewrites too, without anything that looks at objects in between: they are written
    /// once, for all of these steps.
    public let joinedCount: Int
    /// Objects that get ids under another root entity.
    public internal(set) var movedCount: Int
    /// Objects that go with their entities.
    public internal(set) var deletedCount: Int
    /// Bytes that are written, about: what is saved for the snapshot included, what handlers write not.
    public let byteCount: UInt64
    /// Swift that makes a mapping model for a refused step, with what is to be filled in marked; nil for one that can
    /// be done.
    public let mappingSkeleton: String?
    /// Renaming identifiers that match nothing in the version that the step begins with.
    public internal(set) var warnings: [ModelWarning] = []
    /// Entities that an inferred step removes, with their objects and the links to these.
    public internal(set) var removals: [Removal] = []
    /// For a refused step: versions that can be inferred one after the other instead, and what is lost along the way.
    public internal(set) var chain: Chain?
  }

  /// An entity that is removed.
  public struct Removal: Sendable, Hashable {
    /// The entity's name in the earlier version.
    public let entity: String
    /// Objects of it, which are deleted.
    public let objectCount: Int
    /// Relationships of remaining entities, `Vehicle.events`, whose links to these objects are removed.
    public let links: [String]
  }

  /// Versions, each of which can be inferred from the one before, between two of which no step can be inferred.
  public struct Chain: Sendable, Hashable {
    /// What a version of the chain does not have any more.
    public struct Loss: Sendable, Hashable {
      /// The name of the version that lacks it.
      public let version: String
      /// The entity: by its name in that version, or of a removed one by its earlier name.
      public let entity: String
      /// The property; nil for the entity itself with its objects.
      public let property: String?
    }

    /// The names of the versions, from the store's to the wanted one.
    public let versions: [String]
    /// What is lost along the way, also where the wanted version has it again.
    public let losses: [Loss]
  }

  /// One after the other; empty where the store has the model already.
  public internal(set) var steps: [Step]
  /// Stages and mapping models that the path does not need.
  public let unused: [Unused]
  /// The reasons for which the migration would fail, the first 100 of them: differences of the models that cannot be
  /// inferred, and what the objects hold.
  public internal(set) var errors: [PlanIssue] = []
  /// How many reasons there are.
  public internal(set) var errorCount = 0
  /// What the migration would report, without the snapshot's name; nil where it would fail, or there is nothing to do.
  public internal(set) var report: MigrationReport?

  init(steps: [Step], unused: [Unused] = []) {
    self.steps = steps
    self.unused = unused
  }

  /// Whether the migration would succeed.
  public var isPossible: Bool { errorCount == 0 && steps.allSatisfy { $0.refusals.isEmpty } }
  /// Bytes that the migration would write, as its report counts them; an estimate where it would fail.
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

/// What a migration did.
public struct MigrationReport: Sendable {
  /// The versions that the store had, one after the other, and the one that it has now.
  public let versions: [String]
  /// The labels of the custom stages that were gone through, one after the other.
  public let stages: [String]
  /// The snapshot that was made first, to be read as it was before; nil where none was asked for, and in a plan.
  public internal(set) var snapshot: String?
  /// Objects that were rewritten or looked at.
  public let rewrittenCount: Int
  /// Objects that have ids under another root entity now.
  public let movedCount: Int
  /// Objects that mapping models have made.
  public let createdCount: Int
  /// Objects that went with their entities.
  public let deletedCount: Int
  /// Bytes of keys and values that were written, previous states for the snapshot included.
  public let byteCount: UInt64
  /// Renaming identifiers that matched nothing in the version that a step began with.
  public let warnings: [ModelWarning]
  /// From the write lock to the durable commit.
  public let duration: Duration
}
