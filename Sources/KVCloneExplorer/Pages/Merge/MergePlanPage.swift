import KVClone
import KVCloneCore
import KVCloneMerge

/// The plan of a merge: its changes, and its conflicts with the choices of their answers.
struct MergePlanPage: Page {
  let content: MergeContent
  /// The error of a merge that was requested with the form of this page.
  var failure: MergeError?
  /// The idempotency key of the form, so that a repeated click merges once.
  let key: String

  init(_ content: MergeContent, failure: MergeError? = nil) {
    self.content = content
    self.failure = failure
    key = ChangeKey.make("merge")
  }

  var target: MergeTarget { content.target }
  private var plan: MergePlan { content.plan }

  var title: String { target.title }

  var status: Int { failure.map { ErrorReport($0).status } ?? 200 }

  var section: PageSection { target.section }

  func breadcrumbs(_ context: PageContext) -> [(name: String, link: String)] { target.breadcrumbs(context) }

  // MARK: HTML

  func html(_ context: PageContext) -> HTML {
    var html = problems + scope(context)
    if plan.objects.isEmpty, plan.allConflicts.isEmpty, plan.issueCount == 0 {
      let (ours, theirs) = target.sides
      return html + Components.empty("Nothing to merge: \(ours) has all changes of \(theirs).")
    }
    html += figures
    if plan.counts.count > 1 { html += Components.section("By entity", entities) }
    html += Components.section(plan.allConflicts.isEmpty ? "Options" : "Conflicts", form(context))
    return html + Components.section("Changes of \(target.sides.ours)", changes(context))
  }

  private var problems: HTML {
    var html = HTML.empty
    // Answers that no longer fit are named below.
    if let failure, failure.kind != .staleAnswers, failure.kind != .invalidAnswer {
      html += Components.notice("The merge was refused, and nothing was written: \(failure.message)", "error")
    }
    if let invalid = content.invalid { html += Components.notice("\(invalid.message). It was removed.", "error") }
    if !content.stale.isEmpty {
      let items = content.stale.map { conflict -> HTML in
        "<li>\(Components.code(conflict.property.map { "\(conflict.object).\($0)" } ?? conflict.object))</li>"
      }
      html +=
        Components.notice(
          "These answers no longer fit: a value has changed since, or the conflict is gone. Choose again.", "error")
        + "<ul>\(items)</ul>"
    }
    if plan.isNearLimit { html += Components.notice("The merge may not fit into the file or on the disk.", "warning") }
    if plan.issueCount == 0 { return html }
    var items = plan.issues.map { issue -> HTML in
      let place = issue.object.map { object in issue.property.map { "\(object).\($0)" } ?? object }
      return """
        <li>\(Components.badge(issue.kindName, "bad")) \(place.map { "\(Components.code($0)): " as HTML })\
        \(issue.message)</li>
        """
    }
    if plan.issueCount > plan.issues.count {
      items.append("<li>and \(plan.issueCount - plan.issues.count) more</li>")
    }
    return html + Components.notice("The result would break rules of the model.", "error") + "<ul>\(items)</ul>"
  }

  private func scope(_ context: PageContext) -> HTML {
    if content.form.objects.isEmpty { return .empty }
    let items = content.form.objects.map { "<li>\(Components.code($0))</li>" as HTML }
    return """
      <p>Only these objects are published, with what a clone of them would copy. \
      \(Components.link("Publish all", target.link(context)))</p><ul>\(items)</ul>
      """
  }

  private var figures: HTML {
    Components.figures([
      ("Inserted", Components.number(plan.objects.inserted)), ("Changed", Components.number(plan.objects.updated)),
      ("Deleted", Components.number(plan.objects.deleted)),
      ("Open conflicts", Components.number(plan.conflicts.count)),
      ("Answered", Components.number(plan.allConflicts.count - plan.conflicts.count)),
      ("Broken rules", Components.number(plan.issueCount)), ("Written", Components.bytes(plan.bytesWritten)),
      ("Write lock", "about \(Text.seconds(plan.lockDuration.inSeconds))"),
    ])
  }

  private var entities: HTML {
    Components.table(
      "Changed objects by entity",
      columns: [("Entity", false), ("Inserted", true), ("Changed", true), ("Deleted", true)],
      rows: plan.counts.sorted { $0.key < $1.key }.map { entity, count in
        [Components.code(entity)] + [count.inserted, count.updated, count.deleted].map { Components.number($0) }
      })
  }

  // MARK: Form

