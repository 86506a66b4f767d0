import KVClone
import KVCloneCore

/// The plan of deleting a snapshot.
struct SnapshotDeletionPage: Page {
  let info: SnapshotInfo
  let retainedBytes: UInt64

  static func read(_ context: PageContext) throws -> SnapshotDeletionPage {
    let snapshot = try context.store.snapshot(named: try context.parameter("snapshot"))
    return SnapshotDeletionPage(info: snapshot.info, retainedBytes: try snapshot.retainedBytes())
  }

  var title: String { "Delete the snapshot \(info.name)" }

  var section: PageSection { .time }

  func breadcrumbs(_ context: PageContext) -> [(name: String, link: String)] {
    [("Time", context.link(["time"], [("at", nil)]))]
  }

  func html(_ context: PageContext) -> HTML {
    let facts = Components.definitions([
      ("Created", Components.time(info.createdAt.timeText)), ("Objects", Components.number(info.objectCount)),
      ("Frees", Components.bytes(retainedBytes)),
    ])
    if !info.holds.isEmpty {
      return facts
        + Components.notice(
          "The snapshot is held by \(info.holds.joined(separator: ", ")), and cannot be deleted. Release it with "
            + "kvclone snapshot release.", "error")
    }
    let effect = Components.notice(
      "The objects of the store do not change. The state of the snapshot cannot be shown or restored afterwards.",
      "warning")
    if !context.options.allowsWrites { return facts + effect + ReadOnlyNotice.html }
    return """
      \(facts)\(effect)<form action="\(context.link("time", snapshot: info.name, ["delete"]))" method="post">\
      \(Components.button("Delete the snapshot", "danger"))</form>
      """
  }

  func write(to json: inout JSONWriter) { json.snapshot(info, retainedBytes: retainedBytes) }

  var table: PageTable {
    PageTable(columns: ["name", "retainedBytes"], rows: [[info.name, "\(retainedBytes)"]])
  }
}

/// The notice in place of the form of a change.
enum ReadOnlyNotice {
  static let html = Components.notice(
    "The explorer is read-only. To allow changes, start it with kvclone explore --write.")
}
