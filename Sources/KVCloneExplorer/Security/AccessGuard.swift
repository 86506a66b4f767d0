import KVClone

/// The check of the token, and of the cookie that replaces it.
///
/// The token is in the printed URL only. The first request exchanges it for a cookie, so that it is neither in the
/// address bar nor in links. The cookie is of this process: it ends with the explorer.
struct AccessGuard: Sendable {
  enum Decision: Sendable, Equatable {
    case granted
    /// The token has to be removed from the URL, and the cookie to be set.
    case exchange(cookie: String)
  }

  private let token: [UInt8]?
  private let session: [UInt8]
  private let cookieName: String
  private let cookiePath: String

  init(_ options: ExplorerOptions, _ store: ObjectStore) {
    token = options.token.map { Array($0.utf8) }
    var generator = SystemRandomNumberGenerator()
    session = Array(
      (0..<4).map { _ in
        let digits = String(generator.next() as UInt64, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
      }.joined().utf8)
    cookieName = "kvclone-\(store.uuid.uuidString.lowercased().prefix(8))"
    cookiePath = options.basePath.isEmpty ? "/" : options.basePath
  }

  /// - Throws: `notAuthenticated`.
  func check(_ request: ExplorerRequest, _ query: QueryItems, _ host: HostName?) throws(ExplorerError) -> Decision {
    guard let token else { return .granted }
    let name = name(host)
    let hasCookie = cookies(request, name).reduce(false) { found, value in Self.areEqual(value, session) || found }
    if let given = query["token"] {
      if request.method != "POST", hasCookie || Self.areEqual(Array(given.utf8), token) {
        let text = String(decoding: session, as: UTF8.self)
        return .exchange(cookie: "\(name)=\(text); Path=\(cookiePath); SameSite=Strict; HttpOnly")
      }
    } else if hasCookie || bearerTokens(request).contains(where: { Self.areEqual($0, token) }) {
      return .granted
    }
    throw ExplorerError(
      .notAuthenticated,
      "the request has no valid token; open the URL that the server has printed, or send the token as "
        + "Authorization: Bearer")
  }

  /// The name of the cookie. Browsers send cookies to all ports of a host, so the name contains the port.
  private func name(_ host: HostName?) -> String { host?.port.map { "\(cookieName)-\($0)" } ?? cookieName }

  private func cookies(_ request: ExplorerRequest, _ name: String) -> [[UInt8]] {
    request.headers("cookie").flatMap { $0.split(separator: ";") }.compactMap { pair in
      let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard sides.count == 2, sides[0].utf8.drop(while: { $0 == 0x20 }).elementsEqual(name.utf8) else { return nil }
      return Array(sides[1].utf8)
    }
  }

  private func bearerTokens(_ request: ExplorerRequest) -> [[UInt8]] {
    request.headers("authorization").compactMap { value in
      let parts = value.split(separator: " ", maxSplits: 1)
      guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
      return Array(parts[1].utf8)
    }
  }

  /// Compares in a time that depends on the lengths only.
  static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    var difference = left.count ^ right.count
    for index in right.indices { difference |= Int((index < left.count ? left[index] : 0) ^ right[index]) }
    return difference == 0
  }
}
