public import KVCloneModel

/// Why the files of a model or a mapping model cannot be read, or a model not be written; each case names the file, and its description says what to do.
public enum ModelFileError: Error, Hashable, Sendable {
  /// There is nothing at the path.
  case notFound(path: String)
  /// The file system refuses; `reason` is its own message.
  case unreadable(path: String, reason: String)
  /// The path is no model, source or compiled, or its `contents` is no Core Data model.
  case notAModel(path: String)
  /// The model was saved by an Xcode before version 4, in a binary form.
  case binaryModel(path: String)
  /// A compiled model is no archive that can be read; `reason` says why.
  case unreadableArchive(path: String, reason: String)
  /// A compiled model has an attribute that cannot be read from an archive; `reason` says what it is.
  case unsupportedArchive(path: String, entity: String, property: String, reason: String)
  /// The path is the copy of a compiled model that Core Data loads faster (`.omo`), and the `.mom` with the same name
  /// is not beside it.
  case optimizedModel(path: String)
  /// The bundle has no version in it.
  case noVersion(path: String)
  /// The bundle has several versions, and does not say which one is current.
  case currentVersionUnknown(path: String, available: [String])
  /// The bundle does not have the version that was asked for.
  case unknownVersion(path: String, version: String, available: [String])
  /// The file is larger than any model.
  case tooLarge(path: String, limit: Int)
  /// The file is not UTF-8.
  case notUTF8(path: String)
  /// The file is not well-formed XML, or breaks off.
  case malformed(path: String, line: Int, reason: String)
  /// The file has a document type, an entity or a processing instruction: no model has, and no reader should follow them.
  case forbiddenDeclaration(path: String)
  /// The file nests or repeats more than any model; `what` names it.
  case limitExceeded(path: String, line: Int, what: String)
  /// An element lacks an attribute that it means nothing without.
  case missingAttribute(path: String, line: Int, element: String, attribute: String)
  /// An attribute has a type that this library does not know.
  case unknownAttributeType(path: String, entity: String, property: String, type: String)
  /// The model was read, but no store can use it.
  case invalidModel(path: String, ModelError)
  /// The path is no `.xcmappingmodel` folder, or the file in it is no mapping model.
  case notAMapping(path: String)
  /// The parts of a mapping model do not fit together; `reason` says which and how.
  case brokenMapping(path: String, line: Int, reason: String)
  /// There is something already where a bundle is to be made.
  case alreadyExists(path: String)
  /// The file system refuses to make the bundle, or its name is none; `reason` says why.
  case unwritable(path: String, reason: String)
  /// The model says something that a `contents` file cannot say; `reason` tells what, and what to do.
  case inexpressible(path: String, entity: String?, property: String?, reason: String)

  /// The file or bundle that is wrong.
  public var path: String {
    switch self {
    case .notFound(let path), .unreadable(let path, _), .notAModel(let path), .binaryModel(let path),
      .noVersion(let path), .currentVersionUnknown(let path, _), .unknownVersion(let path, _, _),
      .tooLarge(let path, _), .notUTF8(let path), .malformed(let path, _, _), .forbiddenDeclaration(let path),
      .limitExceeded(let path, _, _), .unreadableArchive(let path, _), .unsupportedArchive(let path, _, _, _),
      .optimizedModel(let path), .missingAttribute(let path, _, _, _), .unknownAttributeType(let path, _, _, _),
      .invalidModel(let path, _), .notAMapping(let path), .brokenMapping(let path, _, _),
      .alreadyExists(let path), .unwritable(let path, _), .inexpressible(let path, _, _, _):
      path
    }
  }

  /// The entity that is wrong, where one is known.
  public var entity: String? {
    switch self {
    case .unknownAttributeType(_, let entity, _, _): entity
    case .inexpressible(_, let entity, _, _): entity
    case .unsupportedArchive(_, let entity, _, _): entity
    case .invalidModel(_, let error): error.entity
    default: nil
    }
  }

  /// The property that is wrong, where one is known.
  public var property: String? {
    switch self {
    case .unknownAttributeType(_, _, let property, _): property
    case .inexpressible(_, _, let property, _): property
    case .unsupportedArchive(_, _, let property, _): property
    case .invalidModel(_, let error): error.property
    default: nil
    }
  }

