/// Routes of the neighbourhood of an object.
enum GraphRoutes {
  static let all: [Route] = []
}
