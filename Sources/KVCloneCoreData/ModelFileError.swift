public import KVCloneModel

/// Describes why the files of a model or a mapping model cannot be read, or why a model cannot be written.
public struct ModelFileError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What is wrong. The text of a kind is stable.
  public struct Kind: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The stable text of the kind, as in JSON.
    public let rawValue: String

    /// Creates a kind from its text. Later versions may add kinds, so a `switch` needs a `default`.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The stable text of the kind.
    public var description: String { rawValue }

    /// There is nothing at the path.
    public static let notFound = Kind(rawValue: "notFound")
    /// The file system refuses.
    public static let unreadable = Kind(rawValue: "unreadable")
    /// The path is no model, source or compiled, or its `contents` is no Core Data model.
    public static let notAModel = Kind(rawValue: "notAModel")
    /// The model was saved by an Xcode before version 4, in a binary form.
    public static let binaryModel = Kind(rawValue: "binaryModel")
    /// A compiled model is no archive that can be read.
    public static let unreadableArchive = Kind(rawValue: "unreadableArchive")
    /// A compiled model has an attribute that cannot be read from an archive.
    public static let unsupportedArchive = Kind(rawValue: "unsupportedArchive")
    /// The path is the copy of a compiled model that Core Data loads faster (`.omo`), and the `.mom` with the same name is not beside it.
    public static let optimizedModel = Kind(rawValue: "optimizedModel")
    /// The bundle has no version in it.
    public static let noVersion = Kind(rawValue: "noVersion")
    /// The bundle has several versions, and does not say which one is current.
    public static let currentVersionUnknown = Kind(rawValue: "currentVersionUnknown")
    /// The bundle does not have the version that was asked for.
    public static let unknownVersion = Kind(rawValue: "unknownVersion")
    /// The file is larger than any model.
    public static let tooLarge = Kind(rawValue: "tooLarge")
    /// The file is not UTF-8.
    public static let notUTF8 = Kind(rawValue: "notUTF8")
    /// The file is not well-formed XML, or breaks off.
    public static let malformed = Kind(rawValue: "malformed")
    /// The file has a document type, an entity or a processing instruction: no model has, and no reader should follow them.
    public static let forbiddenDeclaration = Kind(rawValue: "forbiddenDeclaration")
    /// The file nests or repeats more than any model.
    public static let limitExceeded = Kind(rawValue: "limitExceeded")
    /// An element lacks an attribute that it means nothing without.
    public static let missingAttribute = Kind(rawValue: "missingAttribute")
    /// An attribute has a type that this library does not know.
    public static let unknownAttributeType = Kind(rawValue: "unknownAttributeType")
    /// The model was read, but no store can use it.
    public static let invalidModel = Kind(rawValue: "invalidModel")
    /// The path is no `.xcmappingmodel` folder, or the file in it is no mapping model.
    public static let notAMapping = Kind(rawValue: "notAMapping")
    /// The parts of a mapping model do not fit together.
    public static let brokenMapping = Kind(rawValue: "brokenMapping")
    /// There is something already where a bundle is to be made.
    public static let alreadyExists = Kind(rawValue: "alreadyExists")
    /// The file system refuses to make the bundle, or its name is none.
    public static let unwritable = Kind(rawValue: "unwritable")
    /// The model says something that a `contents` file cannot say.
    public static let inexpressible = Kind(rawValue: "inexpressible")
  }

  /// What is wrong.
  public let kind: Kind
  /// The file or bundle at fault.
  public let path: String
  /// The entity at fault; nil if unknown.
  public let entity: String?
  /// The property at fault; nil if unknown.
  public let property: String?
  /// The versions to choose from when one must be named; empty for other kinds.
  public let choices: [String]
  /// Why no store can use the model, for the kind `invalidModel`.
  public let modelError: ModelError?
  /// What is wrong, and what to do; without the path.
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
      "is no Core Data model; give the path of a .xcdatamodeld or .xcdatamodel folder, or of a compiled model: .momd, .mom or .omo"
    )
  }

  package static func binaryModel(path: String) -> ModelFileError {
    ModelFileError(
      .binaryModel, path,
      "was saved by an Xcode before version 4; open and save it with a newer one")
  }

  package static func unreadableArchive(path: String, reason: String) -> ModelFileError {
    ModelFileError(
      .unreadableArchive, path,
      "is no compiled model that can be read (\(reason)); compile the model again with Xcode")
  }

  package static func unsupportedArchive(path: String, entity: String, property: String, reason: String)
    -> ModelFileError
  {
    ModelFileError(
      .unsupportedArchive, path, entity: entity, property: property,
      "\(entity).\(property) \(reason); give the model's source, which has it, a .xcdatamodeld folder")
  }

  package static func optimizedModel(path: String) -> ModelFileError {
    ModelFileError(
      .optimizedModel, path,
      "is a copy of a compiled model in a form that only Core Data reads; put the .mom file with the same name beside it"
    )
  }

  package static func noVersion(path: String) -> ModelFileError {
    ModelFileError(
      .noVersion, path,
      "has no version in it; each version is a .xcdatamodel folder with a file 'contents', or a .mom file in a compiled bundle"
    )
  }

  package static func currentVersionUnknown(path: String, available: [String]) -> ModelFileError {
    ModelFileError(
      .currentVersionUnknown, path, choices: available,
      "does not say which version is current; name one (--model-version, for a migration --to):\(list(available))")
  }

  package static func unknownVersion(path: String, version: String, available: [String]) -> ModelFileError {
    ModelFileError(
      .unknownVersion, path, choices: available,
      "has no version '\(version)'; name one of its versions (--model-version, for a migration --to):\(list(available))"
    )
  }

  package static func tooLarge(path: String, limit: Int) -> ModelFileError {
    ModelFileError(
      .tooLarge, path,
      "is larger than \(limit) bytes, and so no model; check the path")
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
      "has a document type, an entity or a processing instruction, which no model needs; remove it")
  }

  package static func limitExceeded(path: String, line: Int, what: String) -> ModelFileError {
    ModelFileError(
      .limitExceeded, path,
      "line \(line): has more \(what) than any model; check the file")
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
      "is no mapping model; give the path of a .xcmappingmodel folder with a file 'xcmapping.xml'")
  }

  package static func brokenMapping(path: String, line: Int, reason: String) -> ModelFileError {
    ModelFileError(
      .brokenMapping, path,
      "line \(line): \(reason); create the mapping model again with Xcode")
  }

  package static func alreadyExists(path: String) -> ModelFileError {
    ModelFileError(
      .alreadyExists, path,
      "the path exists already; name a path that does not exist")
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
