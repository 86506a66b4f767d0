/// Routes of snapshots, comparisons and rollbacks.
enum TimeRoutes {
  static let all: [Route] = []
}
