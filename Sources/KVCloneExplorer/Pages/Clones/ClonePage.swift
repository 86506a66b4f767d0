import KVClone
import KVCloneCore

/// The preview of a deep clone: the tree of its objects, with the rule of each edge.
struct ClonePage: Page {
  let content: ClonePreviewContent
  /// The error of a clone that was requested with the form of this page.
  var failure: (any KVCloneError)?
  /// The idempotency key of the form, so that a repeated click clones once.
  let key: String

  /// The number of listed shared objects.
  private static let sharedLimit = 200

  var preview: ClonePreview { content.preview }
  var plan: ClonePlan? { content.preview.plan }

  init(_ content: ClonePreviewContent, failure: (any KVCloneError)? = nil) {
    self.content = content
    self.failure = failure
    key = ChangeKey.make("clone")
  }

  var title: String { "Clone of \(content.root.id)" }

  var status: Int { failure == nil ? 200 : 422 }

  var section: PageSection { .entities }

  func breadcrumbs(_ context: PageContext) -> [(name: String, link: String)] {
    [
      ("Entities", context.link([])), (content.root.entity, context.link(["entities", content.root.entity])),
      (content.root.id, context.link(content.root.path)),
    ]
  }

  /// The URL of the page with its options, and another part of the tree.
  func link(_ context: PageContext, open: String? = nil, list: String? = nil, after: String? = nil) -> String {
    context.link(
      content.path, content.form.query + [("open", open), ("list", list), ("after", after)])
  }

  // MARK: HTML

  func html(_ context: PageContext) -> HTML {
    var html = HTML.empty
    if let failure {
      html += Components.notice("The clone failed, and nothing was written: \(failure.message)", "error")
    }
    if let plan {
      if plan.isRepeated { html += Components.notice("The idempotency key was used before: nothing would be cloned.") }
      html += figures(plan) + problems(plan, context)
    } else {
      html += Components.notice(
        """
        Planning was stopped after \(preview.foundCount) objects, because it takes longer than this page may. Exclude \
        relationships, set a maximum of objects, or run kvclone clone \(content.root.id) --dry-run.
        """, "warning")
    }
    if preview.isNearLimit {
      html += Components.notice(
        "The clone may not fit into the file or on the disk; only running it shows whether it does.", "warning")
    }
    html += CloneOptionsForm(content).html(context)
    if !preview.tree.nodes.isEmpty || content.top != nil {
      html += Components.section("Objects", CloneTreeView(page: self).html(context))
    }
    if let plan { html += shared(plan, context) + CloneRulesView(plan: plan, root: content.root).html }
    return html + run(context)
  }

  private func figures(_ plan: ClonePlan) -> HTML {
    Components.figures([
      ("Objects", Components.number(plan.objectCount)),
      ("Written", Components.bytes(plan.bytesWritten)),
      ("Blobs copied", Components.bytes(plan.bytesCopied)),
      ("Blobs shared", Components.bytes(plan.bytesShared)),
      ("Other objects changed", Components.number(plan.affectedObjectCount)),
      ("Write lock", "about \(Text.seconds(plan.estimatedLockDuration.inSeconds))"),
    ])
  }

  /// The errors, at the objects that are in the tree of this page or of another one.
  private func problems(_ plan: ClonePlan, _ context: PageContext) -> HTML {
    if plan.errorCount == 0 { return .empty }
    var items = HTML.empty
    for error in plan.errors {
      items += "<li>\(Components.badge(error.kindName, "bad")) "
      if let object = error.object {
        items += "\(Components.link(object, link(context, open: object)))\(error.property.map { ".\($0)" } ?? ""): "
      }
      items += "\(error.message)</li>"
    }
    if plan.errorCount > plan.errors.count { items += "<li>and \(plan.errorCount - plan.errors.count) more</li>" }
    return Components.notice("The clone would fail, and write nothing.", "error") + "<ul>\(items)</ul>"
  }

