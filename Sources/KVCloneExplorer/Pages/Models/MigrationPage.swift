import KVClone

/// The plan of a migration of the store to another version.
struct MigrationPage: Page {
  enum Result: Sendable {
    case plan(MigrationPlan)
    /// The version breaks rules of the model.
    case invalid(String)
  }

  let current: ManagedObjectModel
  let versions: [ManagedObjectModel]
  let target: ManagedObjectModel?
  let result: Result?

  var title: String { target.map { "Migration to \($0.versionIdentifier)" } ?? "Migration" }
  var section: PageSection { .model }

  func breadcrumbs(_ context: PageContext) -> [(name: String, link: String)] { [("Model", context.link(["model"]))] }

  func html(_ context: PageContext) -> HTML {
    var html = ModelPage.tabs(.migration, context)
    guard let target, let result else {
      return html
        + Components.empty(
          "The explorer has no other version of the model.",
          "Start it with \(Components.code("kvclone explore --model Notes.xcdatamodeld")) to plan a migration."
        )
    }
    html += Components.tabs(
      "Versions",
      versions.map { version in
        let name = version.versionIdentifier
        let isCurrent = version.modelHash == current.modelHash
        return (
          isCurrent ? "\(name) (current)" : name, context.link(["model", "migration"], [("to", name)]),
          name == target.versionIdentifier
        )
      })
    switch result {
    case .invalid(let message): html += Components.notice(message, "error")
    case .plan(let plan): html += content(plan)
    }
    return html
  }

  private func content(_ plan: MigrationPlan) -> HTML {
    if plan.steps.isEmpty { return Components.notice("Nothing to do: the store already has this version.") }
    var html: HTML
    if plan.isPossible {
      html = Components.figures([
        ("Writes about", Components.bytes(plan.byteCount)),
        ("Takes about", "\(Text.seconds(plan.estimatedDuration.inSeconds))"),
      ])
    } else {
      html = Components.notice("The migration needs a mapping model, because a step cannot be inferred.", "warning")
    }
    for step in plan.steps {
      var content: HTML = "<p>\(step.summary)</p>"
      for note in step.notes { content += "<p>\(note)</p>" }
      content += ChangeTable.html(step.changes)
      if let skeleton = step.mappingSkeleton {
        content += Components.details("Source of a mapping model", "<pre>\(lines(skeleton))</pre>")
      }
      html += Components.section("\(step.from) → \(step.to)", content)
    }
    return html
      + Components.notice(
        "Estimated from the models and the numbers of objects. kvclone migrate --plan also finds rejected objects."
      )
  }

  /// A text of several lines: interpolation shows line feeds as signs.
  private func lines(_ text: String) -> HTML {
    HTML(text.split(separator: "\n", omittingEmptySubsequences: false).map { "\($0)\n" as HTML })
  }

  private var plan: MigrationPlan? { if case .plan(let plan) = result { plan } else { nil } }

  func write(to json: inout JSONWriter) {
    json.member("from", current.versionIdentifier)
    json.nullable("to", target?.versionIdentifier)
    json.member("versions", versions.map(\.versionIdentifier))
    if case .invalid(let message) = result { json.member("message", message) }
    guard let plan else { return }
    json.member("possible", plan.isPossible)
    json.steps(of: plan)
    json.member("bytes", plan.byteCount)
    json.member("seconds", plan.estimatedDuration.inSeconds)
  }

  var table: PageTable {
    var table = ChangeTable.table([])
    table.columns.insert(contentsOf: ["from", "to"], at: 0)
    for step in plan?.steps ?? [] {
      table.rows += ChangeTable.table(step.changes).rows.map { [step.from, step.to] + $0 }
    }
    return table
  }
}
