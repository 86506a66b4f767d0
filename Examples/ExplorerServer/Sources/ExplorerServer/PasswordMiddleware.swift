import Foundation
import Hummingbird

/// Stands for the authentication of the service: HTTP Basic with one password. Use it over TLS only.
struct PasswordMiddleware<Context: RequestContext>: RouterMiddleware {
  let password: String

  func handle(
    _ request: Request, context: Context, next: (Request, Context) async throws -> Response
  ) async throws -> Response {
    if isAuthorized(request.headers[.authorization]) { return try await next(request, context) }
    return Response(status: .unauthorized, headers: [.wwwAuthenticate: "Basic realm=\"explorer\""])
  }

  private func isAuthorized(_ field: String?) -> Bool {
    guard let field, field.hasPrefix("Basic "), let data = Data(base64Encoded: String(field.dropFirst(6))),
      let colon = data.firstIndex(of: UInt8(ascii: ":"))
    else { return false }
    let given = Array(data[(colon + 1)...])
    let expected = Array(password.utf8)
    // The time does not depend on the position of the first difference.
    var difference = given.count ^ expected.count
    for index in expected.indices { difference |= Int((index < given.count ? given[index] : 0) ^ expected[index]) }
    return difference == 0
  }
}
