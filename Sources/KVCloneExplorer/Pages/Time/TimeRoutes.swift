import KVClone

/// Routes of snapshots, comparisons and rollbacks.
enum TimeRoutes {
  static let all: [Route] = [
    .get("/time") { .page(try TimelinePage.read($0)) },
    .post("/time") { .redirect(try await createSnapshot($0)) },
    .get("/time/transactions/:commit") { .page(try await TransactionPage.read($0)) },
    .get("/compare") { .page(try ComparisonPage.read($0)) },
    .get("/compare/:entity/:serial") { try ObjectComparisonPage.answer($0) },
    .get("/rollback/:snapshot", isLong: true) { .page(try await RollbackPage.read($0)) },
    .post("/rollback/:snapshot") { .redirect(try await RollbackPage.run($0)) },
    .get("/rollback/:snapshot/done") { .page(try RollbackResultPage.read($0)) },
  ]

  private static func createSnapshot(_ context: PageContext) async throws -> String {
    try await context.store.createSnapshot(named: context.form["name"] ?? "")
    return context.link(["time"], [("at", nil)])
  }
}
