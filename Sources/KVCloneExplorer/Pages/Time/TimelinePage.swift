import Foundation
import KVClone
import KVCloneCore

/// The snapshots of the store, newest first, and its history.
struct TimelinePage: Page {
  let timeline: Timeline
  let request: Timeline.Request

  static func read(_ context: PageContext) throws -> TimelinePage {
    let query = context.query
    let limit = context.options.requestTimeLimit
    let (early, late) = (context.deadline.end - limit * 3 / 4, context.deadline.end - limit / 4)
    let request = Timeline.Request(
      beforeSnapshot: try number(query["before"], "before"), beforeCommit: try number(query["commits"], "commits"),
      counted: query["retained"], limit: try context.rowLimit(50),
      hasTime: { ContinuousClock.now < early && !Task.isCancelled },
      hasTimeForCounted: { ContinuousClock.now < late && !Task.isCancelled })
    return TimelinePage(timeline: try Timeline(context.store, request), request: request)
  }

  private static func number(_ text: String?, _ name: String) throws -> UInt64? {
    guard let text else { return nil }
    guard let number = UInt64(text) else {
      throw ExplorerError(.badRequest, "\(name) is not a number; remove it, or correct it")
    }
    return number
  }

  var title: String { "Time" }

  var section: PageSection { .time }

  func html(_ context: PageContext) -> HTML {
    var html = Components.live(
      "time-figures",
      Components.figures([
        ("Commits", Components.number(Int(clamping: timeline.commit))),
        ("Snapshots", Components.number(timeline.snapshotCount)),
      ]))
    html += Components.section("Snapshots", snapshots(context))
    if context.options.allowsWrites { html += Components.section("New snapshot", form(context)) }
    return html + Components.section("History", history(context))
  }

  // MARK: Snapshots

  private func snapshots(_ context: PageContext) -> HTML {
    if timeline.snapshotCount == 0 {
      return Components.empty(
        "The store has no snapshots.",
        "A snapshot keeps the present state: <code>kvclone snapshot create NAME</code>.")
    }
    var moments: [Components.Moment] = []
    if request.beforeSnapshot == nil {
      moments.append(
        Components.Moment(
          time: nil, title: "Present", detail: "Commit \(Components.number(Int(clamping: timeline.commit)))",
          isCurrent: context.snapshotName == nil))
    }
    moments += timeline.entries.map { moment($0, context) }
    let next = timeline.nextSnapshot.map { context.link(replacing: [("before", "\($0)")]) }
    let first = request.beforeSnapshot == nil ? nil : context.link(replacing: [("before", nil)])
    return Components.live("snapshots", Components.timeline("Snapshots, newest first", moments))
      + (first == nil && next == nil ? .empty : Components.pager("Snapshots, newest first", first: first, next: next))
  }

  private func moment(_ entry: Timeline.Entry, _ context: PageContext) -> Components.Moment {
    let info = entry.info
    var facts: [HTML] = [
      "\(Components.number(info.objectCount)) \(info.objectCount == 1 ? "object" : "objects")",
      "commit \(Components.number(Int(clamping: info.commit)))", "retains \(retained(entry, context))",
    ]
    if let version = info.modelVersion?.nonEmpty { facts.append("model version \(version)") }
    if let expires = info.expiresAt { facts.append("expires \(Components.time(expires.timeText))") }
    if !info.holds.isEmpty { facts.append("held by \(info.holds.joined(separator: ", "))") }
    for (name, value) in info.userInfo.sorted(by: { $0.key < $1.key }) {
      facts.append("\(Excerpt.beginning(of: name, 80)): \(Excerpt.beginning(of: value, 200))")
    }
    let line = facts.enumerated().map { $0 == 0 ? $1 : " · \($1)" as HTML }
    var actions = [
      Components.link("Browse", context.link([], [("at", info.name)])),
      Components.link("Compare with present", context.link(comparing: info.name, "")),
    ]
    if let previous = entry.previous {
      actions.append(Components.link("Compare with \(previous)", context.link(comparing: previous, info.name)))
    }
    actions.append(Components.link("Roll back…", context.link("rollback", snapshot: info.name)))
    return Components.Moment(
      time: info.createdAt.timeText,
      title: "\(Components.link(info.name, context.link([], [("at", info.name)]))) \(badges(info))",
      detail: "<p>\(line)</p>\(Components.toolbar(actions, label: "Actions for \(info.name)"))",
      isCurrent: context.snapshotName == info.name)
  }

