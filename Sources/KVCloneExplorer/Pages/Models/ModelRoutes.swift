/// Routes of the model, its versions and migration plans.
enum ModelRoutes {
  static let all: [Route] = []
}
