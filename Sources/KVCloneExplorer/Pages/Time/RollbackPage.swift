import KVClone
import KVCloneCore

/// The plan of a rollback of the store, or of some objects.
struct RollbackPage: Page {
  let snapshot: SnapshotInfo
  /// The snapshot as the target of links; the base of a branch has a name of its own in URLs.
  let state: StoreState
  /// The branch that would be reset; nil for the store.
  let branch: String?
  /// The names of the objects to roll back; empty for the whole store.
  let objects: [String]
  /// The differences from the present to the snapshot; nil for chosen objects.
  let comparison: Comparison?
  /// Nil if it was not requested, and is not certain to be quick.
  private(set) var plan: RollbackPlan?
  /// Whether the plan is missing because another transaction holds the write lock.
  private(set) var isLocked = false

  /// The number of listed objects.
  private static let rowCount = 50
  /// The number of differing objects up to which the plan runs without a request: it holds the write lock.
  static let maximumUnrequested = 1000
  private static let maximumObjects = 100
  /// The longest wait of a plan for the write lock.
  private static let lockTimeout = Duration.milliseconds(500)

  private init(
    snapshot: SnapshotInfo, state: StoreState, branch: String?, objects: [String], comparison: Comparison?
  ) {
    (self.snapshot, self.state, self.branch) = (snapshot, state, branch)
    (self.objects, self.comparison) = (objects, comparison)
  }

  static func read(_ context: PageContext) async throws -> RollbackPage {
    let store = context.store
    let objects = try Self.objects(context.query)
    let state = try StoreState(store, named: try context.parameter("snapshot"))
    guard let target = state.snapshot else { throw ExplorerError.notFound }
    let comparison =
      objects.isEmpty
      ? try Comparison(
        store, from: .present, to: state, limit: rowCount,
        budget: Comparison.Budget(Deadline(after: context.options.requestTimeLimit))) : nil
    var page = RollbackPage(
      snapshot: target.info, state: state, branch: context.branchName, objects: objects, comparison: comparison)
    // A reset of a branch has no plan of its own: it makes the branch equal to the snapshot.
    guard context.options.allowsWrites, context.branchName == nil else { return page }
    let ids = try Self.ids(objects, target)
    let isRequested = context.query["plan"] == "1"
    let isQuick =
      if let comparison {
        comparison.hasAllCounts && comparison.total.total <= maximumUnrequested
      } else {
        try await isSmall(ids ?? [], target.name, context)
      }
    guard isQuick || isRequested else { return page }
    // On this thread: the queue of writers could wait for longer.
    do {
      page.plan = try RollbackPlan.of(target, objects: ids, in: store, timeout: lockTimeout)
    } catch let error as StoreError where error.kind == .busy {
      guard !isRequested else {
        throw ExplorerError(
          .busy,
          "the plan needs the write lock, which another transaction holds (see the page of the store); try again when "
            + "it has ended")
      }
      page.isLocked = true
    }
    return page
  }

  /// Whether a rollback of objects affects few others.
  private static func isSmall(_ ids: [ObjectID], _ snapshot: String, _ context: PageContext) async throws -> Bool {
    let reader = BoundedReader(store: context.store, deadline: Deadline(after: context.options.requestTimeLimit / 4))
    do {
      return try await reader.read(at: snapshot) { past in
        try past.cloneSet(of: ids).count <= maximumUnrequested
      }
    } catch let error as ExplorerError where error.kind == .timeLimit {
      return false
    } catch is CloneError {
      // The plan has this error, too, and is quick.
      return true
    }
  }

  /// Runs the rollback that a form describes, and returns the URL of its result.
  static func run(_ context: PageContext) async throws -> String {
    let store = context.store
    let state = try StoreState(store, named: try context.parameter("snapshot"))
    guard let target = state.snapshot else { throw ExplorerError.notFound }
    let ids = try Self.ids(try Self.objects(context.form), target)
    let result =
      if let branch = context.branchName {
        try await context.root.branches.reset(branch, to: state.origin == .base ? nil : target, objects: ids)
      } else {
        try await store.rollback(to: target, objects: ids)
      }
    guard let undo = result.automaticSnapshot else { return context.link(["time"], [("at", nil)]) }
    return context.link("rollback", snapshot: state.name, ["done"], [("undo", undo.name)])
  }

  private static func objects(_ items: QueryItems) throws -> [String] {
    let names = items.all("object")
    guard names.count <= maximumObjects else {
      throw ExplorerError(
        .badRequest, "a page rolls back at most \(maximumObjects) objects; use `kvclone snapshot rollback --object`")
    }
    return names
  }

  /// Returns the ids of objects in a snapshot; nil for the whole store.
  private static func ids(_ names: [String], _ snapshot: Snapshot) throws -> [ObjectID]? {
    if names.isEmpty { return nil }
    return try snapshot.read { past in
      var ids: [ObjectID] = []
      for name in names {
        let id = try past.objectID(named: name)
        if !ids.contains(id) { ids.append(id) }
      }
      return ids
    }
  }

  var title: String {
    branch.map { "Reset \($0) to \(state.origin == .base ? "its base" : state.title)" } ?? "Roll back to \(state.title)"
  }

  var section: PageSection { .time }

