public import KVCloneCore
import KVCloneCoreData

/// An error of a Core Data import. If an import throws, no store is created.
public struct CoreDataImportError: KVCloneError, Hashable {
  /// The kind of an import error.
  public struct Kind: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The stable text of the kind, as in JSON.
    public let rawValue: String

    /// Creates a kind from its text. Later versions may add kinds, so a `switch` needs a `default`.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The stable text of the kind.
    public var description: String { rawValue }

    /// All kinds of this version. Kinds of other errors with the same text keep it.
    static let allCases: Set<Kind> = [
      .notADatabase, .unsupportedDatabase, .corruptedDatabase, .hotJournal, .unreadableDatabase, .changedDatabase,
      .notACoreDataStore, .modelMissing, .unreadableModel, .modelMismatch, .unknownEntity, .invalidKey, .wrongType,
      .outOfRange, .requiredValueMissing, .ambiguousColumn, .danglingReference, .wrongDestination, .inverseMismatch,
      .invalidFile, .rejected,
    ]

    /// The kind with a text, or nil if this version has none.
    init?(known text: String) {
      self.init(rawValue: text)
      if !Self.allCases.contains(self) { return nil }
    }

    // The database
    /// The file is not an SQLite database, or is encrypted.
    public static let notADatabase = Kind(rawValue: "notADatabase")
    /// The file uses an SQLite feature that Core Data stores never use.
    public static let unsupportedDatabase = Kind(rawValue: "unsupportedDatabase")
    /// The file is inconsistent or truncated.
    public static let corruptedDatabase = Kind(rawValue: "damagedDatabase")
    /// The last writer was interrupted. SQLite must roll back first.
    public static let hotJournal = Kind(rawValue: "hotJournal")
    /// The operating system cannot read the file.
    public static let unreadableDatabase = Kind(rawValue: "unreadableDatabase")
    /// Another process wrote the database during the import.
    public static let changedDatabase = Kind(rawValue: "changedDatabase")
    // The model
    /// The database is not a Core Data store.
    public static let notACoreDataStore = Kind(rawValue: "notACoreDataStore")
    /// The store does not contain its model, and no model was given.
    public static let modelMissing = Kind(rawValue: "modelMissing")
    /// The model in the store cannot be read.
    public static let unreadableModel = Kind(rawValue: "unreadableModel")
    /// The model and the tables of the store do not match.
    public static let modelMismatch = Kind(rawValue: "modelMismatch")
    // A row
    /// The Z_ENT of a row is not an entity of its table, or is an abstract entity.
    public static let unknownEntity = Kind(rawValue: "unknownEntity")
    /// The key of a row is outside the range of object ids.
    public static let invalidKey = Kind(rawValue: "invalidKey")
    /// A value does not have the type of the attribute.
    public static let wrongType = Kind(rawValue: "wrongType")
    /// A value is outside the range of the attribute's type.
    public static let outOfRange = Kind(rawValue: "outOfRange")
    /// A required attribute is NULL. Such objects are readable in Core Data.
    public static let requiredValueMissing = Kind(rawValue: "requiredValueMissing")
    /// Two columns that match the property both have a value.
    public static let ambiguousColumn = Kind(rawValue: "ambiguousColumn")
    /// A relationship leads to a row that does not exist or was skipped.
    public static let danglingReference = Kind(rawValue: "danglingReference")
    /// A relationship leads to an object of another entity than its destination.
    public static let wrongDestination = Kind(rawValue: "wrongDestination")
    /// The two sides of a one-to-one relationship do not match.
    public static let inverseMismatch = Kind(rawValue: "disagreement")
    /// A file with the bytes of an attribute is missing, or is not a regular file in the folder of the store.
    public static let invalidFile = Kind(rawValue: "invalidFile")
    /// An object violates a rule of the model; ``CoreDataImportError/kindName`` names the rule.
    public static let rejected = Kind(rawValue: "refused")
  }

  /// The kind of the error.
  public let kind: Kind
  /// The stable text of the kind; for ``Kind/rejected``, the violated rule, such as `uniquenessConflict`.
  public let kindName: String
  /// The affected entity.
  public let entity: String?
  /// The affected property.
  public let property: String?
  /// The affected object, as `Entity/Z_PK`.
  public let object: String?
  /// The failure and its remedy.
  public let message: String

  init(
    _ kind: Kind, _ message: String, entity: String? = nil, property: String? = nil, object: String? = nil,
    kindName: String? = nil
  ) {
    self.kind = kind
    self.message = message
    self.entity = entity
    self.property = property
    self.object = object
    self.kindName = kindName ?? kind.rawValue
  }

  init(_ error: SQLiteError) {
    self.init(Kind(known: error.kind.rawValue) ?? .corruptedDatabase, error.message)
  }

  init(_ error: CoreDataStoreError) {
    self.init(
      Kind(known: error.kind.rawValue) ?? .notACoreDataStore, error.message, entity: error.entity,
      property: error.property)
  }

  /// Converts an error of the reader, with the value's name; `cancelled` stays unchanged.
  static func named(_ error: SQLiteError, _ row: CoreDataRow, _ property: String) -> any Error {
    if error.kind == .cancelled { return error }
    return CoreDataImportError(
      Kind(known: error.kind.rawValue) ?? .corruptedDatabase, "\(row.name) \(property): \(error.message)",
      entity: row.entity.name, property: property, object: row.name)
  }

  /// The error of a cancelled import.
  static let cancelled = StoreError(.cancelled, "the import was cancelled; its partial output was removed")

  /// Converts errors of the layers below; others stay unchanged.
  static func translated(_ error: any Error) -> any Error {
    switch error {
    case let error as SQLiteError where error.kind == .cancelled: cancelled
    case let error as SQLiteError: CoreDataImportError(error)
    case let error as CoreDataStoreError: CoreDataImportError(error)
    default: error
    }
  }
}