  /// The objects outside of the clone that it would link to: those that gain links, and those without an inverse.
  private func shared(_ plan: ClonePlan, _ context: PageContext) -> HTML {
    var rows = preview.gains.map { gain -> [HTML] in
      [
        content.name(gain.object, gain.entity).link(context), Components.code(gain.relationship),
        "\(gain.isLowerBound ? "≥ " : "")\(Components.number(gain.count))",
      ]
    }
    var known = Set(preview.gains.map(\.object))
    for node in preview.tree.nodes {
      for edge in node.edges where !hasInverse(edge.relationship, node.entity, context.model) {
        for link in edge.links where link.outcome == .shared && known.insert(link.target).inserted {
          if known.count > Self.sharedLimit { break }
          rows.append([
            content.name(link.target, link.entity).link(context), Components.muted("no inverse"), Components.number(0),
          ])
        }
      }
    }
    if rows.isEmpty, plan.affectedObjectCount == 0 {
      return Components.section("Shared objects", Components.empty("The clone links to no object outside of it."))
    }
    let rest = plan.affectedObjectCount - plan.affectedObjectIDs.count
    return Components.section(
      "Shared objects",
      Components.table(
        "Objects outside of the clone that it links to",
        columns: [("Object", false), ("Relationship", false), ("Links gained", true)],
        rows: rows) + (rest > 0 ? "<p>and \(Components.number(rest)) more objects that gain links</p>" : .empty))
  }

  private func hasInverse(_ relationship: String, _ entity: String, _ model: ManagedObjectModel) -> Bool {
    model.relationships(of: entity).first { $0.name == relationship }?.inverseName != nil
  }

  private func run(_ context: PageContext) -> HTML {
    guard context.options.allowsWrites else { return .empty }
    if let plan, plan.errorCount > 0 || plan.isRepeated { return .empty }
    let several = plan.map { $0.objectCount + $0.affectedObjectCount > 1 } ?? true
    let undo: HTML =
      several
      ? "<p>An automatic snapshot of the present state is created first, so that the clone can be undone.</p>"
      : "<p>The clone can be deleted on the next page.</p>"
    let title = plan.map { "Clone \(Text.count($0.objectCount, "object"))" } ?? "Clone"
    return Components.section(
      "Run",
      """
      <form class="stack" method="post" action="\(context.link(content.path))">\
      \(Components.hidden(content.form.items + [("key", key)]))\(undo)\(Components.button(title, "primary"))</form>
      """)
  }

  // MARK: JSON and CSV

  func write(to json: inout JSONWriter) {
    json.member("object", content.root.id)
    json.member("complete", plan != nil)
    if let plan {
      json.clonePlan(plan, touched: content.affected)
    } else {
      json.member("objects", preview.foundCount)
    }
    json.list("gains", preview.gains) { json, gain in
      json.member("object", content.name(gain.object, gain.entity).id)
      json.member("relationship", gain.relationship)
      json.member("links", gain.count)
      json.member("lowerBound", gain.isLowerBound)
    }
    json.list("tree", preview.tree.nodes) { json, node in
      json.member("object", content.name(node.object, node.entity).id)
      json.member("order", node.order)
      json.member("depth", node.depth)
      json.member("expanded", node.isExpanded)
      json.list("edges", node.edges) { json, edge in
        json.member("relationship", edge.relationship)
        json.member("action", edge.action.rawValue)
        json.member("rule", edge.rule)
        json.member("count", edge.count)
        json.member("skipped", edge.skippedCount)
        json.member("more", edge.isCut)
        json.list("links", edge.links) { json, link in
          json.member("object", content.name(link.target, link.entity).id)
          json.member("outcome", link.outcome.rawValue)
        }
      }
    }
  }

  var table: PageTable {
    var rows: [[String?]] = []
    for node in preview.tree.nodes {
      for edge in node.edges {
        for link in edge.links {
          rows.append([
            content.name(node.object, node.entity).id, edge.relationship, content.name(link.target, link.entity).id,
            edge.action.rawValue, link.outcome.rawValue, edge.rule,
            link.node.map { "\(preview.tree.nodes[$0].order)" },
          ])
        }
      }
    }
    return PageTable(columns: ["from", "relationship", "to", "action", "outcome", "rule", "order"], rows: rows)
  }
}
