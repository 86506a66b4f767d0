/// Routes of the storage of the store.
enum StoreRoutes {
  static let all: [Route] = []
}
