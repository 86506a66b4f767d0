/// Routes of an object, its blobs and its raw record.
enum ObjectRoutes {
  static let all: [Route] = []
}
