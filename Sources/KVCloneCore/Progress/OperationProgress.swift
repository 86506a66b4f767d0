/// The progress of a long operation: a clone, migration, backup, restore, export, import or statistics.
public struct OperationProgress: Sendable, Hashable {
  /// A phase of an operation. The phases of each operation, in their order:
  ///
  /// - clone: `mark`, `check`, `wait`, `copy`, `publish`, `commit`. If another transaction commits after the plan, the
  ///   plan is created again.
  /// - backup, restore, reflink copy, salvage: some of `check`, `gather`, `copy`, `rebuild`, `apply`, `repair`, `sync`,
  ///   `verify`
  /// - import: `opening`, `objects`, `links`, `commit`, `sync`
  /// - export: `objects`, `sync`
  /// - migration, for each step: `willMigrate`, `delete`, `move`, `rewrite`, `link`, `index`, `didMigrate`
  /// - statistics: `read`
  public struct Phase: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The stable text of the phase, as in JSON.
    public let rawValue: String

    /// Creates a phase from its text. Later versions may add phases, so a `switch` needs a `default`.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The stable text of the phase.
    public var description: String { rawValue }

    /// Traversing the graph to find the objects to clone.
    public static let mark = Phase(rawValue: "mark")
    /// Checking every object of a clone against the rules, or the source of a restore for corruption.
    public static let check = Phase(rawValue: "check")
    /// Waiting for the write lock.
    public static let wait = Phase(rawValue: "wait")
    /// Writing the clones, or the new file of a backup or restore.
    public static let copy = Phase(rawValue: "copy")
    /// Updating outside objects that gain clones, and the reference counts of shared blobs.
    public static let publish = Phase(rawValue: "publish")
    /// Committing durably.
    public static let commit = Phase(rawValue: "commit")

    /// Collecting the changes since a snapshot, for an incremental backup.
    public static let gather = Phase(rawValue: "gather")
    /// Converting records to the layouts of the current model.
    public static let rebuild = Phase(rawValue: "renew")
    /// Applying an incremental backup to the restored state.
    public static let apply = Phase(rawValue: "apply")
    /// Repairing salvaged objects and rebuilding derived data.
    public static let repair = Phase(rawValue: "mend")
    /// Waiting for fsync.
    public static let sync = Phase(rawValue: "sync")
    /// Reading and verifying the new file.
    public static let verify = Phase(rawValue: "verify")

    /// Reading the write-ahead log, the model and the list of tables of the source.
    public static let opening = Phase(rawValue: "opening")
    /// Reading and writing objects.
    public static let objects = Phase(rawValue: "objects")
    /// Writing the links.
    public static let links = Phase(rawValue: "links")

    /// Running the handler of a stage before the step.
    public static let willMigrate = Phase(rawValue: "willMigrate")
    /// Deleting the objects of removed entities.
    public static let delete = Phase(rawValue: "delete")
    /// Assigning new ids to objects that move to another root entity.
    public static let move = Phase(rawValue: "move")
    /// Rewriting objects.
    public static let rewrite = Phase(rawValue: "rewrite")
    /// Linking the inverse sides of relationships.
    public static let link = Phase(rawValue: "link")
    /// Building indexes.
    public static let index = Phase(rawValue: "index")
    /// Running the handler of a stage after the step.
    public static let didMigrate = Phase(rawValue: "didMigrate")

    /// Reading the pages of the file.
    public static let read = Phase(rawValue: "read")
  }

  /// The current phase.
  public let phase: Phase
  /// The amount completed in this phase: objects or links; bytes in backups, restores and statistics.
  public let completed: Int
  /// The approximate total amount in this phase, or nil if it is unknown.
  public let total: Int?
  /// The index of the step, from 0. Only migrations have more than one.
  public let step: Int
  /// The number of steps.
  public let stepCount: Int

  /// Creates a progress value.
  package init(phase: Phase, completed: Int, total: Int? = nil, step: Int = 0, stepCount: Int = 1) {
    self.phase = phase
    self.completed = completed
    self.total = total
    self.step = step
    self.stepCount = stepCount
  }
}
