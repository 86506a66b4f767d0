/// An error of a store: of opening, transactions, reading and changing objects, snapshots, backups, migration or the
/// file.
public struct StoreError: KVCloneError, Hashable {
  /// The kinds of store errors.
  ///
  /// Later versions may add kinds. A `switch` over kinds therefore needs a `default` case.
  public struct Kind: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The stable text of the kind, as in JSON.
    public let rawValue: String

    /// Creates a kind from its stable text.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The stable text of the kind.
    public var description: String { rawValue }

    // Opening
    /// There is no store at the path.
    public static let storeNotFound = Kind(rawValue: "noStore")
    /// The store was moved to another cluster. Open it there.
    public static let storeMoved = Kind(rawValue: "storeMoved")
    /// A store already exists at the path.
    public static let storeExists = Kind(rawValue: "storeExists")
    /// A file or directory already exists where a directory is to be created.
    public static let fileExists = Kind(rawValue: "fileExists")
    /// A destination path cannot be used.
    ///
    /// The parent directory does not exist or is not a directory, or the path lies inside the directory of a store. Or
    /// the name or the URL of a store in a cluster is invalid.
    public static let invalidDestination = Kind(rawValue: "invalidDestination")
    /// The file at the path is not a KVClone store, or must not be opened because of a symlink, its owner or its mode.
    public static let invalidStore = Kind(rawValue: "notAStore")
    /// The file has a format version that requires a newer library.
    public static let newerFormat = Kind(rawValue: "newerFormat")
    /// The file has an old format version that this library no longer reads. Dump it with the build that wrote it, and
    /// load the dump.
    public static let olderFormat = Kind(rawValue: "olderFormat")
    /// The given model differs from the model of the store.
    public static let incompatibleModel = Kind(rawValue: "incompatibleModel")
    /// The model violates a rule for models.
    public static let invalidModel = Kind(rawValue: "invalidModel")
    /// This process has already opened the file.
    public static let alreadyOpen = Kind(rawValue: "alreadyOpen")
    // Transactions
    /// Another writer holds the write lock, and the timeout has expired.
    public static let busy = Kind(rawValue: "busy")
    /// This thread already has a write transaction; a second one would deadlock.
    public static let nestedWrite = Kind(rawValue: "nestedWrite")
    /// An operation in this transaction failed after its first change, and the transaction is abort-only.
    public static let transactionAborted = Kind(rawValue: "transactionAborted")
    /// The store was opened read-only.
    public static let readOnly = Kind(rawValue: "readOnly")
    /// The store was closed.
    public static let closed = Kind(rawValue: "closed")
    /// This process is a fork of the process that opened the store. Open the store again in the child process.
    public static let forked = Kind(rawValue: "forked")
    /// All reader slots are in use.
    public static let readersFull = Kind(rawValue: "readersFull")
    /// The store already has its maximum number of pinned snapshots.
    public static let tooManySnapshots = Kind(rawValue: "tooManySnapshots")
    /// The pinned snapshot exceeded its maximum age and was closed.
    public static let snapshotExpired = Kind(rawValue: "snapshotExpired")
    /// The commit failed, and may or may not have taken effect.
    ///
    /// Reopen the store and check its commit counter before you repeat the write. The state that the store then shows
    /// is durable once a later commit has returned. After an error of any other kind, nothing has changed.
    public static let commitOutcomeUnknown = Kind(rawValue: "commitUnknown")
    /// The store does not have a commit that a read requires: a failover of its cluster has lost it.
    public static let commitLost = Kind(rawValue: "commitLost")
    // Objects
    /// The object does not exist.
    public static let objectNotFound = Kind(rawValue: "objectNotFound")
    /// The text is not the name or URI of an object.
    public static let invalidObjectName = Kind(rawValue: "invalidObjectName")
    /// The model does not define the entity.
    public static let unknownEntity = Kind(rawValue: "unknownEntity")
    /// The entity is abstract and cannot have objects of its own.
    public static let abstractEntity = Kind(rawValue: "abstractEntity")
    /// The entity does not have the property.
    public static let unknownProperty = Kind(rawValue: "unknownProperty")
    /// A value does not have the type of its attribute.
    public static let wrongType = Kind(rawValue: "wrongType")
    /// A fetch request contains an expression that the store cannot evaluate.
    public static let invalidPredicate = Kind(rawValue: "invalidPredicate")
    /// A value is outside the range of its attribute's type.
    public static let outOfRange = Kind(rawValue: "outOfRange")
    /// The target of a relationship belongs to another entity than the relationship's destination.
    public static let wrongDestination = Kind(rawValue: "wrongDestination")
    /// An index is outside the list.
    public static let invalidIndex = Kind(rawValue: "invalidIndex")
    /// The object has changed since it was read.
    public static let staleObject = Kind(rawValue: "changedSince")
    /// The object has members in a relationship with the delete rule deny.
    public static let deleteDenied = Kind(rawValue: "deleteDenied")
    /// No transformer is registered for a transformable attribute and the requested type.
    public static let unknownTransformer = Kind(rawValue: "unknownTransformer")
    /// A value transformer failed to encode a value or to decode its bytes.
    public static let transformFailed = Kind(rawValue: "transformFailed")
    /// A lifecycle hook threw an error, or hooks keep changing objects without end.
    public static let hookFailed = Kind(rawValue: "hookFailed")
    /// A limit was reached, or a regular expression takes too many steps.
    ///
    /// Limits apply to the size of records, the number of tables and ids, ``StoreOptions/maximumObjectCount`` and
    /// ``StoreOptions/maximumFileBytes``.
    public static let limitExceeded = Kind(rawValue: "limitExceeded")
    // History
    /// The store does not record a history of changes.
    public static let historyDisabled = Kind(rawValue: "historyOff")
    /// The history after a token has been purged.
    public static let historyExpired = Kind(rawValue: "historyExpired")
    /// The token belongs to another store, or to a state that this store never had.
    public static let invalidHistoryToken = Kind(rawValue: "invalidHistoryToken")
    // Snapshots
    /// The snapshot does not exist, or was deleted.
    public static let snapshotNotFound = Kind(rawValue: "snapshotNotFound")
    /// A snapshot with the name already exists.
    public static let snapshotExists = Kind(rawValue: "snapshotExists")
    /// The name of a snapshot or of a hold is invalid.
    public static let invalidSnapshotName = Kind(rawValue: "invalidSnapshotName")
    /// The snapshot has a hold and cannot be deleted.
    public static let snapshotHeld = Kind(rawValue: "snapshotHeld")
    /// The snapshot has no hold with the name.
    public static let snapshotNotHeld = Kind(rawValue: "snapshotNotHeld")
    // Backups
    /// The file at the path is an incremental backup, which cannot be opened as a store.
    public static let incrementalBackup = Kind(rawValue: "incrementalBackup")
    /// The backups to restore do not form a chain, or are in the wrong order.
    public static let brokenChain = Kind(rawValue: "brokenChain")
    // Migration
    /// A migration cannot be inferred for a change of the model; provide a mapping model.
    public static let mappingRequired = Kind(rawValue: "notInferable")
    /// A value cannot be converted to the type of its attribute in the new model version.
    public static let notConvertible = Kind(rawValue: "notConvertible")
    /// Two objects have the same values under a new uniqueness constraint.
    public static let notUnique = Kind(rawValue: "notUnique")
    /// A mapping model does not match its two model versions, or uses an unsupported feature.
    public static let invalidMapping = Kind(rawValue: "invalidMapping")
    /// An object that a mapping model or a stage's handler has created or changed violates a rule of the model.
    public static let invalidObject = Kind(rawValue: "invalidObject")
    /// A migration stage names an unknown version, or does not lie on the path to the target version.
    public static let invalidStage = Kind(rawValue: "invalidStage")
    /// The handler of a migration stage threw an error, which is in ``StoreError/underlyingError``.
    public static let stageFailed = Kind(rawValue: "stageFailed")
    // File
    /// A record, list, index entry or blob in the file is corrupted.
    public static let corrupted = Kind(rawValue: "damaged")
    /// The memory map of the file is full. It grows when no transaction of this process is open; run the write again
    /// then.
    public static let mapFull = Kind(rawValue: "mapFull")
    /// The disk is full.
    public static let diskFull = Kind(rawValue: "diskFull")
    /// The storage engine of the store does not support the operation.
    public static let unsupportedByEngine = Kind(rawValue: "unsupportedByEngine")
    /// A call of the operating system failed.
    public static let io = Kind(rawValue: "io")
    /// A backup, restore, reflink copy, export or migration was cancelled and left nothing behind.
    public static let cancelled = Kind(rawValue: "cancelled")
  }

  /// The kind of the error.
  public let kind: Kind
  /// The affected entity.
  public let entity: String?
  /// The affected property.
  public let property: String?
  /// The affected object, such as `Item/3`.
  public let object: String?
  /// The failure and the remedy.
  public let message: String
  /// The error that code of the app threw, or the full report of a check; nil in all other cases.
  ///
  /// Comparing two errors ignores this property.
  public let underlyingError: (any Error)?

  /// The stable text of the kind.
  public var kindName: String { kind.rawValue }

  package init(
    _ kind: Kind, _ message: String, entity: String? = nil, property: String? = nil, object: String? = nil,
    underlyingError: (any Error)? = nil
  ) {
    self.kind = kind
    self.message = message
    self.entity = entity
    self.property = property
    self.object = object
    self.underlyingError = underlyingError
  }

  /// Returns whether two errors are equal, except for ``underlyingError``, which need not be comparable.
  public static func == (left: StoreError, right: StoreError) -> Bool {
    left.kind == right.kind && left.entity == right.entity && left.property == right.property
      && left.object == right.object && left.message == right.message
  }

  /// Hashes the compared properties.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(kind)
    hasher.combine(entity)
    hasher.combine(property)
    hasher.combine(object)
    hasher.combine(message)
  }
}
