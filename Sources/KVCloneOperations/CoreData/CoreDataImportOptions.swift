public import KVCloneModel

/// Options of a Core Data import.
public struct CoreDataImportOptions: Sendable {
  /// The model that wrote the store; nil to use the model in the store.
  public var model: ManagedObjectModel?
  /// Whether the import skips broken data and reports it, instead of failing. The default is false.
  ///
  /// A row that is not an object of the model is skipped. An object is always imported, even if its values or links are
  /// broken:
  ///
  /// - An unreadable value becomes nil, or the default value if the attribute is required.
  /// - A link without a target is left out.
  /// - A value or list that violates a rule of the model stays unchanged, because Core Data validates only on save.
  /// - Of two objects with the same unique values, the one with the greater key loses the first of these values.
  public var skipsBroken = false
  /// The maximum number of skipped items, and of conversions, that the report describes. The default is 1,000.
  public var skippedLimit = 1_000

  /// Creates options that use the model in the store and skip nothing.
  public init() {}
}

/// A value that is read differently from its stored form, because the column contains another type.
///
/// Core Data reads a number from text up to the first character that is not part of the number.
public struct CoreDataConversion: Sendable, Hashable {
  /// The entity of the object.
  public let entity: String
  /// The name of the attribute; for an element of a composite attribute, the path with a dot.
  public let property: String
  /// The object, as `Entity/Z_PK`.
  public let object: String
}

/// An item that was skipped, or that violates a rule of the model.
public struct CoreDataSkipped: Sendable, Hashable {
  /// The error that an import without ``CoreDataImportOptions/skipsBroken`` throws for it.
  public let error: CoreDataImportError
  /// Whether the whole object was skipped. If false, the object exists without the value or link, or with the
  /// violation.
  public let isWholeObject: Bool
}

/// Data of the Core Data store that the import leaves out because it is not in the model.
public struct CoreDataOmission: Sendable, Hashable {
  /// The name of the entity in Core Data.
  public let name: String
  /// The feature that the data belongs to.
  public let reason: String
}

/// The result of a Core Data import or of its plan.
public struct CoreDataImportReport: Sendable {
  /// The name of the model.
  public internal(set) var modelName = ""
  /// The name of the model version.
  public internal(set) var modelVersion: String?
  /// Whether the model comes from the store.
  public internal(set) var isStoredModel = false
  /// Model features that the model in the store does not contain, such as `fetch indexes`.
  public internal(set) var modelOmissions: [String] = []
  /// Attributes with external storage according to the model in the store, such as `Photo.image`. Empty if a model was
  /// given.
  public internal(set) var externalAttributes: [String] = []
  /// The number of imported objects.
  public internal(set) var objectCount = 0
  /// The number of imported objects by concrete entity. Entities without objects are absent.
  public internal(set) var counts: [String: Int] = [:]
  /// The number of links, each counted once. Links of a relationship that is its own inverse count on both sides.
  public internal(set) var linkCount = 0
  /// The size of binary and transformable values, in bytes.
  public internal(set) var binaryByteCount: UInt64 = 0
  /// The number of values stored in external files.
  public internal(set) var externalFileCount = 0
  /// The size of the external files, in bytes.
  public internal(set) var externalByteCount: UInt64 = 0
  /// The first skipped items, up to ``CoreDataImportOptions/skippedLimit``.
  public internal(set) var skipped: [CoreDataSkipped] = []
  /// The total number of skipped items.
  public internal(set) var skippedCount = 0
  /// The first conversions, up to ``CoreDataImportOptions/skippedLimit``.
  public internal(set) var conversions: [CoreDataConversion] = []
  /// The total number of conversions.
  public internal(set) var conversionCount = 0
  /// Data that is not in the model: the change history and the CloudKit mirror.
  public internal(set) var omissions: [CoreDataOmission] = []
  /// The size of the new data file, in bytes.
  public internal(set) var byteCount: UInt64 = 0
  /// The duration of the import.
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
