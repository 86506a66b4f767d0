public import KVCloneModel

/// How a store of Core Data's is imported.
public struct CoreDataImportOptions: Sendable {
  /// The model that the store was written with; nil takes the one that the store holds.
  public var model: ManagedObjectModel?
  /// Imports what can be taken over, and reports the rest, instead of refusing the whole store.
  ///
  /// A row that is no object of the model is left out. An object stays, whatever is wrong with one of its values or
  /// links: a value that cannot be read becomes nil, or the default value where the attribute is required; a link that
  /// leads nowhere is left out; and a value or a list that breaks a rule of the model stays as it is, because Core Data
  /// checks its rules when it saves only. Of two objects with the same unique values, the one with the greater key
  /// loses the first of them.
  public var skipsBroken = false
  /// How many of the things that were skipped, and of the values that were converted, are reported one by one.
  public var skippedLimit = 1_000

  /// The store's own model, and nothing is skipped.
  public init() {}
}

/// A value that Core Data reads as another one than what is stored, because the column has a value of another type: a
/// number in text, cut off where the number ends.
public struct CoreDataConversion: Sendable, Hashable {
  /// The object's entity.
  public let entity: String
  /// The attribute, with a point between a composite one and its element.
  public let property: String
  /// The object, `Entity/Z_PK`.
  public let object: String
}

/// Something that was not taken over, or breaks a rule of the model.
public struct CoreDataSkipped: Sendable, Hashable {
  /// What is wrong, as the error would have said it that an import without ``CoreDataImportOptions/skipsBroken`` throws.
  public let error: CoreDataImportError
  /// Whether the whole object was left out. Otherwise it is there, without the value or the link, or with what breaks
  /// the rule.
  public let isWholeObject: Bool
}

/// Something of the store that has no place in the model.
public struct CoreDataOmission: Sendable, Hashable {
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
  /// The first of the values that are read as other ones than what is stored, as Core Data reads them.
  public internal(set) var conversions: [CoreDataConversion] = []
  /// How many values are.
  public internal(set) var conversionCount = 0
  /// What has no place in the model: the history of changes, CloudKit's mirror.
  public internal(set) var omissions: [CoreDataOmission] = []
  /// Bytes of the new store's file.
  public internal(set) var byteCount: UInt64 = 0
  /// How long it took.
  public internal(set) var duration: Duration = .zero

  mutating func noteObject(_ entity: String) {
    objectCount += 1
    counts[entity, default: 0] += 1
  }

  mutating func note(_ conversion: CoreDataConversion, limit: Int) {
    conversionCount += 1
    if conversions.count < limit { conversions.append(conversion) }
  }

  mutating func noteSkipped(_ error: CoreDataImportError, isWholeObject: Bool, limit: Int) {
    skippedCount += 1
    if skipped.count < limit { skipped.append(CoreDataSkipped(error: error, isWholeObject: isWholeObject)) }
  }
}

/// How far an import has come.
public struct CoreDataImportProgress: Sendable, Hashable {
  /// What is done, one after the other.
  public struct Phase: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The stable text of the phase, as in JSON.
    public let rawValue: String

    /// Creates a phase from its text. Later versions may add phases, so a `switch` needs a `default`.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The stable text of the phase.
    public var description: String { rawValue }

    /// Reading the write-ahead log, the model, and what tables there are.
    public static let opening = Phase(rawValue: "opening")
    /// Reading rows, and writing objects.
    public static let objects = Phase(rawValue: "objects")
    /// Linking objects.
    public static let links = Phase(rawValue: "links")
    /// Checking the model's rules, and writing what is left.
    public static let commit = Phase(rawValue: "commit")
    /// Waiting for the disk.
    public static let sync = Phase(rawValue: "sync")
  }

  /// What is being done.
  public let phase: Phase
  /// Objects or links so far.
  public let completed: Int
  /// About how many it will be; nil while that is not known.
  public let total: Int?
}
