/// The check of requests that change the store: they come from a page of the explorer itself.
///
/// A cookie alone does not show this: a page on another port of the same host is of the same site, and its requests
/// carry the cookie in spite of `SameSite=Strict`.
enum OriginGuard {
  static func check(_ request: ExplorerRequest, _ host: HostName?) throws(ExplorerError) {
    let origins = request.headers("origin")
    if origins.count == 1, let host, let origin = authority(origins[0]), origin.matches(host) { return }
    // A proxy may have replaced the host. Browsers send this header over HTTPS and on loopback, and pages cannot set it.
    let sites = request.headers("sec-fetch-site")
    if origins.count < 2, sites == ["same-origin"] { return }
    throw ExplorerError(
      .wrongOrigin,
      "the request does not come from a page of the explorer; open the page again, or send its URL as Origin")
  }

  /// Returns host and port of an origin such as `http://127.0.0.1:8080`.
  private static func authority(_ origin: String) -> HostName? {
    for scheme in ["http://", "https://"] where origin.lowercased().hasPrefix(scheme) {
      return HostName(origin.dropFirst(scheme.count))
    }
    return nil
  }
}
