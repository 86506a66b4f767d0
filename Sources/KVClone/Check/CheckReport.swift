/// How a store is checked.
public struct CheckOptions: Sendable, Hashable {
  /// Whether every byte of large binary values is read and verified too, not only which pieces of them there are.
  public var readData = false
  /// After so many damages the check ends: a store that is beyond help need not be described to the end.
  public var maximumIssues = 1000

  /// The defaults, changed where an argument says so.
  public init(readData: Bool = false, maximumIssues: Int = 1000) {
    self.readData = readData
    self.maximumIssues = maximumIssues
  }
}

/// What a check found.
public struct CheckReport: Sendable, Hashable {
  /// How many objects were looked at, those that cannot be read included: all that could be reached, unless the check
  /// ended early.
  public let objectCount: Int
  /// Pages of the file, in use or free.
  public let pageCount: Int
  /// Everything that is wrong, in the order it was found; empty for a sound store.
  public let issues: [IntegrityIssue]
  /// Whether ``CheckOptions/maximumIssues`` ended the check before it had seen everything, or more pages were refused by the system than
  /// are remembered.
  public let isTruncated: Bool
  /// Whether nothing is wrong.
  public var isClean: Bool { issues.isEmpty }
}

/// One thing that is wrong with a store.
///
/// What one fault breaks is told once, where it is: of a page that is damaged, the objects that it had are not told one by
/// one; of a record that cannot be read, neither its partners' links nor its index entries are told as well.
public struct IntegrityIssue: Sendable, Hashable {
  /// The kinds of damage.
  public struct Kind: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The stable text of the kind, as in JSON.
    public let rawValue: String

    /// Creates a kind from its text. Later versions may add kinds, so a `switch` needs a `default`.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The stable text of the kind.
    public var description: String { rawValue }

    /// All kinds of this version.
    package static let allCases: [Kind] = [
      .page, .pageLeak, .table, .metadata, .counter, .layout, .malformedKey, .unreadableTable, .history, .snapshot, .record, .abstractEntity, .value, .derivedMismatch, .danglingLink, .wrongDestination, .oneSidedLink, .list, .orphanList, .missingBlob, .blob, .blobCount, .orphanBlob, .missingIndexEntry, .indexEntry, .staleIndexEntry, .duplicateValues,
    ]

    // The file
    /// A page is damaged, and what it leads to cannot be read; or a meta page, and the other one is used.
    public static let page = Kind(rawValue: "page")
    /// Pages of the file are neither in use nor free, or both.
    public static let pageLeak = Kind(rawValue: "pageLeak")
    /// The file has a table that no store of this format has, or lacks one.
    public static let table = Kind(rawValue: "table")
    // The store itself
    /// A value of the store's description of itself cannot be read.
    public static let metadata = Kind(rawValue: "metadata")
    /// A counter is behind what was given out already.
    public static let counter = Kind(rawValue: "counter")
    /// A record layout is not one of the entity it is for.
    public static let layout = Kind(rawValue: "layout")
    /// A key has not the form of its table's keys.
    public static let malformedKey = Kind(rawValue: "malformedKey")
    /// A table could not be read to its end.
    public static let unreadableTable = Kind(rawValue: "unreadableTable")
    /// A value of the history of changes, or of operations that were done, cannot be read.
    public static let history = Kind(rawValue: "history")
    /// A snapshot, or what is saved for snapshots, cannot be read, or is not what it should be.
    public static let snapshot = Kind(rawValue: "snapshot")
    // Objects
    /// An object's record cannot be read.
    public static let record = Kind(rawValue: "record")
    /// An object is of an entity that cannot have objects.
    public static let abstractEntity = Kind(rawValue: "abstractEntity")
    /// A value in a record has not the form of its type.
    public static let value = Kind(rawValue: "value")
    /// A derived attribute is not what its sources give.
    public static let derivedMismatch = Kind(rawValue: "derivedMismatch")
    // Relationships
    /// A relationship has a member that does not exist.
    public static let danglingLink = Kind(rawValue: "danglingLink")
    /// A relationship has a member of another entity than its destination.
    public static let wrongDestination = Kind(rawValue: "wrongDestination")
    /// One object has the other as a member, and not the other way round.
    public static let oneSidedLink = Kind(rawValue: "oneSidedLink")
    /// The list of a relationship breaks a rule of lists.
    public static let list = Kind(rawValue: "list")
    /// There are pieces of a list that no object has.
    public static let orphanList = Kind(rawValue: "orphanList")
    // Large binary values
    /// A record names a large value that does not exist, or is of another length.
    public static let missingBlob = Kind(rawValue: "missingBlob")
    /// A large value is incomplete, or its bytes are not what was stored.
    public static let blob = Kind(rawValue: "blob")
    /// A large value has more or fewer referrers than are counted.
    public static let blobCount = Kind(rawValue: "blobCount")
    /// There are pieces of a large value that no object has.
    public static let orphanBlob = Kind(rawValue: "orphanBlob")
    // Indexes
    /// An object lacks its entry in a fetch index or in the index of a uniqueness constraint.
    public static let missingIndexEntry = Kind(rawValue: "missingIndexEntry")
    /// An index entry cannot be trusted.
    public static let indexEntry = Kind(rawValue: "indexEntry")
    /// An index has an entry for values that the object has not, or for no object.
    public static let staleIndexEntry = Kind(rawValue: "staleIndexEntry")
    /// Two objects have the same values under a uniqueness constraint.
    public static let duplicateValues = Kind(rawValue: "duplicateValues")
  }

  /// What kind of damage it is.
  public let kind: Kind
  /// The object concerned, as `Item/3`; nil where it is not one object's.
  public let object: String?
  /// The property concerned, a constraint's attributes with commas between, or a fetch index's name.
  public let property: String?
  /// The page of the file in which it is, where that is known: of 4,096 bytes each, from 0 on.
  public let page: Int?
  /// What is wrong. It never contains stored values.
  public let message: String
  /// Whether only data is concerned that follows from the objects, which are intact: ``ObjectStore/repair(isDryRun:)`` makes it anew. All other
  /// damage needs a backup, or ``ObjectStore/salvage(from:to:options:progress:cancellation:)-(_,_,_,_,Cancellation?)``.
  public var isDerived: Bool = false
}

extension IntegrityIssue.Kind {
  /// What kinds of damage are about.
  enum Subject {
    /// What objects are made of, or the file: nothing else tells what it was.
    case primary
    /// What follows from objects.
    case derived
    /// One or the other: whoever reports it knows.
    case either
  }

  var subject: Subject {
    switch self {
    case .missingIndexEntry, .indexEntry, .staleIndexEntry, .derivedMismatch: .derived
    // Hidden lists of referrers follow from the relationships without an inverse; entries of indexes from values; large values that
    // nobody has, and their counts, from all records.
    case .list, .orphanList, .danglingLink, .oneSidedLink, .malformedKey, .blobCount, .orphanBlob: .either
    default: .primary
    }
  }
}
