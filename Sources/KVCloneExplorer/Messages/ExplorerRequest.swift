/// A request, as a server received it.
public struct ExplorerRequest: Sendable {
  /// `GET`, `HEAD` or `POST`; every other method is refused with 405.
  public var method: String

  /// The path as on the request line, percent-encoded and without the query.
  public var path: String

  /// The query as on the request line, percent-encoded and without the question mark; empty without a query.
  public var query: String

  /// Header fields in the order of their arrival; names are compared without regard to case.
  public var headers: [(name: String, value: String)]

  /// The whole body. A server reads at most ``ExplorerOptions/maximumBodySize`` bytes of it, and refuses longer ones.
  public var body: [UInt8]

  /// Creates a request.
  public init(
    method: String = "GET", path: String, query: String = "", headers: [(name: String, value: String)] = [],
    body: [UInt8] = []
  ) {
    self.method = method
    self.path = path
    self.query = query
    self.headers = headers
    self.body = body
  }

  /// Returns the values of a header field.
  ///
  /// - Parameter name: in lower case.
  func headers(_ name: String) -> [String] {
    headers.filter { $0.name.utf8.count == name.utf8.count && $0.name.lowercased() == name }.map(\.value)
  }

  /// Returns the value of a header field; nil if the request has none, or several.
  func header(_ name: String) -> String? {
    let values = headers(name)
    return values.count == 1 ? values[0] : nil
  }
}
