/// A request that the explorer refuses.
///
/// The response has its status, and its kind and message as a page, as JSON or as CSV. Messages state a remedy.
struct ExplorerError: Error, Sendable, Equatable {
  enum Kind: String, Sendable, CaseIterable {
    case badRequest, notAuthenticated, readOnly, wrongOrigin, notFound, methodNotAllowed, conflict, tooLarge
    case targetTooLong, unsupportedMediaType, wrongHost, headersTooLarge, busy, timeLimit, cancelled, shutDown
  }

  var kind: Kind
  var message: String
  /// For ``Kind/methodNotAllowed``: the methods that the page has.
  var allowedMethods: [String] = []

  init(_ kind: Kind, _ message: String) {
    self.kind = kind
    self.message = message
  }

  static func methodNotAllowed(_ allowed: [String]) -> ExplorerError {
    var error = ExplorerError(
      .methodNotAllowed, "the page does not have this method; use \(allowed.joined(separator: " or "))")
    error.allowedMethods = allowed
    return error
  }

  static var notFound: ExplorerError {
    ExplorerError(.notFound, "the page does not exist; start from the list of entities")
  }

  var status: Int {
    switch kind {
    case .badRequest: 400
    case .notAuthenticated: 401
    case .readOnly, .wrongOrigin: 403
    case .notFound: 404
    case .methodNotAllowed: 405
    case .conflict: 409
    case .tooLarge: 413
    case .targetTooLong: 414
    case .unsupportedMediaType: 415
    case .wrongHost: 421
    case .headersTooLarge: 431
    case .busy, .timeLimit, .cancelled, .shutDown: 503
    }
  }
}
