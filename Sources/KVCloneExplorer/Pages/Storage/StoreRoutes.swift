import KVClone
import KVCloneCore

/// Routes of the storage of the store.
enum StoreRoutes {
  static let all: [Route] = [
    .get("/store") { .page(try await StorePage.read($0)) },
    .get("/store/check") { .page(CheckPage(jobs: $0.jobs.all.filter(\.kind.isCheck))) },
    .action("/store/check") { try start(.check(readsData: $0.form["data"] == "1"), $0) },
    .get("/store/sizes") { sizes($0) },
    .action("/store/sizes") { try start(.sizes, $0) },
    .get("/store/check/:job") { .page(try JobPage.read($0, isCheck: true)) },
    .get("/store/sizes/:job") { .page(try JobPage.read($0, isCheck: false)) },
    .action("/store/check/:job/cancel") { try cancel($0, isCheck: true) },
    .action("/store/sizes/:job/cancel") { try cancel($0, isCheck: false) },
  ]

  /// Starts a job, which only reads, and leads to its page: reloading that does not start another one.
  private static func start(_ kind: StoreJob.Kind, _ context: PageContext) throws -> Route.Reply {
    if kind == .sizes { _ = try context.store.engine.requireFiles(for: "statistics of pages") }
    return show(kind, try context.jobs.start(kind, context.store), context)
  }

  private static func cancel(_ context: PageContext, isCheck: Bool) throws -> Route.Reply {
    let job = try JobPage.read(context, isCheck: isCheck).job
    context.jobs.cancel(job.number)
    return show(job.kind, job.number, context)
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
