import KVCloneCoreData

/// Why a store of Core Data's cannot be imported. Nothing is made then.
public struct CoreDataImportError: KVCloneError, Hashable {
  /// The kinds of failure.
  public struct Kind: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The stable text of the kind, as in JSON.
    public let rawValue: String

    /// Creates a kind from its text. Later versions may add kinds, so a `switch` needs a `default`.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The stable text of the kind.
    public var description: String { rawValue }

    // The database
    /// The file is something else, or encrypted.
    public static let notADatabase = Kind(rawValue: "notADatabase")
    /// The file uses something of SQLite's that no store of Core Data's does.
    public static let unsupportedDatabase = Kind(rawValue: "unsupportedDatabase")
    /// The file contradicts itself, or ends too early.
    public static let corruptedDatabase = Kind(rawValue: "damagedDatabase")
    /// Its writer was cut off; SQLite has to roll back first.
    public static let hotJournal = Kind(rawValue: "hotJournal")
    /// The operating system refused to read the file.
    public static let unreadableDatabase = Kind(rawValue: "unreadableDatabase")
    /// Somebody wrote the database while it was read.
    public static let changedDatabase = Kind(rawValue: "changedDatabase")
    // The model
    /// The database is none of Core Data's.
    public static let notACoreDataStore = Kind(rawValue: "notACoreDataStore")
    /// The store does not hold its model, and none was given.
    public static let modelMissing = Kind(rawValue: "modelMissing")
    /// The model that the store holds cannot be read.
    public static let unreadableModel = Kind(rawValue: "unreadableModel")
    /// The model has something that the tables have not, or the other way round.
    public static let modelMismatch = Kind(rawValue: "modelMismatch")
    // A row
    /// A row's Z_ENT is no entity of its table, or an abstract one.
    public static let unknownEntity = Kind(rawValue: "unknownEntity")
    /// A row's key is none that an object can have.
    public static let invalidKey = Kind(rawValue: "invalidKey")
    /// A value is not of the attribute's type.
    public static let wrongType = Kind(rawValue: "wrongType")
    /// A value does not fit into the attribute's type.
    public static let outOfRange = Kind(rawValue: "outOfRange")
    /// A required attribute is NULL. Objects stay with it: Core Data reads them.
    public static let requiredValueMissing = Kind(rawValue: "requiredValueMissing")
    /// Two columns that could both be the property's have a value.
    public static let ambiguousColumn = Kind(rawValue: "ambiguousColumn")
    /// A relationship leads to a row that is not there, or was left out.
    public static let danglingReference = Kind(rawValue: "danglingReference")
    /// A relationship leads to an object of another entity than its destination.
    public static let wrongDestination = Kind(rawValue: "wrongDestination")
    /// The two sides of a one-to-one relationship do not agree.
    public static let inverseMismatch = Kind(rawValue: "disagreement")
    /// A file with an attribute's bytes is missing, or no plain file in the store's own folder.
    public static let invalidFile = Kind(rawValue: "invalidFile")
    /// A rule of the model is broken; ``CoreDataImportError/kindName`` tells which.
    public static let rejected = Kind(rawValue: "refused")
  }

  /// What failed.
  public let kind: Kind
  /// The error's case name; for ``Kind/refused`` that of the rule, such as `uniquenessConflict`.
  public let kindName: String
  /// The entity concerned.
  public let entity: String?
  /// The property concerned.
  public let property: String?
  /// The object concerned, `Entity/Z_PK`.
  public let object: String?
  /// What failed and what to do.
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
    self.init(Kind(rawValue: error.kind.rawValue) ?? .corruptedDatabase, error.message)
  }

  init(_ error: CoreDataStoreError) {
    self.init(
      Kind(rawValue: error.kind.rawValue) ?? .notACoreDataStore, error.message, entity: error.entity,
      property: error.property)
  }

  /// What the reader says of the database, with the value's name; `cancelled` stays what it is.
  static func named(_ error: SQLiteError, _ row: CoreDataRow, _ property: String) -> any Error {
    if error.kind == .cancelled { return error }
    return CoreDataImportError(
      Kind(rawValue: error.kind.rawValue) ?? .corruptedDatabase, "\(row.name) \(property): \(error.message)",
      entity: row.entity.name, property: property, object: row.name)
  }

  /// The end of an import that nobody wants any more.
  static let cancelled = StoreError(.cancelled, "the import was cancelled; nothing is left of it")

  /// Errors of the layers below as this one; others stay what they are.
  static func translated(_ error: any Error) -> any Error {
    switch error {
    case let error as SQLiteError where error.kind == .cancelled: cancelled
    case let error as SQLiteError: CoreDataImportError(error)
    case let error as CoreDataStoreError: CoreDataImportError(error)
    default: error
    }
  }
}
