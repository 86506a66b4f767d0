import KVClone
import KVCloneCore

/// The result of a rollback, with a link that undoes it.
///
/// It shows what differs between the automatic snapshot and the present: the changes of the rollback, and of later
/// transactions.
struct RollbackResultPage: Page {
  let name: String
  let undo: StoreState
  let comparison: Comparison

  static func read(_ context: PageContext) throws -> RollbackResultPage {
    guard let undo = context.query["undo"]?.nonEmpty else { throw ExplorerError.notFound }
    let budget = Comparison.Budget(context.deadline)
    let state = try StoreState(context.store, named: undo)
    return RollbackResultPage(
      name: try context.parameter("snapshot"), undo: state,
      comparison: try Comparison(context.store, from: state, to: .present, limit: 50, budget: budget))
  }

  var title: String { "Rolled back to \(name == StateName.base ? "the base" : name)" }

  var section: PageSection { .time }

  func breadcrumbs(_ context: PageContext) -> [(name: String, link: String)] {
    [("Time", context.link(["time"], [("at", nil)]))]
  }

  func html(_ context: PageContext) -> HTML {
    var html = Components.notice(
      "The state before the rollback is the snapshot \(Components.link(undo.name, context.link([], [("at", undo.name)])))."
        as HTML)
    html += Components.figures(comparison.figures(("Restored", "Reverted", "Deleted")))
    html += Components.toolbar([
      Components.buttonLink("Undo…", context.link("rollback", snapshot: undo.name)),
      Components.buttonLink("All changes", context.link(comparing: undo.name, "")),
      Components.buttonLink("Time", context.link(["time"], [("at", nil)])),
    ])
    if comparison.rows.isEmpty { return html }
    return html
      + Components.section("Objects", ComparisonTable.html(comparison.rows, from: undo, to: .present, context))
  }

  func write(to json: inout JSONWriter) {
    json.member("snapshot", name)
    json.member("automaticSnapshot", undo.name)
    comparison.write(to: &json)
  }

  var table: PageTable { comparison.table }
}
