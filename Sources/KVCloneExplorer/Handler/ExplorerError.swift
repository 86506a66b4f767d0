/// A request that the explorer refuses.
///
/// The response has its status, and its kind and message as a page or as JSON. Messages state a remedy.
struct ExplorerError: Error, Sendable, Equatable {
  enum Kind: String, Sendable {
    case badRequest, notAuthenticated, wrongHost, wrongOrigin, readOnly, notFound, methodNotAllowed, tooLarge, busy
    case timeLimit
  }

  var kind: Kind
  var message: String

  init(_ kind: Kind, _ message: String) {
    self.kind = kind
    self.message = message
  }

  var status: Int {
    switch kind {
    case .badRequest: 400
    case .notAuthenticated: 401
    case .wrongHost: 421
    case .wrongOrigin, .readOnly: 403
    case .notFound: 404
    case .methodNotAllowed: 405
    case .tooLarge: 413
    case .busy, .timeLimit: 503
    }
  }
}
