/// The check of the `Host` header: the defence against DNS rebinding.
///
/// In a rebinding attack, a page of `evil.example` makes its own name resolve to 127.0.0.1. The browser then allows the
/// page to read the explorer, but still sends `Host: evil.example`.
struct HostGuard: Sendable {
  /// Nil accepts every name.
  private let allowed: [HostName]?

  init(_ options: ExplorerOptions) {
    allowed = options.allowedHosts?.compactMap { HostName($0) }
  }

  /// Returns the host; nil for a request without one, if every name is accepted.
  func check(_ request: ExplorerRequest) throws(ExplorerError) -> HostName? {
    let values = request.headers("host")
    guard values.count < 2 else { throw ExplorerError(.badRequest, "the request has two Host headers; send one") }
    guard let value = values.first else {
      if allowed == nil { return nil }
      throw ExplorerError(.badRequest, "the request has no Host header; send one")
    }
    guard let host = HostName(value) else {
      throw ExplorerError(.badRequest, "the Host header is not a name with a port; send one of that form")
    }
    guard let allowed, !allowed.contains(where: { $0.matches(host) }) else { return host }
    throw ExplorerError(
      .wrongHost,
      "the explorer does not answer under this host name; open it by the URL that the server has printed, or add the "
        + "name to the allowed hosts")
  }
}
