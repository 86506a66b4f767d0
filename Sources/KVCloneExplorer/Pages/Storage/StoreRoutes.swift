import KVClone
import KVCloneCore

/// Routes of the storage of the store.
enum StoreRoutes {
  static let all: [Route] = [
    .get("/store") { .page(try await StorePage.read($0)) },
    .get("/store/check") { context in
      if context.query["run"] == "1" { return try start(.check(readsData: context.query["data"] == "1"), context) }
      let checks = context.jobs.all.filter(\.kind.isCheck)
      return .page(CheckPage(jobs: checks))
    },
    .get("/store/sizes") { try start(.sizes, $0) },
    .get("/store/check/:job") { try show($0, isCheck: true) },
    .get("/store/sizes/:job") { try show($0, isCheck: false) },
  ]

  /// Starts a job, which only reads, and shows its page: reloading that does not start another one.
  private static func start(_ kind: StoreJob.Kind, _ context: PageContext) throws -> Route.Reply {
    if context.request.method == "HEAD" { return .redirect(context.link(kind.path, [("at", nil)])) }
    if kind == .sizes { _ = try context.store.engine.requireFiles(for: "statistics of pages") }
    let number = try context.jobs.start(kind, context.store)
    return .redirect(context.link(kind.path + ["\(number)"], [("at", nil)]))
  }

  private static func show(_ context: PageContext, isCheck: Bool) throws -> Route.Reply {
    let page = try JobPage.read(context, isCheck: isCheck)
    guard context.query["cancel"] == "1", context.request.method != "HEAD" else { return .page(page) }
    context.jobs.cancel(page.job.number)
    return .redirect(context.link(page.job.kind.path + ["\(page.job.number)"], [("at", nil)]))
  }
}
