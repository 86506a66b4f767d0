import KVClone

extension Explorer {
  /// Answers a request that the guards have admitted.
  func answer(_ request: ExplorerRequest, _ target: RequestTarget) async -> ExplorerResponse {
    var request = request
    request.path = target.path
    var context = PageContext(
      store: store, root: store, options: options, request: request, parameters: [:], query: target.query,
      form: QueryItems(),
      format: target.format ?? AcceptHeader.format(request), isNegotiated: target.format == nil,
      deadline: Deadline(after: options.requestTimeLimit), openStreams: openStreams, jobs: jobs,
      model: store.model)
    do throws(ExplorerError) {
      let route: Route
      (route, context.parameters) = try find(target, request.method == "HEAD" ? "GET" : request.method)
      if route.method == "POST" { context.form = try FormBody.items(request) }
      let complete = context
      return try await requests.run { await run(route, complete) }
    } catch {
      return failure(error, context)
    }
  }

  private func find(_ target: RequestTarget, _ method: String) throws(ExplorerError) -> (Route, [String: String]) {
    var allowed: [String] = []
    for route in routes {
      guard let parameters = route.parameters(in: target.segments) else { continue }
      if route.method == method { return (route, parameters) }
      allowed += route.method == "GET" ? ["GET", "HEAD"] : [route.method]
    }
    throw allowed.isEmpty ? .notFound : .methodNotAllowed(allowed)
  }

  /// Returns the model of a snapshot; nil if it cannot be read, which the page reports.
  private func model(ofSnapshot name: String, _ store: ObjectStore) -> ManagedObjectModel? {
    try? StateName.snapshot(name, of: store).read { past in past._withSession { $0.schema.model } }
  }

  /// Runs the handler on the threads of the explorer, and cancels its task at the deadline.
  private func run(_ route: Route, _ context: PageContext) async -> ExplorerResponse {
    var context = context
    context.deadline = Deadline(after: route.isLong ? options.longRequestTimeLimit : options.requestTimeLimit)
    let complete = context
    return await withTaskGroup(of: ExplorerResponse?.self) { group in
      group.addTask(executorPreference: threads) { [self] in
        var context = complete
        do {
          if let branch = context.branchName, !route.isOfWholeStore { context.store = try store.branches.open(branch) }
          if let name = context.snapshotName, let model = model(ofSnapshot: name, context.store) {
            context.model = model
          }
          switch try await route.answer(context) {
          case .page(let page): return Rendering.response(page, context)
          case .redirect(let target): return redirect(to: target)
          case .response(var response):
            response.body = onThreads(response.body)
            return response
          }
        } catch {
          return failure(error, complete)
        }
      }
      group.addTask {
        try? await Task.sleep(until: complete.deadline.end, clock: .continuous)
        return nil
      }
      var response: ExplorerResponse?
      for await result in group {
        group.cancelAll()
        if let result { response = result }
      }
      return response ?? failure(CancellationError(), complete)
    }
  }

  /// Reads the chunks of a body on the threads of the explorer, whatever the executor of the server's task is.
  private func onThreads(_ body: ExplorerResponse.Body) -> ExplorerResponse.Body {
    guard case .stream(let chunks) = body else { return body }
    return .stream(
      AsyncThrowingStream { [threads] in
        try await withTaskExecutorPreference(threads) {
          var iterator = chunks.makeAsyncIterator()
          return try await iterator.next()
        }
      })
  }

  private func failure(_ error: any Error, _ context: PageContext) -> ExplorerResponse {
    let report = ErrorReport(error, context.deadline)
    var page = ErrorPage(report: report)
    if report.kind == StoreError.Kind.objectNotFound.rawValue, let entity = context.parameters["entity"],
      let serial = context.parameters["serial"], let object = ObjectName("\(entity)/\(serial)")
    {
      page.states = ObjectStates(of: object, context)
    }
    var response = Rendering.response(page, context)
    response.status = report.status
    response.headers += report.headers
    return response
  }
}
