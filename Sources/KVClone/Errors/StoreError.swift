/// What can go wrong between a store and its file, and between a caller and an object.
public struct StoreError: KVCloneError, Hashable {
  /// The kinds of failure.
  public struct Kind: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The stable text of the kind, as in JSON.
    public let rawValue: String

    /// Creates a kind from its text. Later versions may add kinds, so a `switch` needs a `default`.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The stable text of the kind.
    public var description: String { rawValue }

    // Opening
    /// There is no store at the path.
    public static let storeNotFound = Kind(rawValue: "noStore")
    /// There is a store at the path already.
    public static let storeExists = Kind(rawValue: "storeExists")
    /// There is something already where a folder is to be made.
    public static let fileExists = Kind(rawValue: "fileExists")
    /// A path where something is to be written cannot be used: the directory that it names, or the one above it, does
    /// not exist or is something else, or it lies in a store's own directory.
    public static let invalidDestination = Kind(rawValue: "invalidDestination")
    /// What is at the path is no store of this library, or not one that may be opened (symlink, owner, mode).
    public static let invalidStore = Kind(rawValue: "notAStore")
    /// The file was written by a newer library, and says that older ones must not read it.
    public static let newerFormat = Kind(rawValue: "newerFormat")
    /// The file has a format that this library does not read any more: dump it with the build that wrote it, and load that.
    public static let olderFormat = Kind(rawValue: "olderFormat")
    /// The model that was given is not the one the store holds.
    public static let incompatibleModel = Kind(rawValue: "incompatibleModel")
    /// The model breaks a rule of models.
    public static let invalidModel = Kind(rawValue: "invalidModel")
    /// This process has the file open already.
    public static let alreadyOpen = Kind(rawValue: "alreadyOpen")
    // Transactions
    /// Another writer holds the lock, and the timeout ran out.
    public static let busy = Kind(rawValue: "busy")
    /// This thread holds the write transaction already; a second one would wait for itself.
    public static let nestedWrite = Kind(rawValue: "nestedWrite")
    /// An operation in this transaction failed half way, so it can only be given up.
    public static let transactionAborted = Kind(rawValue: "transactionAborted")
    /// The store was opened read-only.
    public static let readOnly = Kind(rawValue: "readOnly")
    /// The store was closed.
    public static let closed = Kind(rawValue: "closed")
    /// This process is a fork of the one that opened the store.
    public static let forked = Kind(rawValue: "forked")
    /// All reader slots are taken.
    public static let readersFull = Kind(rawValue: "readersFull")
    /// As many snapshots are pinned as the store allows.
    public static let tooManySnapshots = Kind(rawValue: "tooManySnapshots")
    /// A pinned snapshot was kept for longer than the store allows, and was let go.
    public static let snapshotExpired = Kind(rawValue: "snapshotExpired")
    /// The commit failed, and yet it may have happened: reopen the store and look at its commit counter before the
    /// write is repeated. What it shows then is safe from a loss of power once a later commit has returned. After an error
    /// of any other kind, nothing was changed.
    public static let commitOutcomeUnknown = Kind(rawValue: "commitUnknown")
    // Objects
    /// There is no such object.
    public static let objectNotFound = Kind(rawValue: "objectNotFound")
    /// A text is no object's name or URI.
    public static let invalidObjectName = Kind(rawValue: "invalidObjectName")
    /// The model has no such entity.
    public static let unknownEntity = Kind(rawValue: "unknownEntity")
    /// An abstract entity has no objects of its own.
    public static let abstractEntity = Kind(rawValue: "abstractEntity")
    /// The entity has no such property.
    public static let unknownProperty = Kind(rawValue: "unknownProperty")
    /// A value is not of the attribute's type.
    public static let wrongType = Kind(rawValue: "wrongType")
    /// A fetch request asks for something that cannot be asked.
    public static let invalidPredicate = Kind(rawValue: "invalidPredicate")
    /// A value does not fit into the attribute's type.
    public static let outOfRange = Kind(rawValue: "outOfRange")
    /// A relationship's target is of another entity than its destination.
    public static let wrongDestination = Kind(rawValue: "wrongDestination")
    /// A position lies outside the list.
    public static let invalidIndex = Kind(rawValue: "invalidIndex")
    /// The object has changed since it was read.
    public static let staleObject = Kind(rawValue: "changedSince")
    /// A relationship with the delete rule deny still has members.
    public static let deleteDenied = Kind(rawValue: "deleteDenied")
    /// No transformer is registered for a transformable attribute and the type that is asked for.
    public static let unknownTransformer = Kind(rawValue: "unknownTransformer")
    /// A transformer refused a value or its bytes.
    public static let transformFailed = Kind(rawValue: "transformFailed")
    /// A hook failed, or does not come to an end.
    public static let hookFailed = Kind(rawValue: "hookFailed")
    /// A store limit is reached (size of a record, number of tables, ids, ``StoreOptions/maximumObjectCount``,
    /// ``StoreOptions/maximumFileBytes``), or a regular expression takes too many steps.
    public static let limitExceeded = Kind(rawValue: "limitExceeded")
    // History
    /// The store keeps no history of changes.
    public static let historyDisabled = Kind(rawValue: "historyOff")
    /// What comes after a token has been purged.
    public static let historyExpired = Kind(rawValue: "historyExpired")
    /// A token is of another store, or of a state that this one never was in.
    public static let invalidHistoryToken = Kind(rawValue: "invalidHistoryToken")
    // Snapshots
    /// There is no such snapshot, or not any more.
    public static let snapshotNotFound = Kind(rawValue: "snapshotNotFound")
    /// There is a snapshot with that name already.
    public static let snapshotExists = Kind(rawValue: "snapshotExists")
    /// A name is not one that a snapshot, or who holds one, may have.
    public static let invalidSnapshotName = Kind(rawValue: "invalidSnapshotName")
    /// A snapshot cannot be deleted, because somebody holds it.
    public static let snapshotHeld = Kind(rawValue: "snapshotHeld")
    /// Nobody holds the snapshot by that name.
    public static let snapshotNotHeld = Kind(rawValue: "snapshotNotHeld")
    // Backups
    /// What is at the path is an incremental backup, and no store by itself.
    public static let incrementalBackup = Kind(rawValue: "incrementalBackup")
    /// Backups that are to be restored one after the other do not belong together, or not in this order.
    public static let brokenChain = Kind(rawValue: "brokenChain")
    // Migration
    /// Nobody can know what becomes of the objects in the new version of the model: a mapping has to say it.
    public static let mappingRequired = Kind(rawValue: "notInferable")
    /// A value has no equal in the type that its attribute has in the new version of the model.
    public static let notConvertible = Kind(rawValue: "notConvertible")
    /// Two objects have the same values under a uniqueness constraint that is new.
    public static let notUnique = Kind(rawValue: "notUnique")
    /// A mapping model does not fit its two versions, or asks for something that cannot be done here.
    public static let invalidMapping = Kind(rawValue: "invalidMapping")
    /// An object that a mapping model or a stage's handler has made or changed breaks a rule of the model.
    public static let invalidObject = Kind(rawValue: "invalidObject")
    /// A stage names a version that is not known, or does not fit into the way from the store's version to the wanted one.
    public static let invalidStage = Kind(rawValue: "invalidStage")
    /// A handler of a stage failed; ``StoreError/underlyingError`` is what it threw.
    public static let stageFailed = Kind(rawValue: "stageFailed")
    // File
    /// A record, list, index entry or blob on disk is damaged.
    public static let corrupted = Kind(rawValue: "damaged")
    /// The map has no room left.
    public static let mapFull = Kind(rawValue: "mapFull")
    /// The disk is full.
    public static let diskFull = Kind(rawValue: "diskFull")
    /// The operating system refused.
    public static let io = Kind(rawValue: "io")
    /// A backup, a restoration, a file snapshot, an export or a migration was cancelled; nothing is left of it.
    public static let cancelled = Kind(rawValue: "cancelled")
  }

  /// What happened.
  public let kind: Kind
  /// The entity concerned.
  public let entity: String?
  /// The property concerned.
  public let property: String?
  /// The object concerned, as `Item/3`.
  public let object: String?
  /// What failed and what to do.
  public let message: String
  /// What code of the app's own threw that was running when it failed, or all that a check found; nil where the message tells
  /// everything. Two errors that differ in nothing else are equal.
  public let underlyingError: (any Error)?

  /// The kind's name.
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

  /// Whether they tell the same, whatever the app's own error is: that one need not be comparable.
  public static func == (left: StoreError, right: StoreError) -> Bool {
    left.kind == right.kind && left.entity == right.entity && left.property == right.property
      && left.object == right.object && left.message == right.message
  }

  /// Hashes what is compared.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(kind)
    hasher.combine(entity)
    hasher.combine(property)
    hasher.combine(object)
    hasher.combine(message)
  }
}
