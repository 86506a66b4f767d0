import KVClone
import KVCloneCore

/// One branch, and what can be done with it.
struct BranchPage: Page {
  let entry: BranchEntry

  var info: BranchInfo { entry.info }

  var title: String { info.name }

  var section: PageSection { .branches }

  func breadcrumbs(_ context: PageContext) -> [(name: String, link: String)] { Self.trail(context) }

  /// The page above those of a branch.
  static func trail(_ context: PageContext) -> [(name: String, link: String)] {
    [("Branches", context.link(["branches"], [("at", nil), ("branch", nil)]))]
  }

  func html(_ context: PageContext) -> HTML {
    var actions = [
      Components.buttonLink("Browse", context.link(on: info.name, [])),
      Components.buttonLink("Changes since its base", context.link(changesOf: info.name, from: StateName.base)),
      Components.buttonLink("Compare with the store", context.link(changesOf: info.name, from: StateName.store)),
      Components.buttonLink("Snapshots and history", context.link(on: info.name, ["time"])),
      Components.buttonLink("Drafts", context.link(on: info.name, ["drafts"])),
    ]
    var html = Components.toolbar(actions) + figures
    html += Components.definitions([
      ("Base", entry.base), ("Created", Components.time(info.createdAt.timeText)), ("Expires", entry.expiry),
      ("Last commit", Components.number(Int(clamping: info.lastCommit))),
    ])
    actions = [
      Components.buttonLink("Publish…", context.link(branch: info.name, ["publish"])),
      Components.buttonLink("Update…", context.link(branch: info.name, ["update"])),
      Components.buttonLink("Reset to its base…", context.link(on: info.name, ["rollback", StateName.base])),
      Components.buttonLink("Delete…", context.link(branch: info.name, ["delete"])),
    ]
    return html
      + Components.section(
        "Merge and delete",
        """
        <p>Publish takes the changes of the branch into the store, and update takes those of the store into the \
        branch. Each page shows the plan first.</p>\(Components.toolbar(actions, label: "Merge and delete"))
        """)
  }

  private var figures: HTML {
    Components.figures([
      ("Changed objects", Components.number(info.changedObjectCount)), ("Written", Components.bytes(info.byteCount)),
      ("Retained by the base", entry.retainedBytes.map(Components.bytes) ?? Components.muted("not counted")),
    ])
  }

  func write(to json: inout JSONWriter) { entry.write(to: &json) }

  var table: PageTable { PageTable(columns: BranchEntry.columns, rows: [entry.row]) }
}
