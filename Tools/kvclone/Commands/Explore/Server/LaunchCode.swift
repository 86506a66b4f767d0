#if Explorer
  import Synchronization

  /// A secret for the command line of a browser, which other users of the machine may see: it is valid for one request
  /// and a minute, in place of the token.
  final class LaunchCode: Sendable {
    let text = ExploreToken.random()
    private let token: String
    private let isUsed = Mutex(false)
    private let end = ContinuousClock.now + .seconds(60)

    init(token: String) { self.token = token }

    /// Returns the query with the token if the request has the code.
    func query(for head: HTTPRequestHead) -> String? {
      guard head.method == "GET", head.path == "/", head.query == "token=\(text)", ContinuousClock.now < end else {
        return nil
      }
      let isFirst = isUsed.withLock { isUsed in
        defer { isUsed = true }
        return !isUsed
      }
      return isFirst ? "token=\(token)" : nil
    }
  }
#endif
