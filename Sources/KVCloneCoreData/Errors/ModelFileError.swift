public import KVCloneModel

/// Describes why the files of a model or mapping model cannot be read, or why a model cannot be written.
public struct ModelFileError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kind of the error. The text of a kind is stable.
  public struct Kind: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The stable text of the kind, as in JSON.
    public let rawValue: String

    /// Creates a kind from its text. Later versions may add kinds, so a `switch` needs a `default`.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The stable text of the kind.
    public var description: String { rawValue }

    /// The path does not exist.
    public static let notFound = Kind(rawValue: "notFound")
    /// The file system refuses to read the file.
    public static let unreadable = Kind(rawValue: "unreadable")
    /// The path is not a model, source or compiled, or its `contents` file is not a Core Data model.
    public static let notAModel = Kind(rawValue: "notAModel")
    /// The model was saved in a binary form by an Xcode before version 4.
    public static let binaryModel = Kind(rawValue: "binaryModel")
    /// A compiled model is not a readable archive.
    public static let unreadableArchive = Kind(rawValue: "unreadableArchive")
    /// A compiled model has an attribute that cannot be read from an archive.
    public static let unsupportedArchive = Kind(rawValue: "unsupportedArchive")
    /// The path is an optimized copy of a compiled model (`.omo`), which only Core Data can read, and the `.mom` file
    /// with the same name is missing.
    public static let optimizedModel = Kind(rawValue: "optimizedModel")
    /// The bundle contains no version.
    public static let noVersion = Kind(rawValue: "noVersion")
    /// The bundle has several versions and does not name the current one.
    public static let currentVersionUnknown = Kind(rawValue: "currentVersionUnknown")
    /// The bundle does not have the requested version.
    public static let unknownVersion = Kind(rawValue: "unknownVersion")
    /// The file exceeds the maximum size of a model.
    public static let tooLarge = Kind(rawValue: "tooLarge")
    /// The file is not UTF-8.
    public static let notUTF8 = Kind(rawValue: "notUTF8")
    /// The file is not well-formed XML, or it is truncated.
    public static let malformed = Kind(rawValue: "malformed")
    /// The file has a document type, an entity or a processing instruction. Models do not use them, and readers must
    /// not process them.
    public static let forbiddenDeclaration = Kind(rawValue: "forbiddenDeclaration")
    /// The file exceeds the limits for nesting or repetition.
    public static let limitExceeded = Kind(rawValue: "limitExceeded")
    /// An element lacks a required attribute.
    public static let missingAttribute = Kind(rawValue: "missingAttribute")
    /// An attribute has a type that this library does not support.
    public static let unknownAttributeType = Kind(rawValue: "unknownAttributeType")
    /// The model was read, but a store cannot use it.
    public static let invalidModel = Kind(rawValue: "invalidModel")
    /// The path is not a `.xcmappingmodel` folder, or the file in it is not a mapping model.
    public static let notAMapping = Kind(rawValue: "notAMapping")
    /// The parts of a mapping model are inconsistent.
    public static let brokenMapping = Kind(rawValue: "brokenMapping")
    /// The path for a new bundle already exists.
    public static let alreadyExists = Kind(rawValue: "alreadyExists")
    /// The file system refuses to create the bundle, or its name is invalid.
    public static let unwritable = Kind(rawValue: "unwritable")
    /// The model has a value that a `contents` file cannot express.
    public static let inexpressible = Kind(rawValue: "inexpressible")
  }

  /// The kind of the error.
  public let kind: Kind
  /// The file or bundle at fault.
  public let path: String
  /// The entity at fault; nil if the error concerns no single entity.
  public let entity: String?
  /// The property at fault; nil if the error concerns no single property.
  public let property: String?
  /// The versions to choose from if a version must be named; empty for other kinds.
  public let choices: [String]
  /// The reason why a store cannot use the model, for the kind `invalidModel`.
  public let modelError: ModelError?
  /// The problem and how to fix it, without the path.
  public let message: String

  /// The path and the ``message``.
  public var description: String { "\(path): \(message)" }

  private init(
    _ kind: Kind, _ path: String, entity: String? = nil, property: String? = nil, choices: [String] = [],
    modelError: ModelError? = nil, _ message: String
  ) {
    self.kind = kind
    self.path = path
    self.entity = entity
    self.property = property
    self.choices = choices
    self.modelError = modelError
    self.message = message
  }
}

extension ModelFileError {
  package static func notFound(path: String) -> ModelFileError {
    ModelFileError(
      .notFound, path,
      "no such file or directory; check the path")
  }

  package static func unreadable(path: String, reason: String) -> ModelFileError {
    ModelFileError(
      .unreadable, path,
      "cannot be read (\(reason)); \(FileProblem.advice(reason))")
  }

