/// Routes of plans and results of merges.
enum MergeRoutes {
  static let all: [Route] =
    Route.wholeStore(routes("/branches/:branch/publish") + routes("/branches/:branch/update"))
    + routes("/drafts/:entity/:serial")

  private static func routes(_ path: String) -> [Route] {
    [
      .get(path, isLong: true) { try MergeRequest($0).plan() },
      .post(path) { try await MergeRequest($0).run() },
      .get("\(path)/done") { .page(try MergeResultPage.read($0)) },
    ]
  }
}