  /// The versions to choose from, where one has to be named; empty for other errors.
  public var choices: [String] {
    switch self {
    case .currentVersionUnknown(_, let available), .unknownVersion(_, _, let available): available
    default: []
    }
  }

  /// The case's name, for scripts; of a model that no store can use, the model error's.
  public var kind: String {
    switch self {
    case .notFound: "notFound"
    case .unreadable: "unreadable"
    case .notAModel: "notAModel"
    case .binaryModel: "binaryModel"
    case .unreadableArchive: "unreadableArchive"
    case .unsupportedArchive: "unsupportedArchive"
    case .optimizedModel: "optimizedModel"
    case .noVersion: "noVersion"
    case .currentVersionUnknown: "currentVersionUnknown"
    case .unknownVersion: "unknownVersion"
    case .tooLarge: "tooLarge"
    case .notUTF8: "notUTF8"
    case .malformed: "malformed"
    case .forbiddenDeclaration: "forbiddenDeclaration"
    case .limitExceeded: "limitExceeded"
    case .missingAttribute: "missingAttribute"
    case .unknownAttributeType: "unknownAttributeType"
    case .invalidModel(_, let error): error.kind
    case .notAMapping: "notAMapping"
    case .brokenMapping: "brokenMapping"
    case .alreadyExists: "alreadyExists"
    case .unwritable: "unwritable"
    case .inexpressible: "inexpressible"
    }
  }
}

extension ModelFileError: CustomStringConvertible {
  /// What is wrong, where, and what to do.
  public var description: String { "\(path): \(explanation)" }

  private var explanation: String {
    switch self {
    case .notFound: "there is nothing; check the path"
    case .unreadable(_, let reason): "cannot be read (\(reason)); \(FileProblem.advice(reason))"
    case .notAModel:
      "is no Core Data model; give the path of a .xcdatamodeld or .xcdatamodel folder, or of a compiled model: .momd, .mom or .omo"
    case .unreadableArchive(_, let reason):
      "is no compiled model that can be read (\(reason)); compile the model again with Xcode"
    case .unsupportedArchive(_, let entity, let property, let reason):
      "\(entity).\(property) \(reason); give the model's source, which has it, a .xcdatamodeld folder"
    case .optimizedModel:
      "is a copy of a compiled model in a form that only Core Data reads; put the .mom file with the same name beside it"
    case .binaryModel: "was saved by an Xcode before version 4; open and save it with a newer one"
    case .noVersion:
      "has no version in it; each version is a .xcdatamodel folder with a file 'contents', or a .mom file in a compiled bundle"
    case .currentVersionUnknown(_, let available):
      "does not say which version is current; name one (--model-version, for a migration --to):\(Self.list(available))"
    case .unknownVersion(_, let version, let available):
      "has no version '\(version)'; name one of its versions (--model-version, for a migration --to):\(Self.list(available))"
    case .tooLarge(_, let limit): "is larger than \(limit) bytes, and so no model; check the path"
    case .notUTF8: "is not UTF-8; save it again with Xcode"
    case .malformed(_, let line, let reason): "line \(line): is not well-formed XML (\(reason)); restore the file"
    case .forbiddenDeclaration:
      "has a document type, an entity or a processing instruction, which no model needs; remove it"
    case .limitExceeded(_, let line, let what): "line \(line): has more \(what) than any model; check the file"
    case .missingAttribute(_, let line, let element, let attribute):
      "line \(line): <\(element)> has no attribute '\(attribute)'; add it"
    case .unknownAttributeType(_, let entity, let property, let type):
      "\(entity).\(property) has the unknown type '\(type)'; use one of Core Data's types"
    case .invalidModel(_, let error): error.description
    case .notAMapping: "is no mapping model; give the path of a .xcmappingmodel folder with a file 'xcmapping.xml'"
    case .brokenMapping(_, let line, let reason): "line \(line): \(reason); make the mapping model anew with Xcode"
    case .alreadyExists: "there is something already; name a path where nothing is"
    case .unwritable(_, let reason): "cannot be written (\(reason)); \(FileProblem.advice(reason))"
    case .inexpressible(_, let entity, let property, let reason):
      "\([entity, property].compactMap { $0 }.joined(separator: ".")) \(reason)".trimmingPrefix(" ").description
    }
  }

  /// A line for each name: names may hold commas.
  private static func list(_ names: [String]) -> String { names.map { "\n  \($0)" }.joined() }
}
