import KVClone

/// The page of an object.
struct ObjectPage: Page {
  var facts: ObjectFacts
  var links: ObjectLinks
  /// The most recent snapshots, the latest first.
  var snapshots: [String]
  var tracksHistory: Bool
  /// Whether the object is a clone that can be merged back into its source.
  var isDraft = false
  /// The names of the branches of the store; empty at a snapshot.
  var branches: [String] = []

  var title: String { facts.name.title }
  var section: PageSection { .entities }

  func breadcrumbs(_ context: PageContext) -> [(name: String, link: String)] {
    Self.trail(facts.name, context)
  }

  /// The pages above those of an object.
  static func trail(_ name: DisplayName, _ context: PageContext) -> [(name: String, link: String)] {
    [("Entities", context.link([])), (name.entity, ObjectLinks(name, context).grid)]
  }

  func html(_ context: PageContext) -> HTML {
    let toolbar: [HTML] = [
      facts.previous.map { previous in
        "<a class=\"button\" rel=\"prev\" href=\"\(context.link(previous.path))\">Previous</a>"
      },
      facts.next.map { next in "<a class=\"button\" rel=\"next\" href=\"\(context.link(next.path))\">Next</a>" },
      context.snapshotName == StateName.base ? nil : Components.buttonLink("Clone preview", links.clone),
      Components.buttonLink("Graph", links.graph),
      Components.buttonLink("History", links.history), Components.buttonLink("Raw record", links.raw),
    ].compactMap { $0 }
    return Components.toolbar(toolbar)
      + Components.live(
        "object",
        Components.definitions(summary(context))
          + Components.section("Attributes", AttributeTable.html(facts, links))
          + Components.section("Relationships", LinkTable.relationships(facts, links, context))
          + Components.section("Incoming references", LinkTable.incoming(facts, links, context)))
      + Components.section("Other states", states(context))
  }

  private func summary(_ context: PageContext) -> [(name: String, value: HTML)] {
    var items: [(name: String, value: HTML)] = [
      ("Object", Components.code(facts.name.id)), ("Entity", Components.link(facts.name.entity, links.model)),
      ("URI", Components.code(facts.uri)), ("Last changed", "commit \(facts.commit)"),
      ("Record", Components.bytes(UInt64(facts.recordLength))),
    ]
    if let origin = facts.provenance {
      let commits = "at commit \(origin.provenance.sourceCommit), by commit \(origin.provenance.cloneCommit)"
      let draft: HTML? = isDraft ? " \(draftLinks(context))" : nil
      items.append(("Clone of", "\(source(origin, context)) \(Components.muted(commits))\(draft)"))
    }
    return items
  }

  private func draftLinks(_ context: PageContext) -> HTML {
    let plan = context.link(["drafts", facts.name.entity, String(facts.name.serial)])
    let all = context.link(["drafts"])
    return """
      \(Components.badge("draft", "share")) \(Components.link("Merge plan", plan)) · \(Components.link("Drafts", all))
      """
  }

  private func source(_ origin: ProvenanceFacts, _ context: PageContext) -> HTML {
    if let source = origin.source {
      return origin.exists ? source.link(context) : "\(source.id) \(Components.badge("deleted", "warning"))"
    }
    let store = origin.provenance.sourceStore?.uuidString ?? ""
    return "an object of the store \(Components.code(store))"
  }

  private func states(_ context: PageContext) -> HTML {
    var history: HTML =
      tracksHistory
      ? "<p>\(Components.link("Changes of this object", links.history))</p>"
      : Components.notice(HistoryPage.remedy, "info")
    let options = snapshots.map { (value: $0, title: $0) }
    let compared: HTML? = snapshots.first { $0 != context.snapshotName }.map { name in
      "<p><a href=\"\(links.comparison(from: name))\">Compare with the snapshot \(name)</a></p>"
    }
    // The action of a GET form loses its query.
    let path = context.target(["objects", facts.name.entity, String(facts.name.serial)])
    if context.branchName != nil, context.snapshotName != StateName.base {
      history += "<p><a href=\"\(links.comparison(from: StateName.base))\">Compare with the base of the branch</a></p>"
    }
    if !branches.isEmpty {
      let stores = [(value: "", title: "store")] + branches.map { (value: $0, title: "branch \($0)") }
      history += """
        <form class="row" method="get" action="\(path)">\
        \(Components.select("Branch", name: "branch", options: stores, selected: context.branchName ?? ""))\
        \(Components.button("Show the object there"))</form>
        """
    }
    if snapshots.isEmpty { return history + "<p class=\"muted\">The store has no snapshots.</p>" }
    return history + """
      <form class="row" method="get" action="\(path)">\(Components.hidden(context.branchItems))\
      \(Components.select("Snapshot", name: "at", options: options, selected: context.snapshotName))\
      \(Components.button("Show the object in this snapshot"))</form>\(compared)
      """
  }
}
