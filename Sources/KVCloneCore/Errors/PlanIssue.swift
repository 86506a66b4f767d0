/// An error that a planned operation would throw.
///
/// A plan contains the first 100 errors in full, and the total number.
public struct PlanIssue: KVCloneError, Hashable {
  /// The stable text of the error's kind, such as `notUnique`, `limitExceeded` or `uniquenessConflict`.
  public let kindName: String
  /// The failure, the affected object and the remedy.
  public package(set) var message: String
  /// The affected entity.
  public let entity: String?
  /// The affected attribute, relationship or constraint.
  public let property: String?
  /// The affected object, such as `Item/3`.
  public let object: String?

  package init(_ error: any KVCloneError) {
    kindName = error.kindName
    message = error.message
    entity = error.entity
    property = error.property
    object = error.object
  }

  package init(_ issue: ValidationIssue) {
    kindName = issue.kind.rawValue
    message = issue.message
    entity = issue.entity
    property = issue.property
    object = issue.object
  }
}

/// Collects the errors that a dry run finds.
package final class PlanReasons {
  /// The number of reasons that are kept in full.
  package static let limit = 100

  package private(set) var issues: [PlanIssue] = []
  package private(set) var count = 0

  package init() {}

  package var isEmpty: Bool { count == 0 }

  package func note(_ issue: @autoclosure () -> PlanIssue) {
    count += 1
    if issues.count < Self.limit { issues.append(issue()) }
  }

  package func note(_ found: [ValidationIssue]) {
    for issue in found { note(PlanIssue(issue)) }
  }

  /// Records an error that is a reason for the plan, and throws every other error.
  package func note(thrown error: any Error) throws {
    switch error {
    case let error as ValidationError: note(error.issues)
    case let error as CloneError where error.kind != .cancelled: note(PlanIssue(error))
    case let error as StoreError where error.kind.isReasonOfPlan: note(PlanIssue(error))
    default: throw error
    }
  }
}

extension StoreError.Kind {
  /// Whether the store's content, or its space, is the reason for the failure.
  fileprivate var isReasonOfPlan: Bool {
    switch self {
    case .limitExceeded, .diskFull, .mappingRequired, .notConvertible, .notUnique, .invalidMapping, .stageFailed,
      .invalidObject, .hookFailed, .deleteDenied, .outOfRange, .wrongType:
      true
    default: false
    }
  }
}