  private func form(_ context: PageContext) -> HTML {
    let shown = content.conflicts
    var html = Components.hidden(
      content.form.scope
        + content.form.answers.filter { answered in
          !shown.contains { $0.conflict.isSame(as: answered.conflict) }
        }.map { ("answer", AnswerText.text($0)) })
    for (number, item) in shown.enumerated() {
      html += "<div>\(ConflictView(item, content, context).html(number))</div>"
    }
    html += pager(context) + options
    let isWritable = context.options.allowsWrites
    var buttons = [Components.button("Show the plan", isWritable ? "" : "primary", item: (MergeRequest.action, "plan"))]
    if isWritable {
      html +=
        Components.hidden([("key", key)]) + """
          <p>An automatic snapshot of each side that changes is created first, so that the merge can be undone.</p>
          """
      buttons.append(Components.button(target.verb, "primary", item: (MergeRequest.action, "merge")))
    }
    let action = isWritable ? target.link(context) : context.target(target.path)
    let method = isWritable ? "post" : "get"
    if !isWritable, case .draft = target { html += Components.hidden(context.branchItems) }
    return """
      <form class="stack" method="\(method)" action="\(action)">\(html)<p class="row">\(buttons)</p></form>\
      \(isWritable ? nil : ReadOnlyNotice.html)
      """
  }

  private var options: HTML {
    var fields = [
      Components.select(
        "Other conflicts", name: "policy",
        options: [("", "stay open")]
          + MergeSide.allCases.map { ($0.rawValue, "\($0.rawValue): \(target.title(of: $0))") },
        selected: content.form.policy?.rawValue ?? ""),
      Components.field(
        "Rules", name: "rule", value: content.form.rulesText, placeholder: "Note.title=ours",
        hint: "Entity.property=ours, theirs, sum, max or skip; separated by spaces. A side for other conflicts "
          + "replaces the rules of the model", isMonospaced: true),
    ]
    if case .draft = target {
      fields.append(
        Components.checkboxes(
          "Draft", name: "keep", options: [("1", "stays as ordinary objects", content.form.keepsClones)]))
    }
    return "<div class=\"row\">\(fields)</div>"
  }

  /// Links to other conflicts, with the answers that the page was opened with.
  private func pager(_ context: PageContext) -> HTML {
    let (start, total) = (content.page.conflict, plan.allConflicts.count)
    if start == 0, total <= MergePages.conflictCount { return .empty }
    func link(_ position: Int) -> String {
      target.link(context, [], items + [("conflicts", position == 0 ? nil : "\(position)")])
    }
    let end = start + content.conflicts.count
    return Components.pager(
      "\(Components.number(end - start)) of \(Components.number(total)) conflicts. Show the plan before another page.",
      first: start == 0 ? nil : link(0),
      previous: start == 0 ? nil : link(max(0, start - MergePages.conflictCount)), next: end < total ? link(end) : nil)
  }

  /// The options as items of links, which omit nil values.
  private var items: [(name: String, value: String?)] { content.form.items().map { ($0.name, $0.value) } }

  // MARK: Changes

  private func changes(_ context: PageContext) -> HTML {
    let start = content.page.change
    if content.changes.isEmpty {
      return Components.empty(start == 0 ? "The merge changes no object." : "No change is on this page.")
    }
    func link(_ position: Int) -> String {
      target.link(context, [], items + [("changes", position == 0 ? nil : "\(position)")])
    }
    let end = start + content.changes.count
    return HTML(content.changes.map { change($0, context) })
      + Components.pager(
        "Changes \(Components.number(start + 1)) to \(Components.number(end))",
        first: start == 0 ? nil : link(0), next: content.hasMoreChanges ? link(end) : nil)
  }

  private func change(_ item: MergeContent.Change, _ context: PageContext) -> HTML {
    let change = item.change
    let object = ObjectName(entity: change.entity, serial: change.id.serial)
    let isNew = change.kind == .insert
    let state = isNew ? content.states.theirs : content.states.ours
    let link = Components.link(
      object.text, context.link(["objects"] + object.segments, content.states.items(context, of: state)))
    let heading: HTML = "<p>\(link) \(change.kind.badge)</p>"
    if item.properties.isEmpty { return "<div>\(heading)</div>" }
    let table = Components.comparison(
      "Values of \(object.text)",
      states: [
        ("base", ""), ("ours: \(target.sides.ours)", "ours"), ("theirs: \(target.sides.theirs)", "theirs"),
        ("result", "new"),
      ],
      rows: item.properties.map { values in
        (name: Components.code(values.name), values: MergeValues(values, change.id, object, content, context).cells)
      })
    let names = item.properties.map(\.name).prefix(12).joined(separator: ", ")
    return "<div>\(heading)\(Components.details(names, table, isOpen: content.changes.count <= 5))</div>"
  }

  // MARK: Documents

  func write(to json: inout JSONWriter) { json.plan(content) }

  var table: PageTable { MergeTable.table(content) }
}

extension MergeChange.Kind {
  var title: String {
    switch self {
    case .insert: "inserted"
    case .update: "changed"
    case .delete: "deleted"
    }
  }

  var badge: HTML { Components.badge(title, self == .insert ? "good" : self == .delete ? "bad" : "warning") }
}
