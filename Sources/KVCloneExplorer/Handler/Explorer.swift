public import KVClone
import KVCloneLMDB

/// Answers requests of a browser with pages about a store.
///
/// A server of the caller passes requests on, and sends the responses. Requests read in short transactions, and change
/// nothing unless ``ExplorerOptions/allowsWrites`` is set.
///
/// The server passes path, query and headers unchanged: percent-encoded, and with repeated headers. It cancels the task
/// of ``respond(to:)``, and releases the response, when the client disconnects. It limits connections, the memory of
/// responses that clients have not yet received, and the time for sending a request and receiving a response.
public final class Explorer: Sendable {
  /// The largest number of threads. Pages read the store without suspending, which would block the threads that all
  /// tasks of the process share.
  private static let maximumThreadCount = 16

  let store: ObjectStore
  let options: ExplorerOptions
  let openStreams: OpenStreams
  let requests: RequestQueue
  let jobs = StoreJobs()
  private let hosts: HostGuard
  private let access: AccessGuard
  let threads: ReadThreads
  let routes: [Route]

  private static let allRoutes: [Route] =
    AssetRoutes.all + EntityRoutes.all + ObjectRoutes.all + CloneRoutes.all + TimeRoutes.all + ModelRoutes.all
    + StoreRoutes.all + GraphRoutes.all + EventRoutes.all + BranchRoutes.all + MergeRoutes.all
    + DraftRoutes.all

  /// Creates an explorer of an open store, which remains the caller's to close.
  public convenience init(_ store: ObjectStore, options: ExplorerOptions = ExplorerOptions()) {
    self.init(store, options: options, routes: Self.allRoutes)
  }

  init(_ store: ObjectStore, options: ExplorerOptions, routes: [Route]) {
    var options = options
    while options.basePath.hasSuffix("/") { options.basePath.removeLast() }
    if !options.basePath.isEmpty, !options.basePath.hasPrefix("/") { options.basePath = "/" + options.basePath }
    self.store = store
    self.options = options
    self.routes = routes
    let count = max(1, options.maximumConcurrentRequests)
    openStreams = OpenStreams(limit: options.maximumOpenStreams)
    requests = RequestQueue(limit: count, waitingLimit: 16 * count, patience: options.requestTimeLimit)
    threads = ReadThreads(count: min(count, Self.maximumThreadCount))
    hosts = HostGuard(options)
    access = AccessGuard(options, store)
  }

  /// Answers a request; failures become responses with a status from 400.
  public func respond(to request: ExplorerRequest) async -> ExplorerResponse {
    var response = await answer(request)
    SecurityHeaders.apply(to: &response)
    if request.method == "HEAD" { response.body = .bytes([]) }
    return response
  }

  /// Ends live updates, cancels jobs, and answers all later requests with 503.
  ///
  /// Call it when the server begins to shut down: the server can then wait until all responses have ended.
  public func shutdown() {
    openStreams.shutDown()
    jobs.cancelAll()
  }

  private func answer(_ request: ExplorerRequest) async -> ExplorerResponse {
    let admission: Admission
    do throws(ExplorerError) {
      admission = try admit(request)
    } catch {
      return refusal(ErrorPage(report: ErrorReport(error)), request)
    }
    switch admission {
    case .redirect(let response): return response
    case .page(let target): return await answer(request, target)
    }
  }

  // MARK: Admission

  private enum Admission {
    case page(RequestTarget)
    case redirect(ExplorerResponse)
  }

  /// Checks everything that does not depend on the page. Nothing of the store is read before.
  private func admit(_ request: ExplorerRequest) throws(ExplorerError) -> Admission {
    if openStreams.isShutDown { throw ExplorerError(.shutDown, "the explorer is shutting down; start it again") }
    try RequestLimits.check(request, options)
    let host = try hosts.check(request)
    guard ["GET", "HEAD", "POST"].contains(request.method) else {
      throw ExplorerError.methodNotAllowed(["GET", "HEAD", "POST"])
    }
    let target: RequestTarget
    switch try RequestTarget.locate(request, options) {
    case .page(let found): target = found
    case .base:
      let query = try RequestTarget.query(request)
      return .redirect(redirect(to: options.basePath + "/" + (query.items.isEmpty ? "" : "?\(query.text)")))
    }
    // The style sheet is the same for all stores, and the page of a refusal uses it.
    if target.segments.first != "assets" {
      switch try access.check(request, target.query, host) {
      case .granted: break
      case .exchange(let cookie):
        var response = redirect(to: location(of: target, without: "token"))
        response.headers.append(("Set-Cookie", cookie))
        return .redirect(response)
      }
    }
    if request.method != "POST" {
      try OriginGuard.checkRead(request)
    } else {
      try OriginGuard.checkChange(request, host)
      let isAction = routes.contains { route in
        route.method == "POST" && !route.changesStore && route.parameters(in: target.segments) != nil
      }
      guard isAction || (options.allowsWrites && !store.options.isReadOnly) else {
        throw ExplorerError(
          .readOnly, "the explorer does not change this store; start it with writes allowed, on a writable store")
      }
    }
    return .page(target)
  }

  /// Returns the URL of a page without an item of its query.
  private func location(of target: RequestTarget, without item: String) -> String {
    var query = target.query
    query[item] = nil
    let path = options.basePath + target.path + (target.format?.suffix ?? "")
    return query.items.isEmpty ? path : "\(path)?\(query.text)"
  }

  func redirect(to target: String) -> ExplorerResponse {
    ExplorerResponse(status: 303, headers: [("Location", target), ("Content-Length", "0")])
  }

  /// The response to a client that may not see anything of the store.
  private func refusal(_ error: ErrorPage, _ request: ExplorerRequest) -> ExplorerResponse {
    let target: RequestTarget? =
      if case .page(let target) = try? RequestTarget.locate(request, options) { target } else { nil }
    let format = target?.format ?? AcceptHeader.format(request)
    var response: ExplorerResponse
    if format == .html {
      let retry = error.report.status == 401 ? target.map { location(of: $0, without: "token") } : nil
      let stylesheet = options.basePath + Asset.stylesheet.path
      response = ExplorerResponse(format.contentType, error.bareDocument(stylesheet, retry: retry).text)
    } else {
      response = Rendering.data(error, format)
    }
    response.status = error.report.status
    response.headers += error.report.headers
    return response
  }
}
