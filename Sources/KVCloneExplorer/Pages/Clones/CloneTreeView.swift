import KVClone
import KVCloneCore

/// The tree of objects of a clone, each below the object from which the traversal discovers it.
struct CloneTreeView {
  let page: ClonePage

  private var tree: CloneTree { page.preview.tree }

  /// The number of levels that are open at first.
  private static let openDepth = 2

  func html(_ context: PageContext) -> HTML {
    var html = Components.legend([
      ("followed: cloned", "follow"), ("shared: linked, not cloned", "share"), ("excluded: no link", "skip"),
    ])
    if let top = page.content.top {
      html += "<p>Below \(top.link(context)) – \(Components.link("the whole tree", page.link(context)))</p>"
    }
    guard let first = tree.nodes.first else {
      return html
        + Components.notice(
          tree.isStopped
            ? "The time limit was reached before this object. Exclude relationships, or open one nearer to the root."
            : "The clone does not contain this object.", "warning")
    }
    let copies = page.content.form.options.count
    html += """
      <p>\(Components.muted("Numbers are the order of the clone, breadth first."))\
      \(copies > 1 ? " Each object is cloned \(Components.number(copies)) times." as HTML : nil)</p>
      """
    html += Components.tree("Objects of the clone", nodes(context))
    let isPart = tree.isStopped || tree.nodes.contains { !$0.isExpanded || $0.edges.contains { $0.isCut } }
    if isPart {
      html += """
        <p>\(Components.number(tree.nodes.count)) objects are shown, from number \(first.order + 1) on; open others by \
        their links.</p>
        """
    }
    return html
  }

  /// Built from the leaves: a node comes after the one above it.
  private func nodes(_ context: PageContext) -> [Components.TreeNode] {
    let errors = Dictionary(grouping: page.plan?.errors ?? []) { $0.object ?? "" }
    var built: [Components.TreeNode?] = Array(repeating: nil, count: tree.nodes.count)
    for index in tree.nodes.indices.reversed() {
      let node = tree.nodes[index]
      let name = page.content.name(node.object, node.entity)
      let found = errors[name.id] ?? []
      let relationships = Set(node.edges.map(\.relationship))
      var children = found.filter { $0.property.map { !relationships.contains($0) } ?? true }.map(error)
      for edge in node.edges where edge.count > 0 || index == 0 {
        children.append(self.edge(edge, name, found.filter { $0.property == edge.relationship }, &built, context))
      }
      var label: HTML = "\(Components.muted("\(node.order + 1)")) \(name.link(context))"
      if !node.isExpanded { label += " \(Components.link("open", page.link(context, open: name.id)))" }
      if !found.isEmpty { label += " \(Components.badge("error", "bad"))" }
      built[index] = Components.TreeNode(
        label, children, isOpen: node.depth - tree.nodes[0].depth < Self.openDepth || !found.isEmpty)
    }
    return built.first.flatMap { $0 }.map { [$0] } ?? []
  }

  private func error(_ error: CloneError) -> Components.TreeNode {
    let property: HTML? = error.property.map { "\(Components.code($0)): " }
    return Components.TreeNode("\(Components.badge(error.kindName, "bad")) \(property)\(error.message)")
  }

  private func edge(
    _ edge: CloneTree.Edge, _ owner: DisplayName, _ errors: [CloneError], _ built: inout [Components.TreeNode?],
    _ context: PageContext
  ) -> Components.TreeNode {
    var children = errors.map(error)
    if edge.skippedCount > 0 {
      let first = Components.link("from the first", page.link(context, open: owner.id, list: edge.relationship))
      children.append(Components.TreeNode("\(Components.number(edge.skippedCount)) before, \(first)"))
    }
    for link in edge.links {
      if let node = link.node, let tree = built[node] {
        children.append(tree)
        built[node] = nil
      } else {
        children.append(Components.TreeNode(self.link(link, edge, context)))
      }
    }
    if edge.isCut {
      let rest = edge.count - edge.skippedCount - edge.links.count
      let last = edge.links.last.map { page.content.name($0.target, $0.entity).id }
      let target = page.link(context, open: owner.id, list: edge.relationship, after: last)
      children.append(Components.TreeNode(Components.link("\(rest) more", target)))
    }
    let kind = edge.action.kind
    return Components.TreeNode(
      """
      \(Components.code("\(edge.relationship) \(edge.isToMany ? "→→" : "→")")) \(Components.number(edge.count)) \
      \(Components.badge(edge.action.text, kind)) \(Components.muted(edge.rule))
      """, children, isOpen: edge.links.count <= 20 || !errors.isEmpty)
  }

  /// A link that discovers no object.
  private func link(_ link: CloneTree.Link, _ edge: CloneTree.Edge, _ context: PageContext) -> HTML {
    let name = page.content.name(link.target, link.entity)
    let note: HTML =
      switch link.outcome {
      case .cloned, .repeated:
        "\(Components.badge("cloned", "follow")) \(Components.link("see above", page.link(context, open: name.id)))"
      case .shared: Components.badge("shared", "share")
      case .omitted: Components.badge("no link", "skip")
      case .missing: "\(Components.badge("no link", "skip")) \(Components.muted("no longer exists"))"
      case .unknown: Components.muted("not planned: time limit")
      }
    return "\(name.link(context)) \(note)"
  }
}

extension CloneBranch.Action {
  /// The action in the words of pages.
  var text: String {
    switch self {
    case .follow: "followed"
    case .share: "shared"
    case .skip: "excluded"
    }
  }

  /// The kind of a badge.
  var kind: String { rawValue }
}
