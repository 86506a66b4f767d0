import ArgumentParser
import Foundation
import KVClone
import KVCloneExplorer
import KVCloneOperations

/// The failure of a command: an exit code and one line.
struct Failure: Error {
  enum Code {
    static let failure: Int32 = 1
    /// Finished, and some items could not be read.
    static let unreadable: Int32 = 3
    static let corrupted: Int32 = 4
    static let different: Int32 = 5
    /// A merge was refused, or would be, because of conflicts.
    static let conflicts: Int32 = 6
    static let storeNotFound: Int32 = 10
    static let busy: Int32 = 11
    static let usage: Int32 = 64
    static let interrupted: Int32 = 130
  }

  var code: Int32
  let kind: String
  var entity: String?
  var property: String?
  var object: String?
  var line: Int?
  /// Swift source of a mapping model for a refused migration.
  var mappingSkeleton: String?
  /// The available alternatives: a line for each.
  var choices: [String] = []
  /// Writes further members of the error's JSON.
  var writeDetails: (@Sendable (inout JSONWriter) -> Void)?
  var message: String

  init(
    _ kind: String, _ message: String, code: Int32 = Code.failure, entity: String? = nil, property: String? = nil,
    object: String? = nil
  ) {
    self.kind = kind
    self.code = code
    self.message = message
    self.entity = entity
    self.property = property
    self.object = object
  }

  /// A usage error that only the command itself can detect.
  init(usage message: String) {
    self.init("usage", message, code: Code.usage)
  }

  /// Runs a check of an argument, and makes its error a usage error.
  static func ofUsage<R>(_ body: () throws(StoreError) -> R) throws -> R {
    do throws(StoreError) {
      return try body()
    } catch {
      throw Failure(usage: error.message)
    }
  }

  /// An error of the operating system.
  ///
  /// - Parameter subject: what failed: "FILE cannot be written".
  init(system code: Int32, _ subject: String) {
    self.init(SystemError(code: code).storeError(subject))
  }

  /// A file error of Foundation.
  ///
  /// - Parameter subject: what failed: "FILE cannot be written".
  init(file error: any Error, _ subject: String) {
    if let system = SystemError(error) {
      self.init(system.storeError(subject))
    } else {
      self.init("io", "\(subject) (\(error.localizedDescription)); check the path and its permissions")
    }
  }

  /// Any error of a command.
  init(_ error: any Error) {
    switch error {
    case let error as Failure: self = error
    case let error as any KVCloneError:
      let code =
        switch error.kindName {
        case "noStore", "storeMoved": Code.storeNotFound
        case "mergeConflicts": Code.conflicts
        case "busy", "readersFull": Code.busy
        case "cancelled": Code.interrupted
        default: Code.failure
        }
      self.init(
        error.kindName, error.message, code: code, entity: error.entity, property: error.property,
        object: error.object)
      line = (error as? TransferError)?.line
    case let error as ModelFileError:
      // The choices are written separately.
      let text = error.choices.isEmpty ? error.description : String(error.description.prefix { $0 != "\n" })
      let kind = error.modelError?.kind.rawValue ?? error.kind.rawValue
      self.init(kind, text, entity: error.entity, property: error.property)
      choices = error.choices
    case let error as ModelError:
      self.init(error.kind.rawValue, error.description, entity: error.entity, property: error.property)
    case let error as MappingModelError:
      self.init(error.kind.rawValue, error.description, entity: error.entity, property: error.property)
    case let error as ArgumentParser.ValidationError:
      self.init(usage: "\(error.message) (see `kvclone --help`)")
    default:
      let advice = SystemError(error).map { "; \($0.advice)" } ?? ""
      self.init("io", error.localizedDescription + advice)
    }
  }

  /// Prints the error's line and ends the process.
  func exit(isJSON: Bool) -> Never {
    let text = message.split(whereSeparator: \.isNewline).joined(separator: " ")
    if isJSON {
      let json = JSONWriter.object { json in
        json.member("message_type", "exit_error")
        json.member("code", code)
        json.member("kind", kind)
        json.member("entity", entity)
        json.member("object", object)
        json.member("property", property)
        if let line { json.member("line", line) }
        json.member("mappingSkeleton", mappingSkeleton)
        if !choices.isEmpty { json.member("choices", choices) }
        json.member("message", text)
        writeDetails?(&json)
      }
      StandardError.write(json + "\n")
    } else {
      StandardError.write("kvclone: \(text)\n" + choices.map { "  \($0)\n" }.joined())
    }
    Foundation.exit(code)
  }
}
