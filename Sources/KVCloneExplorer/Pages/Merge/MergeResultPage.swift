import KVClone
import KVCloneCore
import KVCloneMerge

/// The result of a merge, with links that undo it.
///
/// It shows what differs between the automatic snapshot and the present: the changes of the merge, and of later
/// transactions.
struct MergeResultPage: Page {
  /// A side that the merge changed, with its state before.
  struct Side: Sendable {
    var snapshot: String
    /// The branch with the snapshot; nil for the store of the page.
    var branch: String?
  }

  let target: MergeTarget
  let sides: [Side]
  /// The changes of the side that was merged into; nil if nothing was changed, or the snapshot no longer exists.
  let comparison: Comparison?

  /// The number of listed objects.
  private static let rowCount = 50
  /// A merge changes at most two sides.
  private static let maximumSides = 2

  static func read(_ context: PageContext) throws -> MergeResultPage {
    let target = try MergeTarget(context)
    let states = try target.states(context)
    let names = context.query.all("snapshot").prefix(maximumSides)
    let store = states.store.parent ?? states.store
    let isOnBranch = states.branch != nil
    var sides: [Side] = []
    var into: (store: ObjectStore, name: String)?
    for name in names {
      let isOfStore = !isOnBranch || (try? store.snapshot(named: name)) != nil
      sides.append(Side(snapshot: name, branch: isOfStore ? nil : states.branch))
      let isOurs = isOnBranch ? isOfStore == (states.ours.origin == .store) : true
      if isOurs, into == nil { into = (isOnBranch && isOfStore ? store : states.store, name) }
    }
    let comparison = try into.map { side in
      try Comparison(
        side.store, from: StoreState(side.store, named: side.name), to: .present, limit: rowCount,
        budget: Comparison.Budget(context.deadline))
    }
    return MergeResultPage(target: target, sides: sides, comparison: comparison)
  }

  var title: String {
    switch target {
    case .publish(let name): "Published \(name)"
    case .update(let name): "Updated \(name)"
    case .draft(let object): "Merged the draft \(object.text)"
    }
  }

  var section: PageSection { target.section }

  func breadcrumbs(_ context: PageContext) -> [(name: String, link: String)] {
    Array(target.breadcrumbs(context).prefix(1))
  }

  private func items(_ side: Side) -> [(name: String, value: String?)] {
    side.branch.map { [("branch", $0), ("at", nil)] } ?? [("branch", nil), ("at", nil)]
  }

  private func undo(_ side: Side, _ context: PageContext) -> String {
    if case .draft = target { return context.link("rollback", snapshot: side.snapshot) }
    return context.link(["rollback", side.snapshot], items(side))
  }

  func html(_ context: PageContext) -> HTML {
    guard let comparison else {
      return Components.notice("Nothing was changed: \(target.sides.ours) had all changes of \(target.sides.theirs).")
    }
    let total = comparison.total
    let mark: HTML? = comparison.hasAllCounts ? nil : "≥ "
    var html = Components.notice("The merge is complete.")
    html += Components.figures([
      ("Inserted", "\(mark)\(Components.number(total.inserted))"),
      ("Changed", "\(mark)\(Components.number(total.updated))"),
      ("Deleted", "\(mark)\(Components.number(total.deleted))"),
    ])
    let links = sides.map { side in
      let owner = side.branch ?? "the store"
      return Components.buttonLink("Roll \(owner) back…", undo(side, context))
    }
    html += Components.section(
      "Undo",
      """
      <p>The state of each side before the merge is an automatic snapshot. Rolling back also undoes later changes; the \
      plan is shown first.</p>\(Components.toolbar(links, label: "Undo"))
      """)
    if comparison.rows.isEmpty { return html }
    return html
      + Components.section(
        "Objects",
        Components.table(
          "Objects that differ from the state before the merge",
          columns: [Components.Column("Object"), Components.Column("Change"), Components.Column("Properties")],
          rows: comparison.rows.map { row in
            ["\(row.object.text)", row.kind.badge, ComparisonTable.properties(row.properties)]
          }))
  }

  func write(to json: inout JSONWriter) {
    json.member("merged", true)
    json.member("snapshots", sides.map(\.snapshot))
    json.key("comparison")
    guard let comparison else { return json.null() }
    json.beginObject()
    comparison.write(to: &json)
    json.endObject()
  }

  var table: PageTable {
    PageTable(
      columns: ["object", "change", "properties"],
      rows: (comparison?.rows ?? []).map { [$0.object.text, $0.kind.word, $0.properties.joined(separator: " ")] })
  }
}
