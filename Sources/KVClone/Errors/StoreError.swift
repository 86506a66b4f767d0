/// What can go wrong between a store and its file, and between a caller and an object.
public struct StoreError: KVCloneError, Hashable {
  /// The kinds of failure.
  public enum Kind: String, Sendable, Hashable {
    // Opening
    /// There is no store at the path.
    case noStore
    /// There is a store at the path already.
    case storeExists
    /// There is something already where a folder is to be made.
    case fileExists
    /// A path where something is to be written cannot be used: the directory that it names, or the one above it, does
    /// not exist or is something else, or it lies in a store's own directory.
    case invalidDestination
    /// What is at the path is no store of this library, or not one that may be opened (symlink, owner, mode).
    case notAStore
    /// The file was written by a newer library, and says that older ones must not read it.
    case newerFormat
    /// The file has a format that this library does not read any more: dump it with the build that wrote it, and load that.
    case olderFormat
    /// The model that was given is not the one the store holds.
    case incompatibleModel
    /// The model breaks a rule of models.
    case invalidModel
    /// This process has the file open already.
    case alreadyOpen
    // Transactions
    /// Another writer holds the lock, and the timeout ran out.
    case busy
    /// This thread holds the write transaction already; a second one would wait for itself.
    case nestedWrite
    /// An operation in this transaction failed half way, so it can only be given up.
    case transactionAborted
    /// The store was opened read-only.
    case readOnly
    /// The store was closed.
    case closed
    /// This process is a fork of the one that opened the store.
    case forked
    /// All reader slots are taken.
    case readersFull
    /// As many snapshots are pinned as the store allows.
    case tooManySnapshots
    /// A pinned snapshot was kept for longer than the store allows, and was let go.
    case snapshotExpired
    /// The commit failed, and yet it may have happened: reopen the store and look at its commit counter before the
    /// write is repeated. What it shows then is safe from a loss of power once a later commit has returned. After an error
    /// of any other kind, nothing was changed.
    case commitUnknown
    // Objects
    /// There is no such object.
    case objectNotFound
    /// A text is no object's name or URI.
    case invalidObjectName
    /// The model has no such entity.
    case unknownEntity
    /// An abstract entity has no objects of its own.
    case abstractEntity
    /// The entity has no such property.
    case unknownProperty
    /// A value is not of the attribute's type.
    case wrongType
    /// A fetch request asks for something that cannot be asked.
    case invalidPredicate
    /// A value does not fit into the attribute's type.
    case outOfRange
    /// A relationship's target is of another entity than its destination.
    case wrongDestination
    /// A position lies outside the list.
    case invalidIndex
    /// The object has changed since it was read.
    case changedSince
    /// A relationship with the delete rule deny still has members.
    case deleteDenied
    /// No transformer is registered for a transformable attribute and the type that is asked for.
    case unknownTransformer
    /// A transformer refused a value or its bytes.
    case transformFailed
    /// A hook failed, or does not come to an end.
    case hookFailed
    /// A store limit is reached (size of a record, number of tables, ids, ``StoreOptions/maximumObjectCount``,
    /// ``StoreOptions/maximumFileBytes``), or a regular expression takes too many steps.
    case limitExceeded
    // History
    /// The store keeps no history of changes.
    case historyOff
    /// What comes after a token has been purged.
    case historyExpired
    /// A token is of another store, or of a state that this one never was in.
    case invalidHistoryToken
    // Snapshots
    /// There is no such snapshot, or not any more.
    case snapshotNotFound
    /// There is a snapshot with that name already.
    case snapshotExists
    /// A name is not one that a snapshot, or who holds one, may have.
    case invalidSnapshotName
    /// A snapshot cannot be deleted, because somebody holds it.
    case snapshotHeld
    /// Nobody holds the snapshot by that name.
    case snapshotNotHeld
    // Backups
    /// What is at the path is an incremental backup, and no store by itself.
    case incrementalBackup
    /// Backups that are to be restored one after the other do not belong together, or not in this order.
    case brokenChain
    // Migration
    /// Nobody can know what becomes of the objects in the new version of the model: a mapping has to say it.
    case notInferable
    /// A value has no equal in the type that its attribute has in the new version of the model.
    case notConvertible
    /// Two objects have the same values under a uniqueness constraint that is new.
    case notUnique
    /// A mapping model does not fit its two versions, or asks for something that cannot be done here.
    case invalidMapping
    /// An object that a mapping model or a stage's handler has made or changed breaks a rule of the model.
    case invalidObject
    /// A stage names a version that is not known, or does not fit into the way from the store's version to the wanted one.
    case invalidStage
    /// A handler of a stage failed; ``StoreError/underlyingError`` is what it threw.
    case stageFailed
    // File
    /// A record, list, index entry or blob on disk is damaged.
    case damaged
    /// The map has no room left.
    case mapFull
    /// The disk is full.
    case diskFull
    /// The operating system refused.
    case io
    /// A backup, a restoration, a file snapshot, an export or a migration was cancelled; nothing is left of it.
    case cancelled
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
