import Foundation
package import KVCloneModel

/// CAST in requests.
extension QueryFunctions {
  /// The value cast to another type; nil for nil.
  package static func cast(_ value: QueryValue, to type: AttributeType) throws(CastProblem) -> QueryValue {
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