  func breadcrumbs(_ context: PageContext) -> [(name: String, link: String)] {
    [("Time", context.link(["time"], [("at", nil)]))]
  }

  // MARK: HTML

  func html(_ context: PageContext) -> HTML {
    var html = scope(context) + figures
    if let plan, !plan.isPossible { html += errors(plan) }
    if let comparison {
      if comparison.hasAllCounts, comparison.total.total == 0 {
        return html + Components.empty("The \(owner) is equal to the snapshot: nothing would change.")
      }
      html += Components.section("Changes of the rollback", list(comparison, context))
    }
    return html + Components.section("Run", form(context))
  }

  private var owner: String { branch == nil ? "store" : "branch" }

  private func scope(_ context: PageContext) -> HTML {
    if objects.isEmpty {
      return "<p>The whole \(owner) returns to the state of \(Components.time(snapshot.createdAt.timeText)).</p>"
    }
    let items = objects.map { name -> HTML in
      guard let object = ObjectName(name) else { return "<li>\(name)</li>" }
      return "<li>\(Components.link(name, context.link(comparing: "", state.name, object: object)))</li>"
    }
    return """
      <p>These objects return to the state of \(Components.time(snapshot.createdAt.timeText)), with the objects that a \
      clone of them would copy:</p><ul>\(items)</ul>
      """
  }

  private var figures: HTML {
    if let plan {
      return Components.figures([
        ("Reverted", Components.number(plan.updatedCount)), ("Restored", Components.number(plan.recreatedCount)),
        ("Deleted", Components.number(plan.deletedCount)),
        ("Kept for undo", plan.isPossible ? Components.bytes(plan.replacedByteCount) : "–"),
      ])
    }
    guard let comparison else { return .empty }
    return Components.figures(comparison.figures(("Restored", "Reverted", "Deleted")))
  }

  private func errors(_ plan: RollbackPlan) -> HTML {
    let items = plan.errors.map { error -> HTML in
      "<li>\(error.object.map { "\(Components.code($0)): " as HTML })\(error.message)</li>"
    }
    let rest: HTML =
      plan.errorCount > plan.errors.count ? "<li>and \(plan.errorCount - plan.errors.count) more</li>" : .empty
    return Components.notice("The rollback would fail.", "error") + "<ul>\(items)\(rest)</ul>"
  }

  private func list(_ comparison: Comparison, _ context: PageContext) -> HTML {
    let all = context.link(comparing: "", state.name)
    let table = comparison.rows.isEmpty ? HTML.empty : rows(comparison, context)
    return "\(table)<p>\(Components.link("All changes from the present to \(state.title)", all))</p>"
  }

  private func rows(_ comparison: Comparison, _ context: PageContext) -> HTML {
    ComparisonTable.html("Objects that the rollback changes", comparison.rows, change: "Effect", badge: effect) {
      ComparisonTable.link($0, context.link(comparing: "", state.name, object: $0.object))
    }
  }

  private func effect(_ kind: SnapshotDifference.Kind) -> HTML {
    switch kind {
    case .inserted: Components.badge("restored", "good")
    case .updated: Components.badge("reverted", "warning")
    case .deleted: Components.badge("deleted", "bad")
    }
  }

  private func form(_ context: PageContext) -> HTML {
    if !context.options.allowsWrites { return ReadOnlyNotice.html }
    if let plan, !plan.isPossible { return Components.notice("Resolve the errors, then reload this page.") }
    var html: HTML =
      "<p>An automatic snapshot of the present state is created first, so that the rollback can be undone.</p>"
    html += "<p>\(check(context))</p>"
    return html + """
      <form action="\(context.link("rollback", snapshot: state.name))" method="post">\
      \(Components.hidden(objects.map { ("object", $0) }))\(Components.button(branch == nil ? "Roll back" : "Reset", "danger"))</form>
      """
  }

  /// The state of the plan, and its use of the write lock.
  private func check(_ context: PageContext) -> HTML {
    if branch != nil { return "The differences between the two states are what the reset changes." }
    if plan != nil {
      return "The plan was checked for errors: it ran the rollback under the write lock, and aborted it."
    }
    let reason: HTML =
      isLocked
      ? "Another transaction holds the write lock, so the plan was not checked for errors."
      : "Many objects change, so the plan was not checked for errors."
    return """
      \(reason) \(Components.link("Check it now", context.link(replacing: [("plan", "1")]))): this runs the rollback, \
      aborts it, and holds the write lock until then.
      """
  }

  // MARK: Documents

  func write(to json: inout JSONWriter) {
    json.member("snapshot", state.name)
    if let branch { json.member("branch", branch) }
    json.member("objects", objects)
    json.nullable("updated", plan?.updatedCount ?? comparison?.total.updated)
    json.nullable("recreated", plan?.recreatedCount ?? comparison?.total.inserted)
    json.nullable("deleted", plan?.deletedCount ?? comparison?.total.deleted)
    json.nullable("replacedBytes", plan?.replacedByteCount)
    json.nullable("automaticSnapshot", nil)
    json.member("committed", false)
    json.member("checked", plan != nil)
    json.reasons(plan?.errors ?? [], count: plan?.errorCount ?? 0)
  }

  var table: PageTable { comparison?.table ?? Comparison.emptyTable }
}
