/// A path below the base path, and a query: of which page, and in which format.
struct RequestTarget: Sendable {
  /// Decoded segments.
  let segments: [String]
  /// The path that leads to the same page, without base path and format.
  let path: String
  /// The format of the path's suffix; nil without one.
  let format: PageFormat?
  let query: QueryItems

  enum Location: Sendable {
    case page(RequestTarget)
    /// The base path without a slash.
    case base
  }

  static func locate(_ request: ExplorerRequest, _ options: ExplorerOptions) throws(ExplorerError) -> Location {
    guard request.path.utf8.first == UInt8(ascii: "/") else {
      throw ExplorerError(.badRequest, "the path does not begin with a slash; send an absolute path")
    }
    var path = request.path[...]
    if !options.basePath.isEmpty {
      if path == options.basePath { return .base }
      guard path.utf8.starts(with: "\(options.basePath)/".utf8) else { throw .notFound }
      path = Substring(path.utf8.dropFirst(options.basePath.utf8.count))
    }
    let suffix = PageFormat.suffixed.first { path.utf8.hasSuffix($0.suffix) }
    if let suffix { path = Substring(path.utf8.dropLast(suffix.suffix.utf8.count)) }
    var segments: [String] = []
    for segment in path.utf8.split(separator: UInt8(ascii: "/")) {
      guard let name = PathSegment.decode(Substring(segment)) else {
        throw ExplorerError(.badRequest, "the path is not percent-encoded UTF-8; encode its names")
      }
      segments.append(name)
    }
    return .page(
      RequestTarget(
        segments: segments, path: "/" + segments.map(PathSegment.encode).joined(separator: "/"), format: suffix,
        query: try query(request)))
  }

  static func query(_ request: ExplorerRequest) throws(ExplorerError) -> QueryItems {
    if let query = QueryItems(request.query) { return query }
    throw ExplorerError(.badRequest, "the query is not percent-encoded UTF-8; encode its values")
  }
}

extension Substring.UTF8View {
  /// Whether the last bytes are those of a text: a combining mark makes one character with the dot before it.
  fileprivate func hasSuffix(_ suffix: String) -> Bool { self.suffix(suffix.utf8.count).elementsEqual(suffix.utf8) }
}
