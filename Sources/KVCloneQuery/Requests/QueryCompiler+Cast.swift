import KVCloneCore
import KVCloneModel

extension QueryCompiler {
  /// Compiles `CAST(value, 'type')`: constants are converted now.
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
  /// Whether some value of the kind can be cast to the type.
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
