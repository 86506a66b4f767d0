/// Routes of the list of branches, and of a branch.
enum BranchRoutes {
  static let all = Route.wholeStore([
    .get("/branches") { .page(try BranchesPage.read($0)) },
    .post("/branches") { .redirect(try await BranchesPage.create($0)) },
    .get("/branches/:branch") { .page(BranchPage(entry: try BranchEntry.read($0))) },
    .get("/branches/:branch/delete") { .page(try BranchDeletionPage.read($0)) },
    .post("/branches/:branch/delete") { .redirect(try await BranchDeletionPage.run($0)) },
  ])
}
