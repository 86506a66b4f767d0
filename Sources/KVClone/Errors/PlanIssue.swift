/// A reason for which a planned operation would fail.
///
/// Plans list every reason: the first 100 in full, then a count.
public struct PlanIssue: KVCloneError, Hashable {
  /// The kind of the error that the operation would throw: `notUnique`, `limitExceeded`, `uniquenessConflict` …
  public let kindName: String
  /// What fails, on which object, and what to do.
  public internal(set) var message: String
  /// The entity concerned.
  public let entity: String?
  /// The attribute, relationship or constraint concerned.
  public let property: String?
  /// The object concerned, as `Item/3`.
  public let object: String?

  init(_ error: any KVCloneError) {
    kindName = error.kindName
    message = error.message
    entity = error.entity
    property = error.property
    object = error.object
  }

  init(_ issue: ValidationIssue) {
    kindName = issue.kind.rawValue
    message = issue.message
    entity = issue.entity
    property = issue.property
    object = issue.object
  }
}

/// Collects the reasons for which a dry run's operation would fail.
final class PlanReasons {
  /// Reasons that are kept in full.
  static let limit = 100

  private(set) var issues: [PlanIssue] = []
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  func note(_ issue: @autoclosure () -> PlanIssue) {
    count += 1
    if issues.count < Self.limit { issues.append(issue()) }
  }

  func note(_ found: [ValidationIssue]) {
    for issue in found { note(PlanIssue(issue)) }
  }

  /// Notes an error that is a reason, and throws every other one: those tell nothing about the planned operation, or
  /// end it whatever the store holds.
  func note(thrown error: any Error) throws {
    switch error {
    case let error as ValidationError: note(error.issues)
    case let error as CloneError where error.kind != .cancelled: note(PlanIssue(error))
    case let error as StoreError where error.kind.isReasonOfPlan: note(PlanIssue(error))
    default: throw error
    }
  }
}

extension StoreError.Kind {
  /// Whether what the store holds, or the space for it, is why an operation fails.
  fileprivate var isReasonOfPlan: Bool {
    switch self {
    case .limitExceeded, .diskFull, .mappingRequired, .notConvertible, .notUnique, .invalidMapping, .stageFailed,
      .invalidObject, .hookFailed, .deleteDenied, .outOfRange, .wrongType:
      true
    default: false
    }
  }
}
