/// Routes of lists of entities and of objects.
enum EntityRoutes {
  static let all: [Route] = []
}
