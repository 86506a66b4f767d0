/// A method and a pattern of paths, and the function that answers them.
struct Route: Sendable {
  enum Reply: Sendable {
    case page(any Page)
    /// 303 to a path that ``PageContext/link(_:_:)`` made.
    case redirect(String)
    case response(ExplorerResponse)
  }

  typealias Handler = @Sendable (PageContext) async throws -> Reply

  var method: String
  /// Segments; one that starts with a colon matches any segment, and is a parameter.
  var segments: [String]
  /// Whether the time limit is that of changes, such as for the plan of a rollback.
  var isLong = false
  /// Whether the page is about the store and all of its branches, also if the URL names a branch.
  var isOfWholeStore = false
  /// Whether a POST changes the store, which needs ``ExplorerOptions/allowsWrites``.
  var changesStore = true
  var answer: Handler

  /// - Parameters:
  ///   - pattern: such as `/entities/:entity`.
  ///   - isLong: whether the time limit is ``ExplorerOptions/longRequestTimeLimit``.
  static func get(_ pattern: String, isLong: Bool = false, _ answer: @escaping Handler) -> Route {
    var route = Route("GET", pattern, answer)
    route.isLong = isLong
    return route
  }

  /// A change of the store: runs only with ``ExplorerOptions/allowsWrites``, and after a check of the origin.
  static func post(_ pattern: String, _ answer: @escaping Handler) -> Route {
    var route = Route("POST", pattern, answer)
    route.isLong = true
    return route
  }

  /// An action that only reads the store, such as the start of a check. Its origin is checked like that of a change.
  static func action(_ pattern: String, _ answer: @escaping Handler) -> Route {
    var route = Route("POST", pattern, answer)
    route.changesStore = false
    return route
  }

  /// Returns the routes as those of pages about the whole store.
  static func wholeStore(_ routes: [Route]) -> [Route] {
    routes.map { route in
      var route = route
      route.isOfWholeStore = true
      return route
    }
  }

  private init(_ method: String, _ pattern: String, _ answer: @escaping Handler) {
    self.method = method
    self.answer = answer
    segments = pattern.split(separator: "/").map(String.init)
  }

  /// Returns the parameters if the path matches.
  func parameters(in path: [String]) -> [String: String]? {
    guard path.count == segments.count else { return nil }
    var found: [String: String] = [:]
    for (segment, part) in zip(segments, path) {
      if segment.hasPrefix(":") { found[String(segment.dropFirst())] = part } else if segment != part { return nil }
    }
    return found
  }
}
