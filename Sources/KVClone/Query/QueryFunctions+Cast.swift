import Foundation
import KVCloneModel

/// CAST in requests.
extension QueryFunctions {
  /// The value as one of another type; nil of nil.
  static func cast(_ value: QueryValue, to type: AttributeType) throws(CastProblem) -> QueryValue {
    switch value {
    case .null: return .null
    case .boolean(let flag): return QueryValue(try type.cast(.boolean(flag)))
    case .integer(let number): return QueryValue(try type.cast(.integer(number)))
    case .double(let number): return QueryValue(try type.cast(.double(number)))
    case .decimal(let number): return QueryValue(try type.cast(.decimal(number)))
    case .string(let text): return QueryValue(try type.cast(.string(text)))
    case .date(let seconds):
      return QueryValue(try type.cast(.date(Date(timeIntervalSinceReferenceDate: seconds))))
    case .uuid(let uuid): return QueryValue(try type.cast(.uuid(uuid)))
    case .binary(let data): return QueryValue(try type.cast(.binary(data)))
    case .other(let stored): return QueryValue(try type.cast(stored))
    case .object, .list: throw CastProblem("it is not an attribute value")
    }
  }
}

extension QueryCompiler {
  /// `CAST(value, 'type')`: constants are converted now.
  func cast(_ term: QueryTerm, to type: AttributeType) throws(StoreError) -> QueryTerm {
    guard !term.isList else {
      throw invalid("\(term.text) is to-many, and CAST converts a single value; use ANY and compare without CAST", term)
    }
    guard term.kind.canBeCast(to: type) else {
      throw wrongType(term, "\(term.text) is \(term.kind.name), which cannot be cast to \(type.rawValue)")
    }
    guard let constant = term.constant else { return QueryTerm(.cast(term, type), QueryKind(type)) }
    do throws(CastProblem) {
      return QueryTerm(.constant(try QueryFunctions.cast(constant, to: type)), QueryKind(type))
    } catch {
      throw wrongType(term, "a constant cannot be cast to \(type.rawValue): \(error.reason); correct it")
    }
  }
}

extension QueryKind {
  /// Whether some value of the kind is one of the type.
  fileprivate func canBeCast(to type: AttributeType) -> Bool {
    switch (self, QueryKind(type)) {
    case (.unknown, _), (_, .unknown): true
    case (.number, .number), (.number, .date), (.number, .text): true
    case (.date, .number), (.date, .date), (.date, .text): true
    case (.text, _): type != .composite
    case (.uuid, .uuid), (.uuid, .text): true
    case (.bytes, .bytes), (.opaque, .opaque): true
    default: false
    }
  }
}

extension QueryEvaluator {
  /// The error that an object's value is none of the type that it is cast to. It names the object, and never the value.
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
