import KVClone
import KVCloneCore
import KVCloneMerge
import KVCloneModel

/// An error as the content of a response: with the kind, the affected object and the remedy, in all formats.
struct ErrorReport: Sendable, Equatable {
  var status: Int
  var kind: String
  var message: String
  var entity: String?
  var property: String?
  var object: String?
  var allowedMethods: [String] = []

  /// - Parameter deadline: of the request, which explains that it was cancelled.
  init(_ error: any Error, _ deadline: Deadline? = nil) {
    switch error {
    case let error as ExplorerError: self.init(error)
    case is CancellationError: self.init(Self.cancelled(deadline))
    case let error as any KVCloneError where error.kindName == "cancelled": self.init(Self.cancelled(deadline))
    case let error as any KVCloneError:
      self.init(status: Self.status(error), error.kindName, error.message)
      entity = error.entity
      property = error.property
      object = error.object
    case let error as QueryFormatError: self.init(status: 400, error.kind.rawValue, error.description)
    case let error as ModelError:
      self.init(status: 400, error.kind.rawValue, error.description)
      entity = error.entity
      property = error.property
    case let error as MappingModelError:
      self.init(status: 400, error.kind.rawValue, error.description)
      entity = error.entity
      property = error.property
    default:
      // The text of another error may contain values.
      self.init(status: 500, "io", "the page failed with an error of the type \(type(of: error)); try again")
    }
  }

  private init(_ error: ExplorerError) {
    self.init(status: error.status, error.kind.rawValue, error.message)
    allowedMethods = error.allowedMethods
  }

  private init(status: Int, _ kind: String, _ message: String) {
    self.status = status
    self.kind = kind
    self.message = message.split(whereSeparator: \.isNewline).joined(separator: " ")
  }

  private static func cancelled(_ deadline: Deadline?) -> ExplorerError {
    if let deadline, deadline.isOver { return deadline.error }
    return ExplorerError(.cancelled, "the request was cancelled; repeat it")
  }

  private static func status(_ error: any KVCloneError) -> Int {
    switch error.kindName {
    case "objectNotFound", "snapshotNotFound", "noStore", "unknownEntity", "unknownProperty", "snapshotExpired",
      "historyExpired", "snapshotNotHeld", "unknownRelationship", "branchNotFound":
      404
    case "readOnly": 403
    case "busy", "readersFull", "tooManySnapshots", "closed", "commitUnknown", "storeMoved", "forked": 503
    case "diskFull", "mapFull": 507
    case "unsupportedByEngine": 501
    case "damaged", "io", "incompatibleModel", "notAStore", "transactionAborted", "nestedWrite", "commitLost",
      "unknownTransformer", "transformFailed":
      500
    case "changedSince", "snapshotExists", "snapshotHeld", "deleteDenied", "uniquenessConflict", "notUnique",
      "historyOff", "idempotencyKeyReused", "inverseTaken", "branchExists", "snapshotInUse", "mergeConflicts",
      "staleAnswers", "notRelated", "baseExpired", "rootDeleted", "draftInUse":
      409
    default: error is ValidationError || error is CloneError || error is MergeError ? 422 : 400
    }
  }

  /// The headers that belong to the status.
  var headers: [(name: String, value: String)] {
    switch status {
    case 401: [("WWW-Authenticate", "Bearer realm=\"kvclone\"")]
    case 405: [("Allow", allowedMethods.joined(separator: ", "))]
    case 503: [("Retry-After", "1")]
    default: []
    }
  }
}
