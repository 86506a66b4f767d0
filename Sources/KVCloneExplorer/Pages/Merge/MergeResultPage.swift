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
  /// The changes of the side that was merged into; nil if nothing was changed, or the snapshot cannot be compared.
  let comparison: Comparison?

  /// The number of listed objects.
  private static let rowCount = 50

  static func read(_ context: PageContext) throws -> MergeResultPage {
    let target = try MergeTarget(context)
    let states = try target.states(context)
    let names = context.query.all("snapshot")
    var sides: [Side] = []
    // Ours come first. A publish that leaves the store alone has only the snapshot of the branch.
    var moved = [states.ours, states.theirs]
    if case .publish = target, names.count == 1 { moved = [states.theirs] }
    for (name, state) in zip(names, moved) {
      sides.append(Side(snapshot: name, branch: state.origin == .own ? states.branch : nil))
    }
    let store = states.ours.origin == .store ? context.root : states.store
    // The changes of the store, if it has any.
    let first = moved.count == 2 ? sides.first : nil
    return MergeResultPage(
      target: target, sides: sides, comparison: try first.flatMap { try comparison($0, store, context) })
  }

  private static func comparison(_ side: Side, _ store: ObjectStore, _ context: PageContext) throws -> Comparison? {
    do {
      return try Comparison(
        store, from: StoreState(store, named: side.snapshot), to: .present, limit: rowCount,
        budget: Comparison.Budget(context.deadline))
    } catch let error as StoreError where [.snapshotNotFound, .unsupportedOnBranch].contains(error.kind) {
      return nil
    }
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

  private func undo(_ side: Side, _ context: PageContext) -> String {
    if case .draft = target { return context.link("rollback", snapshot: side.snapshot) }
    return context.link(["rollback", side.snapshot], [("branch", side.branch), ("at", nil)])
  }

  func html(_ context: PageContext) -> HTML {
    if sides.isEmpty {
      return Components.notice("Nothing was changed: \(target.sides.ours) had all changes of \(target.sides.theirs).")
    }
    var html = Components.notice("The merge is complete.")
    if let comparison { html += Components.figures(comparison.figures(("Inserted", "Changed", "Deleted"))) }
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
    guard let comparison, !comparison.rows.isEmpty else { return html }
    return html
      + Components.section(
        "Objects",
        ComparisonTable.html("Objects that differ from the state before the merge", comparison.rows) {
          "\($0.object.text)"
        })
  }

  func write(to json: inout JSONWriter) {
    json.member("merged", !sides.isEmpty)
    json.member("snapshots", sides.map(\.snapshot))
    json.key("comparison")
    guard let comparison else { return json.null() }
    json.beginObject()
    comparison.write(to: &json)
    json.endObject()
  }

  var table: PageTable { comparison?.table ?? Comparison.emptyTable }
}
