public import KVCloneModel

/// How a store of Core Data's is imported.
public struct CoreDataImportOptions: Sendable {
  /// The model that the store was written with; nil takes the one that the store holds, which lacks bounds of values, fetch indexes
  /// and fetch requests.
  public var model: ManagedObjectModel?
  /// Leaves out what cannot be taken over, and reports it, instead of refusing the whole store: a row that is no object of the model,
  /// a value that is none of its attribute's (it becomes nil), a link that leads nowhere, an object that breaks a rule of the model.
  public var skipsBroken = false
  /// How many of the things that were skipped are reported one by one.
  public var skippedLimit = 1_000

  /// The store's own model, and nothing is skipped.
  public init() {}
}

/// Something that was not taken over because it is broken.
public struct CoreDataSkipped: Sendable, Hashable {
  /// What is wrong, as the error would have said it that an import without ``CoreDataImportOptions/skipsBroken`` throws.
  public let error: CoreDataImportError
  /// Whether the whole object was left out, and not a value or a link of it.
  public let isWholeObject: Bool
}

/// Something of the store that has no place in the model.
public struct CoreDataLeftOut: Sendable, Hashable {
  /// Core Data's name of the entity.
  public let name: String
  /// What it belongs to.
  public let reason: String
}

/// What an import of a store of Core Data's did, or would do.
public struct CoreDataImportReport: Sendable {
  /// The model's name.
  public internal(set) var modelName = ""
  /// The version's name.
  public internal(set) var modelVersion: String?
  /// Whether the model came out of the store.
  public internal(set) var isStoredModel = false
  /// What the model out of the store lacks: `fetch indexes`.
  public internal(set) var modelOmissions: [String] = []
  /// Attributes whose values may be files of their own, as the model out of the store has it: `Photo.image`. Empty with a model of one's
  /// own.
  public internal(set) var externalAttributes: [String] = []
  /// Objects taken over.
  public internal(set) var objectCount = 0
  /// Objects by concrete entity; entities without any are absent.
  public internal(set) var counts: [String: Int] = [:]
  /// Links between objects, counted once; those of a relationship that is its own inverse, from both sides.
  public internal(set) var linkCount = 0
  /// Bytes of binary and transformable values.
  public internal(set) var binaryByteCount: UInt64 = 0
  /// Values that are files of their own.
  public internal(set) var externalFileCount = 0
  /// Their bytes.
  public internal(set) var externalByteCount: UInt64 = 0
  /// The first of what was skipped.
  public internal(set) var skipped: [CoreDataSkipped] = []
  /// How much was skipped.
  public internal(set) var skippedCount = 0
  /// What has no place in the model: the history of changes, CloudKit's mirror.
  public internal(set) var leftOut: [CoreDataLeftOut] = []
  /// Bytes of the new store's file.
  public internal(set) var byteCount: UInt64 = 0
  /// How long it took.
  public internal(set) var duration: Duration = .zero

  mutating func noteObject(_ entity: String) {
    objectCount += 1
    counts[entity, default: 0] += 1
  }

  mutating func noteSkipped(_ error: CoreDataImportError, isWholeObject: Bool, limit: Int) {
    skippedCount += 1
    if skipped.count < limit { skipped.append(CoreDataSkipped(error: error, isWholeObject: isWholeObject)) }
  }
}

/// How far an import has come.
public struct CoreDataImportProgress: Sendable, Hashable {
  /// What is done, one after the other.
  public enum Phase: String, Sendable {
    /// Reading the write-ahead log, the model, and what tables there are.
    case opening
    /// Reading rows, and writing objects.
    case objects
    /// Linking objects.
    case links
    /// Checking the model's rules, and writing what is left.
    case commit
    /// Waiting for the disk.
    case sync
  }

  /// What is being done.
  public let phase: Phase
  /// Objects or links so far.
  public let completed: Int
  /// About how many it will be; nil while that is not known.
  public let total: Int?
}
