extension QueryTerm {
  /// The key path as written; nil for other terms.
  var path: String? {
    switch node {
    case .attribute(let owner, let column): owner.prefix + column.name
    case .relationship(let owner, let link), .memberCount(let owner, let link): owner.prefix + link.name
    default: nil
    }
  }

  private var prefix: String { path.map { $0 + "." } ?? "" }

  /// The text in an error's message: never a value.
  var text: String {
    if let path { return path }
    switch node {
    case .constant: return "a constant"
    case .cast: return "CAST"
    case .current: return "SELF"
    case .element: return "a variable"
    case .subquery: return "a subquery"
    case .collection(let function, _): return "@\(function.rawValue)"
    case .function(let function, _): return function.rawValue
    default: return "an expression"
    }
  }
}
