import KVClone
import KVCloneCore

/// The plan of deleting a branch: what was changed on it, and would be lost.
struct BranchDeletionPage: Page {
  let entry: BranchEntry
  let comparison: Comparison
  /// The number of snapshots of the branch, which are deleted with it.
  let snapshotCount: Int

  /// The number of listed objects.
  private static let rowCount = 50

  static func read(_ context: PageContext) throws -> BranchDeletionPage {
    let entry = try BranchEntry.read(context)
    let branch = try context.root.branches.open(entry.info.name)
    return BranchDeletionPage(
      entry: entry,
      comparison: try Comparison(
        branch, from: StoreState(branch, named: StateName.base), to: .present, limit: rowCount,
        writesJSON: context.format == .json, budget: Comparison.Budget(context.deadline)),
      snapshotCount: try branch.snapshots().count)
  }

  /// Deletes the branch of the path.
  static func run(_ context: PageContext) async throws -> String {
    try await context.root.branches.delete(try context.parameter("branch"))
    return context.target(["branches"])
  }

  private var name: String { entry.info.name }

  var title: String { "Delete \(name)" }

  var section: PageSection { .branches }

  func breadcrumbs(_ context: PageContext) -> [(name: String, link: String)] {
    BranchPage.trail(context) + [(name, context.link(branch: name))]
  }

  func html(_ context: PageContext) -> HTML {
    var html = Components.figures(
      comparison.figures(("Inserted on it", "Changed on it", "Deleted on it")) + [
        ("Snapshots", Components.number(snapshotCount)), ("Written", Components.bytes(entry.info.byteCount)),
        ("Retained by the base", entry.retainedBytes.map(Components.bytes) ?? Components.muted("not counted")),
      ])
    if comparison.rows.isEmpty, comparison.hasAllCounts {
      html += Components.empty("Nothing differs from the base: no change would be lost.")
    } else {
      let all = context.link(changesOf: name, from: StateName.base)
      html += Components.section(
        "Changes that would be lost", "\(rows(context))<p>\(Components.link("All changes of \(name)", all))</p>")
    }
    return html + Components.section("Run", form(context))
  }

  private func rows(_ context: PageContext) -> HTML {
    ComparisonTable.html("Objects that differ from the base", comparison.rows) { row in
      let path = ["compare"] + row.object.segments
      return ComparisonTable.link(row, context.link(on: name, path, [("from", StateName.base), ("to", "")]))
    }
  }

  private func form(_ context: PageContext) -> HTML {
    if !context.options.allowsWrites { return ReadOnlyNotice.html }
    return """
      <p>A deleted branch cannot be restored. Publish it first to keep its changes.</p>\
      \(Components.action("Delete branch", context.link(branch: name, ["delete"]), [], "danger"))
      """
  }

  func write(to json: inout JSONWriter) {
    entry.write(to: &json)
    json.member("snapshots", snapshotCount)
    comparison.write(to: &json)
    comparison.writeDifferences(to: &json)
  }

  var table: PageTable { comparison.table }
}
