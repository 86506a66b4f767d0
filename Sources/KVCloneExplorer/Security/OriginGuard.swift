/// The check of the page that has sent a request.
///
/// A cookie alone does not show it: a page on another port of the same host is of the same site, and its requests carry
/// the cookie in spite of `SameSite=Strict`.
enum OriginGuard {
  /// Accepts links from other sites, but no images, scripts or other requests of their pages. Browsers hide the
  /// responses from these pages, but the requests would still take time.
  static func checkRead(_ request: ExplorerRequest) throws(ExplorerError) {
    let sites = request.headers("sec-fetch-site")
    if sites.allSatisfy({ $0 == "same-origin" || $0 == "none" }) { return }
    if request.headers("sec-fetch-mode") == ["navigate"] { return }
    throw ExplorerError(.wrongOrigin, "a page of another site has sent the request; open the explorer by a link")
  }

  /// Accepts changes of pages of the explorer itself.
  static func checkChange(_ request: ExplorerRequest, _ host: HostName?) throws(ExplorerError) {
    let origins = request.headers("origin")
    if origins.count == 1, let host, let origin = authority(origins[0]), origin.matches(host) { return }
    // A proxy may have replaced the host. Browsers send this header over HTTPS and on loopback; pages cannot set it.
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
