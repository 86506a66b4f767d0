/// Routes of drafts; their plans are those of merges.
enum DraftRoutes {
  static let all: [Route] = [.get("/drafts", isLong: true) { .page(try await DraftsPage.read($0)) }]
}
