import Foundation
import KVClone
import KVCloneCore

/// The branches of the store, in the order of their creation.
struct BranchesPage: Page {
  let entries: [BranchEntry]
  /// The number of all branches.
  let count: Int
  /// Whether the list begins with the first branch.
  let isFirst: Bool
  /// The number of the last listed branch, if others follow.
  let next: UInt32?
  /// The newest snapshots, which a branch can begin from.
  let snapshots: [String]

  private static let snapshotLimit = 100

  static func read(_ context: PageContext) throws -> BranchesPage {
    let branches = context.root.branches
    let limit = try context.rowLimit()
    let after = try after(context.query["after"])
    let all = try branches.list()
    let rest = all.filter { $0.number > after }
    let shown = rest.prefix(limit)
    let end = context.deadline.end - context.options.requestTimeLimit / 2
    return BranchesPage(
      entries: try shown.map { info in
        try BranchEntry(info, branches) { ContinuousClock.now < end && !Task.isCancelled }
      },
      count: all.count, isFirst: after == 0, next: shown.count < rest.count ? shown.last?.number : nil,
      snapshots: try context.root.snapshots().suffix(snapshotLimit).reversed().map(\.name))
  }

  private static func after(_ text: String?) throws -> UInt32 {
    guard let text else { return 0 }
    guard let number = UInt32(text) else { throw ListPosition.malformed }
    return number
  }

  /// Creates the branch that a form describes.
  static func create(_ context: PageContext) async throws -> String {
    let form = context.form
    let snapshot = try form["from"].nonEmpty.map { try context.root.snapshot(named: $0) }
    let expires = try form["expires"].nonEmpty.map(date)
    let name = form["name"] ?? ""
    _ = try await context.root.branches.create(name, from: snapshot, expiresAt: expires)
    return context.link(branch: name)
  }

  /// - Parameter text: a time in UTC as browsers send it, such as `2026-12-24T18:30`.
  private static func date(_ text: String) throws -> Date {
    let seconds = text.split(separator: ":").count < 3 ? "\(text):00" : text
    guard let date = try? Date("\(seconds)Z", strategy: .iso8601) else {
      throw ExplorerError(.badRequest, "expires is not a time such as 2026-12-24T18:30; correct it, or leave it empty")
    }
    return date
  }

  var title: String { "Branches" }

  var section: PageSection { .branches }

  // MARK: HTML

  func html(_ context: PageContext) -> HTML {
    var html = Components.live("branches", list(context))
    html += Components.section("New branch", context.options.allowsWrites ? form(context) : ReadOnlyNotice.html)
    return html
  }

  private func list(_ context: PageContext) -> HTML {
    if count == 0 {
      return Components.empty(
        "The store has no branches.",
        "A branch is a writable view of one state of the store: <code>kvclone branch create NAME</code>.")
    }
    let table = Components.table(
      "Branches",
      columns: [
        Components.Column("Branch"), Components.Column("Changed objects", isNumeric: true),
        Components.Column("Written", isNumeric: true), Components.Column("Retained by the base", isNumeric: true),
        Components.Column("Base"), Components.Column("Created"), Components.Column("Expires"),
        Components.Column("Last commit", isNumeric: true), Components.Column("Pages"),
      ],
      rows: entries.map { row($0, context) })
    return table
      + Components.pager(
        "\(Components.number(entries.count)) of \(Components.number(count)) \(count == 1 ? "branch" : "branches")",
        first: isFirst ? nil : context.link(replacing: [("after", nil)]),
        next: next.map { context.link(replacing: [("after", "\($0)")]) })
  }

  private func row(_ entry: BranchEntry, _ context: PageContext) -> [HTML] {
    let info = entry.info
    let pages = [
      Components.link("Browse", context.link(on: info.name, [])),
      Components.link("Changes", context.link(changesOf: info.name, from: StateName.base)),
      Components.link("Publish…", context.link(branch: info.name, ["publish"])),
      Components.link("Update…", context.link(branch: info.name, ["update"])),
    ]
    return [
      Components.link(info.name, context.link(branch: info.name)), Components.number(info.changedObjectCount),
      Components.bytes(info.byteCount), entry.retainedBytes.map(Components.bytes) ?? Components.muted("not counted"),
      entry.base, Components.time(info.createdAt.timeText), entry.expiry,
      Components.number(Int(clamping: info.lastCommit)), AttributeText.separated(pages, by: " · "),
    ]
  }

  private func form(_ context: PageContext) -> HTML {
    """
    <form class="stack" action="\(context.target(["branches"]))" method="post"><div class="row">\
    \(Components.field("Name", name: "name", hint: "1 to 128 characters: letters, digits, dot, underscore and hyphen"))\
    \(Components.select(
      "Begins with", name: "from",
      options: [("", "present state")] + snapshots.map { ($0, "snapshot \($0)") }, selected: ""))\
    \(Components.field("Expires", name: "expires", type: "datetime-local", hint: "in UTC; empty for no expiry"))</div>\
    \(Components.button("Create branch", "primary"))</form>
    """
  }

  // MARK: Documents

  func write(to json: inout JSONWriter) {
    json.member("count", count)
    json.list("branches", entries) { $1.write(to: &$0) }
    json.nullable("next", next.map { "\($0)" })
  }

  var table: PageTable { PageTable(columns: BranchEntry.columns, rows: entries.map(\.row)) }
}
