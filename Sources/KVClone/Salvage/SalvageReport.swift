public import KVCloneModel

/// How a damaged store is salvaged.
public struct SalvageOptions: Sendable, Hashable {
  /// The model of the store's objects, which is used only where the store's own cannot be read any more. It has to be the version that
  /// the store was made with; one that has been migrated needs its own.
  public var model: ManagedObjectModel?
  /// How many losses the report describes; the others are counted.
  public var maximumLosses = 1000

  /// The defaults, changed where an argument says so.
  public init(model: ManagedObjectModel? = nil, maximumLosses: Int = 1000) {
    self.model = model
    self.maximumLosses = maximumLosses
  }
}

/// What a salvage brought over, and what it could not.
public struct SalvageReport: Sendable, Hashable {
  /// Objects in the new store.
  public internal(set) var objectCount = 0
  /// The same by concrete entity.
  public internal(set) var counts: [String: Int] = [:]
  /// What was lost, in the order it was found: the first ones, up to ``SalvageOptions/maximumLosses``.
  public internal(set) var losses: [SalvageLoss] = []
  /// How many losses there are, by kind.
  public internal(set) var lossCounts: [SalvageLoss.Kind: Int] = [:]
  /// Objects that are known to be lost: those whose records are damaged, and, as far as the store's own counts tell, those that lost pages had.
  public internal(set) var lostObjectCount = 0
  /// Named snapshots of the damaged store, which stay behind, as far as they can be counted; automatic ones included.
  public internal(set) var snapshotCount = 0
  /// Whether a history of changes was kept, which stays behind.
  public internal(set) var hadHistory = false
  /// Damaged pages of the file that belong to a tree, or lead to one.
  public internal(set) var corruptedPageCount = 0
  /// The commit of the new store.
  public internal(set) var commit: UInt64 = 0
  /// Bytes of the new data file.
  public internal(set) var byteCount: UInt64 = 0
  /// How long it took, with syncs and the check of what was made.
  public internal(set) var duration: Duration = .zero

  /// How many losses there are.
  public var lossCount: Int { lossCounts.values.reduce(0, +) }
  /// Whether every object of the damaged store is in the new one as it was.
  public var isComplete: Bool { lossCounts.isEmpty }
  /// Whether there are more losses than are described.
  public var isTruncated: Bool { losses.count < lossCount }
}

/// Something that a salvage could not bring over as it was.
public struct SalvageLoss: Sendable, Hashable {
  /// The kinds of loss.
  public struct Kind: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The stable text of the kind, as in JSON.
    public let rawValue: String

    /// Creates a kind from its text. Later versions may add kinds, so a `switch` needs a `default`.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The stable text of the kind.
    public var description: String { rawValue }

    /// All kinds of this version.
    package static let allCases: [Kind] = [
      .state, .metadata, .object, .objects, .doubtfulObject, .value, .link, .list, .order,
    ]

    /// The state that was salvaged is not the last one, or nobody knows whether it is.
    public static let state = Kind(rawValue: "state")
    /// What the store says of itself could not be read in part, and was replaced.
    public static let metadata = Kind(rawValue: "metadata")
    /// An object whose record cannot be read.
    public static let object = Kind(rawValue: "object")
    /// Objects of a page that is lost, whose serials are not known.
    public static let objects = Kind(rawValue: "objects")
    /// An object that was found beside the trees: it may be older than the store's state, or have been deleted.
    public static let doubtfulObject = Kind(rawValue: "doubtfulObject")
    /// An attribute whose value cannot be read, and is nil now.
    public static let value = Kind(rawValue: "value")
    /// A link to an object that is lost, or that the other side does not have.
    public static let link = Kind(rawValue: "link")
    /// Members of a to-many relationship are missing, and which they were is not known.
    public static let list = Kind(rawValue: "list")
    /// The order of some members of an ordered relationship is not known; they stand at its end.
    public static let order = Kind(rawValue: "order")
  }

  /// What kind of loss it is.
  public let kind: Kind
  /// The object concerned, as `Item/3`; nil where it is not one object's.
  public let object: String?
  /// The property concerned.
  public let property: String?
  /// The damaged page of the file, where that is known: of 4,096 bytes each, from 0 on.
  public let page: Int?
  /// Whether a rule of the model is broken by it: a mandatory value or relationship is empty now, or has too few members. The next change
  /// of the object has to mend that.
  public let breaksRule: Bool
  /// What is lost. It never contains stored values.
  public let message: String
}
