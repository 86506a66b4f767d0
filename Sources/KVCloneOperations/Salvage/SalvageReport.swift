public import KVCloneModel

/// Options of a salvage.
public struct SalvageOptions: Sendable, Hashable {
  /// The model of the objects; nil to use the model in the store. It is used only if the store's own model is
  /// unreadable.
  ///
  /// It must be the model version of the store. A store that was migrated needs its own model.
  public var model: ManagedObjectModel?
  /// The maximum number of losses that the report describes. Further losses are only counted. The default is 1,000.
  public var maximumLosses = 1000

  /// Creates options. Each argument has its default value.
  public init(model: ManagedObjectModel? = nil, maximumLosses: Int = 1000) {
    self.model = model
    self.maximumLosses = maximumLosses
  }
}

/// The result of a salvage: the recovered objects and the losses.
public struct SalvageReport: Sendable, Hashable {
  /// The number of objects in the new store.
  public internal(set) var objectCount = 0
  /// The number of objects in the new store, by concrete entity.
  public internal(set) var counts: [String: Int] = [:]
  /// The first losses in the order of their discovery, up to ``SalvageOptions/maximumLosses``.
  public internal(set) var losses: [SalvageLoss] = []
  /// The number of losses by kind.
  public internal(set) var lossCounts: [SalvageLoss.Kind: Int] = [:]
  /// The number of objects known to be lost: objects with corrupted records, and objects on lost pages as far as the
  /// store's counts show.
  public internal(set) var lostObjectCount = 0
  /// The number of snapshots of the corrupted store, including automatic ones, as far as they can be counted. They are
  /// not salvaged.
  public internal(set) var snapshotCount = 0
  /// The readable branches of the corrupted store. They are not salvaged.
  public internal(set) var branches: [OmittedBranch] = []
  /// Whether the corrupted store kept a change history. It is not salvaged.
  public internal(set) var hadHistory = false
  /// The number of corrupted pages that belong to a B+tree or lead to one.
  public internal(set) var corruptedPageCount = 0
  /// The number of the commit in the new store.
  public internal(set) var commit: UInt64 = 0
  /// The size of the new data file, in bytes.
  public internal(set) var byteCount: UInt64 = 0
  /// The duration, including fsync and the check of the new store.
  public internal(set) var duration: Duration = .zero

  /// The total number of losses.
  public var lossCount: Int { lossCounts.values.reduce(0, +) }
  /// Whether the new store contains every object of the corrupted store unchanged.
  public var isComplete: Bool { lossCounts.isEmpty }
  /// Whether the report describes only some of the losses.
  public var isTruncated: Bool { losses.count < lossCount }
}

/// Data that a salvage could not recover unchanged.
public struct SalvageLoss: Sendable, Hashable {
  /// The kind of a loss.
  public struct Kind: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The stable text of the kind, as in JSON.
    public let rawValue: String

    /// Creates a kind from its text. Later versions may add kinds, so a `switch` needs a `default`.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The stable text of the kind.
    public var description: String { rawValue }

    /// The salvaged state is not, or may not be, the last commit.
    public static let state = Kind(rawValue: "state")
    /// Part of the metadata was unreadable and was replaced.
    public static let metadata = Kind(rawValue: "metadata")
    /// An object with an unreadable record.
    public static let object = Kind(rawValue: "object")
    /// Objects on a lost page; their serial numbers are unknown.
    public static let objects = Kind(rawValue: "objects")
    /// An object on a page outside the B+trees. It may be outdated or deleted.
    public static let doubtfulObject = Kind(rawValue: "doubtfulObject")
    /// An attribute with an unreadable value, which is now nil.
    public static let value = Kind(rawValue: "value")
    /// A link to a lost object, or a link that exists on one side only.
    public static let link = Kind(rawValue: "link")
    /// Missing members of a to-many relationship. Their ids are unknown.
    public static let list = Kind(rawValue: "list")
    /// The unknown order of members of an ordered relationship. They are at the end of the list.
    public static let order = Kind(rawValue: "order")
  }

  /// The kind of the loss.
  public let kind: Kind
  /// The affected object, such as `Item/3`; nil if the loss does not belong to one object.
  public let object: String?
  /// The affected property; nil if the loss does not belong to one property.
  public let property: String?
  /// The number of the corrupted page, from 0, with 4,096 bytes per page; nil if it is unknown.
  public let page: Int?
  /// Whether the loss violates a rule of the model: a required value or relationship is empty, or has too few members.
  ///
  /// The next change of the object must correct it.
  public let breaksRule: Bool
  /// A description of the loss. It never contains stored values.
  public let message: String
}
