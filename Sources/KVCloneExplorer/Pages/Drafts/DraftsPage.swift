import KVClone
import KVCloneCore
import KVCloneMerge

/// The clones that can be merged back into their sources.
struct DraftsPage: Page {
  struct Entry: Sendable {
    var info: DraftInfo
    /// The first roots and sources.
    var roots: [DisplayName]
    var sources: [DisplayName]
  }

  let entries: [Entry]
  let count: Int
  /// The number of drafts before the page.
  let start: Int

  /// The number of listed roots of a draft.
  private static let rootLimit = 10

  static func read(_ context: PageContext) async throws -> DraftsPage {
    let limit = try context.rowLimit()
    guard let start = Int(context.query["after"] ?? "0"), start >= 0 else { throw ListPosition.malformed }
    let all = try context.store.drafts.list()
    let shown = Array(all.dropFirst(start).prefix(limit))
    let reader = BoundedReader(store: context.store, deadline: context.deadline)
    let entries = try await reader.read(at: nil) { transaction in
      shown.map { info in
        Entry(
          info: info, roots: names(info.roots, transaction), sources: names(info.sources, transaction))
      }
    }
    return DraftsPage(entries: entries, count: all.count, start: start)
  }

  private static func names(_ ids: [ObjectID], _ transaction: borrowing ReadTransaction) -> [DisplayName] {
    MemberReader.names(of: Array(ids.prefix(rootLimit)), in: transaction).map(\.name)
  }

  var title: String { "Drafts" }

  var section: PageSection { .drafts }

  private var next: Int? { start + entries.count < count ? start + entries.count : nil }

  // MARK: HTML

  func html(_ context: PageContext) -> HTML {
    if count == 0 {
      return Components.empty(
        "The \(context.branchName == nil ? "store" : "branch") has no drafts.",
        "A draft is a clone that can be merged back into its sources: <code>kvclone clone ID --keeps-base</code>.")
    }
    if entries.isEmpty { return Components.empty("No draft is on this page.") }
    let table = Components.table(
      "Drafts",
      columns: [
        Components.Column("Draft"), Components.Column("Source"), Components.Column("State"),
        Components.Column("Objects", isNumeric: true), Components.Column("Author"), Components.Column("Created"),
        Components.Column("Expires"), Components.Column("Retained by the base", isNumeric: true),
        Components.Column("Merge"),
      ],
      rows: entries.map { row($0, context) })
    return Components.live("drafts", table)
      + Components.pager(
        "\(Components.number(entries.count)) of \(Components.number(count)) \(count == 1 ? "draft" : "drafts")",
        first: start == 0 ? nil : context.link(replacing: [("after", nil)]),
        next: next.map { context.link(replacing: [("after", "\($0)")]) })
  }

  private func row(_ entry: Entry, _ context: PageContext) -> [HTML] {
    let info = entry.info
    let plans = entry.roots.map { root in
      Components.link("Plan", context.link(["drafts"] + Array(root.path.dropFirst())))
    }
    return [
      names(entry.roots, info.roots.count, context), names(entry.sources, info.sources.count, context),
      info.isChanged ? Components.badge("changed", "warning") : Components.badge("unchanged"),
      Components.number(info.objectCount),
      info.author.isEmpty ? Components.muted("–") : "\(Excerpt.beginning(of: info.author, 80))",
      Components.time(info.createdAt.timeText),
      info.expiresAt.map { Components.time($0.timeText) } ?? Components.muted("never"),
      Components.bytes(info.retainedBytes), AttributeText.separated(plans, by: " · "),
    ]
  }

  private func names(_ names: [DisplayName], _ count: Int, _ context: PageContext) -> HTML {
    let links = AttributeText.separated(names.map { $0.link(context) }, by: "<br>")
    return count > names.count ? "\(links)<br>\(Components.muted("and \(count - names.count) more"))" : links
  }

  // MARK: Documents

  func write(to json: inout JSONWriter) {
    json.member("count", count)
    json.list("drafts", entries) { json, entry in
      let info = entry.info
      json.member("roots", entry.roots.map(\.id))
      json.member("sources", entry.sources.map(\.id))
      json.member("rootCount", info.roots.count)
      json.member("author", info.author)
      json.member("created", info.createdAt.timeText)
      json.nullable("expires", info.expiresAt?.timeText)
      json.member("objects", info.objectCount)
      json.member("changed", info.isChanged)
      json.member("retainedBytes", info.retainedBytes)
    }
    json.nullable("next", next.map { "\($0)" })
  }

  var table: PageTable {
    PageTable(
      columns: ["roots", "sources", "author", "created", "expires", "objects", "changed", "retainedBytes"],
      rows: entries.map { entry in
        let info = entry.info
        return [
          entry.roots.map(\.id).joined(separator: " "), entry.sources.map(\.id).joined(separator: " "), info.author,
          info.createdAt.timeText, info.expiresAt?.timeText, "\(info.objectCount)", "\(info.isChanged)",
          "\(info.retainedBytes)",
        ]
      })
  }
}