  package static func notAModel(path: String) -> ModelFileError {
    ModelFileError(
      .notAModel, path,
      "is not a Core Data model; give the path of a .xcdatamodeld or .xcdatamodel folder, or of a compiled model: .momd, .mom or .omo"
    )
  }

  package static func binaryModel(path: String) -> ModelFileError {
    ModelFileError(
      .binaryModel, path,
      "was saved by an Xcode before version 4; open it with a newer Xcode and save it again")
  }

  package static func unreadableArchive(path: String, reason: String) -> ModelFileError {
    ModelFileError(
      .unreadableArchive, path,
      "is not a readable compiled model (\(reason)); compile the model again with Xcode")
  }

  package static func unsupportedArchive(path: String, entity: String, property: String, reason: String)
    -> ModelFileError
  {
    ModelFileError(
      .unsupportedArchive, path, entity: entity, property: property,
      "\(entity).\(property) \(reason); give the model's source instead, a .xcdatamodeld folder")
  }

  package static func optimizedModel(path: String) -> ModelFileError {
    ModelFileError(
      .optimizedModel, path,
      "is an optimized model that only Core Data can read; put the .mom file with the same name into the same folder"
    )
  }

  package static func noVersion(path: String) -> ModelFileError {
    ModelFileError(
      .noVersion, path,
      "contains no version; each version is a .xcdatamodel folder with a file 'contents', or a .mom file in a compiled bundle"
    )
  }

  package static func currentVersionUnknown(path: String, available: [String]) -> ModelFileError {
    ModelFileError(
      .currentVersionUnknown, path, choices: available,
      "does not name its current version; choose one (--model-version, for a migration --to):\(list(available))")
  }

  package static func unknownVersion(path: String, version: String, available: [String]) -> ModelFileError {
    ModelFileError(
      .unknownVersion, path, choices: available,
      "has no version '\(version)'; choose one of its versions (--model-version, for a migration --to):\(list(available))"
    )
  }

  package static func tooLarge(path: String, limit: Int) -> ModelFileError {
    ModelFileError(
      .tooLarge, path,
      "is larger than \(limit) bytes and therefore not a model; check the path")
  }

  package static func notUTF8(path: String) -> ModelFileError {
    ModelFileError(
      .notUTF8, path,
      "is not UTF-8; save it again with Xcode")
  }

  package static func malformed(path: String, line: Int, reason: String) -> ModelFileError {
    ModelFileError(
      .malformed, path,
      "line \(line): is not well-formed XML (\(reason)); restore the file")
  }

  package static func forbiddenDeclaration(path: String) -> ModelFileError {
    ModelFileError(
      .forbiddenDeclaration, path,
      "has a document type, an entity or a processing instruction, which models do not use; remove it")
  }

  package static func limitExceeded(path: String, line: Int, what: String) -> ModelFileError {
    ModelFileError(
      .limitExceeded, path,
      "line \(line): exceeds the limit for \(what); check the file")
  }

  package static func missingAttribute(path: String, line: Int, element: String, attribute: String) -> ModelFileError {
    ModelFileError(
      .missingAttribute, path,
      "line \(line): <\(element)> has no attribute '\(attribute)'; add it")
  }

  package static func unknownAttributeType(path: String, entity: String, property: String, type: String)
    -> ModelFileError
  {
    ModelFileError(
      .unknownAttributeType, path, entity: entity, property: property,
      "\(entity).\(property) has the unknown type '\(type)'; use one of Core Data's types")
  }

  package static func invalidModel(path: String, _ error: ModelError) -> ModelFileError {
    ModelFileError(
      .invalidModel, path, entity: error.entity, property: error.property, modelError: error, error.message)
  }

  package static func notAMapping(path: String) -> ModelFileError {
    ModelFileError(
      .notAMapping, path,
      "is not a mapping model; give the path of a .xcmappingmodel folder with a file 'xcmapping.xml'")
  }

  package static func brokenMapping(path: String, line: Int, reason: String) -> ModelFileError {
    ModelFileError(
      .brokenMapping, path,
      "line \(line): \(reason); create the mapping model again with Xcode")
  }

  package static func alreadyExists(path: String) -> ModelFileError {
    ModelFileError(
      .alreadyExists, path,
      "the path already exists; choose a path that does not exist")
  }

  package static func unwritable(path: String, reason: String) -> ModelFileError {
    ModelFileError(
      .unwritable, path,
      "cannot be written (\(reason)); \(FileProblem.advice(reason))")
  }

  package static func inexpressible(path: String, entity: String?, property: String?, reason: String) -> ModelFileError
  {
    ModelFileError(
      .inexpressible, path, entity: entity, property: property,
      "\([entity, property].compactMap { $0 }.joined(separator: ".")) \(reason)".trimmingPrefix(" ").description)
  }

  /// One line per name, because names may contain commas.
  private static func list(_ names: [String]) -> String { names.map { "\n  \($0)" }.joined() }
}
