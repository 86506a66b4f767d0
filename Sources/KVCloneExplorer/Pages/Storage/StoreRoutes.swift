import KVClone
import KVCloneCore

/// Routes of the storage of the store.
enum StoreRoutes {
  static let all = Route.wholeStore(
    [
      .get("/store") { .page(try await StorePage.read($0)) },
      .get("/store/check") { .page(CheckPage(jobs: $0.jobs.all.filter { $0.kind.path.last == "check" })) },
      .action("/store/check") { try start(.check(readsData: $0.form["data"] == "1"), $0) },
      .get("/store/sizes") { sizes($0) },
      .action("/store/sizes") { try start(.sizes, $0) },
      .action("/store/counts") { try start(.counts(snapshot: try counted($0)), $0) },
    ] + ["check", "sizes", "counts"].flatMap(job))

  /// The routes of the jobs below a path.
  private static func job(_ name: String) -> [Route] {
    [
      .get("/store/\(name)/:job") { .page(try JobPage.read($0, below: name)) },
      .action("/store/\(name)/:job/cancel") { context in
        let job = try JobPage.read(context, below: name).job
        context.jobs.cancel(job.number)
        return show(job.kind, job.number, context)
      },
    ]
  }

  /// The name of the snapshot to count; nil for the present state.
  private static func counted(_ context: PageContext) throws -> String? {
    guard let name = context.form["at"], !name.isEmpty else { return nil }
    return try context.store.snapshot(named: name).name
  }

  /// Starts a job, which only reads, and leads to its page: reloading that does not start another one.
  private static func start(_ kind: StoreJob.Kind, _ context: PageContext) throws -> Route.Reply {
    if kind == .sizes { _ = try context.store.engine.requireFiles(for: "statistics of pages") }
    return show(kind, try context.jobs.start(kind, context.store), context)
  }

  private static func show(_ kind: StoreJob.Kind, _ number: Int, _ context: PageContext) -> Route.Reply {
    .redirect(context.link(kind.path + ["\(number)"], [("at", nil)]))
  }

  /// Leads to the running or latest measurement, or to the page that starts one.
  private static func sizes(_ context: PageContext) -> Route.Reply {
    guard let job = context.jobs.all.first(where: { $0.kind == .sizes }) else {
      return .redirect(context.link(["store"], [("at", nil)]))
    }
    return show(.sizes, job.number, context)
  }
}
