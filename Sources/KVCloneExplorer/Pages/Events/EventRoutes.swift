/// Routes of live updates.
enum EventRoutes {
  static let all: [Route] = [
    .get("/events") { context in
      let chunks = try CommitEvents.stream(context.store, context.openStreams)
      return .response(
        ExplorerResponse(
          status: 200, headers: [("Content-Type", "text/event-stream"), ("X-Accel-Buffering", "no")],
          body: .stream(chunks)))
    }
  ]
}
