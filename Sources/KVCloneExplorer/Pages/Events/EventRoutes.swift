/// Routes of live updates.
enum EventRoutes {
  static let all: [Route] = []
}
