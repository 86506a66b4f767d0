import KVClone
import KVCloneMerge

/// Plans and merges that were requested with the form of a plan.
struct MergeRequest: Sendable {
  /// The item of the form that names its button.
  static let action = "do"
  /// The longest query of a page; longer answers are kept in the form.
  private static let maximumQuery = 8 << 10

  private let context: PageContext

  init(_ context: PageContext) { self.context = context }

  /// Answers with the plan. The form sends every field; the URL of the page has only those that differ from their
  /// defaults, unless it would be too long.
  func plan() throws -> Route.Reply {
    let form = try MergeForm(context.query, context.store.schema)
    if context.query[Self.action] != nil, let target = try target(form) { return .redirect(target) }
    return .page(MergePlanPage(try MergeContent.read(context, form)))
  }

  /// Merges once for the key of the form, and leads to the page of the result; or shows the plan with the answers.
  func run() async throws -> Route.Reply {
    let form = try MergeForm(context.form, context.store.schema)
    if context.form[Self.action] == "plan" {
      if let target = try target(form) { return .redirect(target) }
      return .page(MergePlanPage(try MergeContent.read(context, form)))
    }
    guard let key = context.form["key"], (1...ChangeKey.maximumLength).contains(key.utf8.count) else {
      throw ExplorerError(.badRequest, "the form has no idempotency key; open the plan again")
    }
    let target = try MergeTarget(context)
    do {
      let result = try await target.run(context, form, key: key)
      return .redirect(target.link(context, ["done"], result.snapshots.map { ("snapshot", $0) }))
    } catch let error as MergeError where context.format == .html {
      return .page(MergePlanPage(try MergeContent.read(context, form), failure: error))
    }
  }

  /// The URL of the plan; nil if it would be too long.
  private func target(_ form: MergeForm) throws -> String? {
    let target = try MergeTarget(context).link(context, [], form.items().map { ($0.name, $0.value) })
    return target.utf8.count > Self.maximumQuery ? nil : target
  }
}
