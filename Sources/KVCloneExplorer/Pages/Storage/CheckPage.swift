import KVClone
import KVCloneCore

/// The form that starts a check, and the latest checks.
struct CheckPage: Page {
  let jobs: [StoreJob]

  var title: String { "Check" }

  var section: PageSection { .store }

  func breadcrumbs(_ context: PageContext) -> [(name: String, link: String)] {
    [("Store", context.link(["store"], [("at", nil)]))]
  }

  func html(_ context: PageContext) -> HTML {
    """
    <p>A check reads the whole store, and reports corruption: of records, links, lists, index entries, counts and the \
    history. Nothing is changed.</p>\
    <form action="\(context.link(["store", "check"], [("at", nil)]))" method="post">\
    \(Components.checkboxes("Options", name: "data", options: [("1", "Also read every byte of blobs", false)]))\
    \(Components.button("Start a check", "primary"))</form>\(list(context))
    """
  }

  private func list(_ context: PageContext) -> HTML {
    if jobs.isEmpty { return .empty }
    return Components.section(
      "Latest checks",
      Components.table(
        "Checks, newest first",
        columns: [Components.Column("Check"), Components.Column("Started"), Components.Column("Result")],
        rows: jobs.map { job in
          [
            Components.link("Check \(job.number)", context.link(job.kind.path + ["\(job.number)"], [("at", nil)])),
            Components.time(job.started.timeText), result(job),
          ]
        }))
  }

  private func result(_ job: StoreJob) -> HTML {
    guard case .checked(let report) = job.outcome else { return Components.badge(job.state) }
    if report.isClean { return Components.badge("ok", "good") }
    return Components.badge(Text.count(report.issues.count, "issue"), "bad")
  }

  func write(to json: inout JSONWriter) {
    json.list("checks", jobs) { json, job in
      json.member("job", job.number)
      json.member("state", job.state)
      json.member("started", job.started.timeText)
    }
  }

  var table: PageTable {
    PageTable(
      columns: ["job", "state", "started"], rows: jobs.map { ["\($0.number)", $0.state, $0.started.timeText] })
  }
}
