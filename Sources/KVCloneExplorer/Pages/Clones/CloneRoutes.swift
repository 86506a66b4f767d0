/// Routes of clone previews, and clones.
enum CloneRoutes {
  static let all: [Route] = []
}
