/// Options of an integrity check.
public struct CheckOptions: Sendable, Hashable {
  /// Whether every byte of blobs is read and verified. By default, the check only verifies that all chunks exist.
  public var readData = false
  /// The number of issues after which the check stops. The default is 1,000.
  public var maximumIssues = 1000

  /// Creates options. Each argument has its default value.
  public init(readData: Bool = false, maximumIssues: Int = 1000) {
    self.readData = readData
    self.maximumIssues = maximumIssues
  }
}

/// The result of an integrity check.
public struct CheckReport: Sendable, Hashable {
  /// The number of objects that were checked, including unreadable ones. It covers all reachable objects unless the
  /// check stopped early.
  public let objectCount: Int
  /// The number of pages of the file, in use or free.
  public let pageCount: Int
  /// The issues in the order of their discovery; empty for an intact store.
  public let issues: [IntegrityIssue]
  /// Whether the report is incomplete, because the check reached ``CheckOptions/maximumIssues``, or because more pages
  /// were unreadable than it records.
  public let isTruncated: Bool
  /// Whether the check found no issue.
  public var isClean: Bool { issues.isEmpty }
}

/// A single inconsistency or corruption in a store.
///
/// Each fault is reported once, at its origin. For a corrupted page, the lost objects are not reported separately. For
/// an unreadable record, links of its partners and index entries are not reported.
public struct IntegrityIssue: Sendable, Hashable {
  /// The kind of an issue.
  public struct Kind: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The stable text of the kind, as in JSON.
    public let rawValue: String

    /// Creates a kind from its text. Later versions may add kinds, so a `switch` needs a `default`.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The stable text of the kind.
    public var description: String { rawValue }

    // The file
    /// A page is corrupted, and its content cannot be read; or one meta page is corrupted, and the other one is used.
    public static let page = Kind(rawValue: "page")
    /// Pages are neither in use nor free, or both.
    public static let pageLeak = Kind(rawValue: "pageLeak")
    /// The file has a table that the format does not define, or lacks one.
    public static let table = Kind(rawValue: "table")
    // The store itself
    /// A metadata entry cannot be read.
    public static let metadata = Kind(rawValue: "metadata")
    /// A counter is lower than a number that is already in use.
    public static let counter = Kind(rawValue: "counter")
    /// A record layout does not match its entity.
    public static let layout = Kind(rawValue: "layout")
    /// A key does not have the format of the keys of its table.
    public static let malformedKey = Kind(rawValue: "malformedKey")
    /// A table could not be read to its end.
    public static let unreadableTable = Kind(rawValue: "unreadableTable")
    /// An entry of the change history or of the completed operations cannot be read.
    public static let history = Kind(rawValue: "history")
    /// A snapshot or a preimage cannot be read, or is inconsistent.
    public static let snapshot = Kind(rawValue: "snapshot")
    /// A branch or an entry of it cannot be read, or is inconsistent.
    public static let branch = Kind(rawValue: "branch")
    // Objects
    /// A record cannot be read.
    public static let record = Kind(rawValue: "record")
    /// An object belongs to an abstract entity.
    public static let abstractEntity = Kind(rawValue: "abstractEntity")
    /// A value in a record does not have the format of its type.
    public static let value = Kind(rawValue: "value")
    /// A derived attribute differs from the value that its sources yield.
    public static let derivedMismatch = Kind(rawValue: "derivedMismatch")
    // Relationships
    /// A relationship contains an object that does not exist.
    public static let danglingLink = Kind(rawValue: "danglingLink")
    /// A relationship contains an object of another entity than its destination.
    public static let wrongDestination = Kind(rawValue: "wrongDestination")
    /// A link exists on one side of a relationship only.
    public static let oneSidedLink = Kind(rawValue: "oneSidedLink")
    /// The list of a relationship is inconsistent.
    public static let list = Kind(rawValue: "list")
    /// Chunks of a list exist that no object references.
    public static let orphanList = Kind(rawValue: "orphanList")
    // Large binary values
    /// A record references a blob that does not exist or has another length.
    public static let missingBlob = Kind(rawValue: "missingBlob")
    /// A blob is incomplete, or its bytes differ from the stored checksum.
    public static let blob = Kind(rawValue: "blob")
    /// The reference count of a blob differs from the number of its referrers.
    public static let blobCount = Kind(rawValue: "blobCount")
    /// Chunks of a blob exist that no object references.
    public static let orphanBlob = Kind(rawValue: "orphanBlob")
    // Indexes
    /// An object lacks its entry in a fetch index or in a uniqueness index.
    public static let missingIndexEntry = Kind(rawValue: "missingIndexEntry")
    /// An index entry is corrupted.
    public static let indexEntry = Kind(rawValue: "indexEntry")
    /// An index has an entry for values that the object does not have, or for a missing object.
    public static let staleIndexEntry = Kind(rawValue: "staleIndexEntry")
    /// Two objects have the same values under a uniqueness constraint.
    public static let duplicateValues = Kind(rawValue: "duplicateValues")
  }

  /// The kind of the issue.
  public let kind: Kind
  /// The affected object, such as `Item/3`; nil if the issue does not belong to one object.
  public let object: String?
  /// The affected property, the attributes of a constraint separated by commas, or the name of a fetch index.
  public let property: String?
  /// The number of the affected page, from 0, with 4,096 bytes per page; nil if it is unknown.
  public let page: Int?
  /// A description of the issue. It never contains stored values.
  public let message: String
  /// Whether the issue affects only data derived from intact objects, which ``ObjectStore/repair(isDryRun:)`` rebuilds.
  ///
  /// All other issues need a backup, or
  /// ``ObjectStore/salvage(from:to:options:progress:cancellation:)-(_,_,_,_,Cancellation?)``.
  public var isDerived: Bool = false
  /// The name of the affected branch; nil if the issue belongs to the store itself.
  ///
  /// Each branch is checked like a store, which takes the time of another check of all objects. An issue that the store
  /// has, too, is not reported again.
  public var branch: String?
}

extension IntegrityIssue.Kind {
  /// The subjects of issues.
  enum Subject {
    /// The data of objects, or the file: it cannot be derived from anything else.
    case primary
    /// Data derived from objects.
    case derived
    /// Either: the reporter knows.
    case either
  }

  var subject: Subject {
    switch self {
    case .missingIndexEntry, .indexEntry, .staleIndexEntry, .derivedMismatch: .derived
    // Hidden referrer lists are derived from the relationships without an inverse; index entries from values;
    // unreferenced blobs, and reference counts, from all records.
    case .list, .orphanList, .danglingLink, .oneSidedLink, .malformedKey, .blobCount, .orphanBlob: .either
    default: .primary
    }
  }
}