  private func badges(_ info: SnapshotInfo) -> HTML {
    var html = Components.badge(info.isAutomatic ? "automatic" : "named")
    if !info.holds.isEmpty { html += " \(Components.badge("held", "share"))" }
    if info.isExpired() { html += " \(Components.badge("expired", "warning"))" }
    return html
  }

  private func retained(_ entry: Timeline.Entry, _ context: PageContext) -> HTML {
    if let count = entry.retainedBytes { return Components.bytes(count) }
    if request.counted == entry.info.name {
      return "an unknown number of bytes: counting takes longer than a page may. Run <code>kvclone snapshot list</code>"
    }
    return Components.link("count", context.link(replacing: [("retained", entry.info.name)]))
  }

  private func form(_ context: PageContext) -> HTML {
    """
    <form class="row" action="\(context.link(["time"], [("at", nil)]))" method="post">\
    \(Components.field("Name", name: "name", hint: "1 to 128 characters: letters, digits, dot, underscore and hyphen"))\
    \(Components.button("Create snapshot", "primary"))</form>\
    <p>A deleted snapshot cannot be restored, so no page deletes one: use <code>kvclone snapshot delete NAME</code>.</p>
    """
  }

  // MARK: History

  private func history(_ context: PageContext) -> HTML {
    guard let transactions = timeline.transactions else {
      return Components.empty(
        "The store records no history.",
        "To record the transactions from now on: <code>kvclone history --on</code>.")
    }
    if transactions.isEmpty { return Components.empty("No transaction was recorded.") }
    let table = Components.table(
      "Transactions, newest first",
      columns: [
        Components.Column("Commit", isNumeric: true), Components.Column("Time"), Components.Column("Operation"),
        Components.Column("Author"), Components.Column("Inserted", isNumeric: true),
        Components.Column("Changed", isNumeric: true), Components.Column("Deleted", isNumeric: true),
      ],
      rows: transactions.map { transaction in
        [
          link(transaction, context), Components.time(transaction.date.timeText),
          "\(Excerpt.beginning(of: transaction.operation, 200))", "\(Excerpt.beginning(of: transaction.author, 200))",
          Components.number(transaction.insertedCount), Components.number(transaction.updatedCount),
          Components.number(transaction.deletedCount),
        ]
      })
    return Components.live("history", table)
      + Components.pager(
        "Transactions, newest first",
        first: request.beforeCommit == nil ? nil : context.link(replacing: [("commits", nil)]),
        next: timeline.nextCommit.map { context.link(replacing: [("commits", "\($0)")]) })
  }

  private func link(_ transaction: HistoryTransaction, _ context: PageContext) -> HTML {
    let target = context.link(["time", "transactions", "\(transaction.commit)"], [("at", nil)])
    return "<a href=\"\(target)\">\(Components.number(Int(clamping: transaction.commit)))</a>"
  }

  // MARK: Documents

  func write(to json: inout JSONWriter) {
    json.member("commit", timeline.commit)
    json.list("snapshots", timeline.entries) { $0.snapshot($1.info, retainedBytes: $1.retainedBytes) }
    json.nullable("next", timeline.nextSnapshot)
    json.member("tracksHistory", timeline.transactions != nil)
    json.list("transactions", timeline.transactions ?? []) { $0.transaction($1) }
    json.nullable("nextCommit", timeline.nextCommit)
  }

  var table: PageTable {
    PageTable(
      columns: [
        "name", "created", "automatic", "expires", "holds", "modelVersion", "commit", "objects", "retainedBytes",
      ],
      rows: timeline.entries.map { entry in
        let info = entry.info
        return [
          info.name, info.createdAt.timeText, "\(info.isAutomatic)", info.expiresAt?.timeText,
          info.holds.joined(separator: " "), info.modelVersion, "\(info.commit)", "\(info.objectCount)",
          entry.retainedBytes.map { "\($0)" },
        ]
      })
  }
}
