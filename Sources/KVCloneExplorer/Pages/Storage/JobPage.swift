import KVClone
import KVCloneCore
import KVCloneOperations

/// The progress of a job, then its result.
struct JobPage: Page {
  let job: StoreJob

  /// - Parameter name: the last segment of the path of the job's kind.
  static func read(_ context: PageContext, below name: String) throws -> JobPage {
    guard let number = Int(try context.parameter("job")), let job = context.jobs.job(number),
      job.kind.path.last == name
    else {
      throw ExplorerError(.notFound, "this job does not exist, or is too old to be kept; start it again")
    }
    return JobPage(job: job)
  }

  var title: String { job.kind.title }

  var section: PageSection { .store }

  func breadcrumbs(_ context: PageContext) -> [(name: String, link: String)] {
    [("Store", context.link(["store"], [("at", nil)]))]
  }

  private func link(_ context: PageContext, _ last: [String] = []) -> String {
    context.link(job.kind.path + ["\(job.number)"] + last, [("at", nil)])
  }

  /// The snapshot that is counted.
  private var snapshot: String? { if case .counts(let snapshot) = job.kind { snapshot } else { nil } }

  // MARK: HTML

  func html(_ context: PageContext) -> HTML {
    // The script refreshes the region while the job runs; without it, a link does.
    let poll: HTML? = job.isRunning ? " data-poll=\"1\"" : nil
    return "<section id=\"job\" aria-label=\"\(title)\"\(poll)>\(content(context))</section>"
  }

  private func content(_ context: PageContext) -> HTML {
    switch job.outcome {
    case .running(let progress): return running(progress, context)
    case .checked(let report): return CheckResult.html(report, context) + again(context)
    case .measured(let statistics):
      return StorageMap.html(statistics, context) + StorageTables.html(statistics, context)
    case .counted(let counts): return CountResult.html(counts, snapshot, context)
    case .failed(let message): return Components.notice("The job failed: \(message)", "error") + again(context)
    case .cancelled: return Components.notice("The job was cancelled.") + again(context)
    }
  }

  private func running(_ progress: OperationProgress?, _ context: PageContext) -> HTML {
    let label =
      switch progress?.phase {
      case nil: "Starting"
      case .read?: "Bytes read"
      case .objects?: job.kind.path.last == "check" ? "Objects checked" : "Objects counted"
      case let phase?: phase.rawValue
      }
    return Components.progress(label, done: progress?.completed ?? 0, total: progress?.total) + """
      <p>Started at \(Components.time(job.started.timeText)). The job reads one state of the store, and retains its pages; \
      writers continue.</p>
      """
      + Components.toolbar([
        Components.buttonLink("Refresh", link(context)),
        Components.action("Cancel", link(context, ["cancel"]), [], "danger"),
      ])
  }

  private func again(_ context: PageContext) -> HTML {
    var items: [(name: String, value: String)] = job.kind == .check(readsData: true) ? [("data", "1")] : []
    if let snapshot { items.append(("at", snapshot)) }
    return Components.toolbar([
      Components.action("Run again", context.link(job.kind.path, [("at", nil)]), items),
      Components.buttonLink("Store", context.link(["store"], [("at", nil)])),
    ])
  }

  // MARK: Documents

  func write(to json: inout JSONWriter) {
    json.member("job", job.number)
    json.member("state", job.state)
    json.member("started", job.started.timeText)
    json.nullable("ended", job.ended?.timeText)
    switch job.outcome {
    case .running(let progress):
      json.nullable("phase", progress?.phase.rawValue)
      json.member("completed", progress?.completed ?? 0)
      json.nullable("total", progress?.total)
    case .checked(let report): json.check(report)
    case .measured(let statistics): json.statistics(statistics.summary, deep: statistics)
    case .counted(let counts): CountResult.write(counts, to: &json)
    case .failed(let message): json.member("message", message)
    case .cancelled: break
    }
  }

  var table: PageTable {
    switch job.outcome {
    case .checked(let report): CheckResult.table(report)
    case .measured(let statistics): StorageTables.table(statistics)
    case .counted(let counts): CountResult.table(counts)
    default: PageTable(columns: ["job", "state"], rows: [["\(job.number)", job.state]])
    }
  }
}

/// The result of a check.
enum CheckResult {
  static func html(_ report: CheckReport, _ context: PageContext) -> HTML {
    let hasFile = context.store.engine.files != nil
    var figures: [(name: String, value: HTML)] = [
      ("Objects", Components.number(report.objectCount)),
      ("Issues", "\(report.isTruncated ? "≥ " as HTML : nil)\(Components.number(report.issues.count))"),
    ]
    // Only files have pages that a check reads.
    if hasFile { figures.append(("Pages", Components.number(report.pageCount))) }
    let summary = Components.figures(figures)
    if report.isClean {
      return Components.notice("\(Components.badge("ok", "good")) The check found no issue." as HTML) + summary
    }
    return Components.notice("The check found issues: \(report.advice(hasFile: hasFile)).", "error") + summary
      + Components.table(
        "Integrity issues",
        columns: [
          Components.Column("Kind"), Components.Column("Object"), Components.Column("Property"),
          Components.Column("Page", isNumeric: true), Components.Column("Issue"),
        ],
        rows: report.issues.map { issue in
          [
            Components.badge(issue.kind.rawValue, issue.isDerived ? "warning" : "bad"), object(issue.object, context),
            issue.property.map(Components.code) ?? "–", issue.page.map { Components.number($0) } ?? "–",
            "\(issue.message)",
          ]
        })
  }

  private static func object(_ name: String?, _ context: PageContext) -> HTML {
    guard let name else { return "–" }
    guard let object = ObjectName(name) else { return "\(name)" }
    return Components.link(name, context.link(to: object, in: ""))
  }

  static func table(_ report: CheckReport) -> PageTable {
    PageTable(
      columns: ["kind", "object", "property", "page", "derived", "message"],
      rows: report.issues.map {
        [$0.kind.rawValue, $0.object, $0.property, $0.page.map { "\($0)" }, "\($0.isDerived)", $0.message]
      })
  }
}
