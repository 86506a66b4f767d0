import KVCloneCore
import KVCloneModel

extension QueryEvaluator {
  /// The error for an object's value that cannot be cast. It names the object, and never the value.
  func castError(_ problem: CastProblem, _ term: QueryTerm, _ type: AttributeType, _ object: String?, _ entity: String?)
    -> StoreError
  {
    let place = [object, term.path].compactMap { $0 }.joined(separator: ".")
    let what = place.isEmpty ? "a value" : place
    return StoreError(
      .wrongType,
      "\(what) cannot be cast to \(type.rawValue): \(problem.reason); correct the value, or exclude the object by a "
        + "condition before the CAST", entity: entity, property: term.path, object: object)
  }
}
