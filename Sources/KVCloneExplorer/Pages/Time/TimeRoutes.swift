import KVClone

/// Routes of snapshots, comparisons and rollbacks.
enum TimeRoutes {
  static let all: [Route] = [
    .get("/time") { .page(try await TimelinePage.read($0)) },
    .post("/time") { .redirect(try await createSnapshot($0)) },
    .get("/time/:snapshot/delete") { .page(try await SnapshotDeletionPage.read($0)) },
    .post("/time/:snapshot/delete") { .redirect(try await deleteSnapshot($0)) },
    .get("/compare") { .page(try await ComparisonPage.read($0)) },
    .get("/compare/:entity/:serial") { .page(try await ObjectComparisonPage.read($0)) },
    .get("/rollback/:snapshot") { .page(try await RollbackPage.read($0)) },
    .post("/rollback/:snapshot") { .redirect(try await RollbackPage.run($0)) },
    .get("/rollback/:snapshot/done") { .page(try await RollbackResultPage.read($0)) },
  ]

  private static func createSnapshot(_ context: PageContext) async throws -> String {
    try await context.store.createSnapshot(named: context.form["name"] ?? "")
    return context.link(["time"], [("at", nil)])
  }

  private static func deleteSnapshot(_ context: PageContext) async throws -> String {
    try await context.store.deleteSnapshot(named: try context.snapshotParameter)
    return context.link(["time"], [("at", nil)])
  }
}
