import KVClone

/// The neighbourhood of an object as a drawing, and as a list.
struct GraphPage: Page {
  let graph: Neighbourhood

  var title: String { "Neighbours of \(graph.centre.title)" }
  var section: PageSection { .entities }

  func breadcrumbs(_ context: PageContext) -> [(name: String, link: String)] {
    [
      ("Entities", context.link([])),
      (graph.centre.entity, context.link(["entities", graph.centre.entity])),
      (graph.centre.id, context.link(graph.centre.path)),
    ]
  }

  func html(_ context: PageContext) -> HTML {
    if graph.first.isEmpty {
      return Components.empty(
        "\(graph.centre.id) has no relationships to other objects.",
        Components.link("Show the object", context.link(graph.centre.path)))
    }
    var html = Components.toolbar(tools(context))
    html += Components.diagram(
      "\(graph.centre.id) and the objects within two steps", NeighbourhoodSVG(graph, context).svg)
    html += Components.section("List", Components.tree("Neighbours", [tree(context)]))
    return html
  }

  private func tools(_ context: PageContext) -> [HTML] {
    var items = [Components.buttonLink("Object", context.link(graph.centre.path))]
    if graph.isOpen {
      items.append(Components.buttonLink("Show fewer", context.link(closing: graph.centre.id)))
    }
    for index in graph.open.sorted() {
      guard let name = graph.first[index].name else { continue }
      items.append(Components.buttonLink("Close \(name.id)", context.link(closing: name.id)))
    }
    return items
  }

  private func tree(_ context: PageContext) -> Components.TreeNode {
    var children: [Components.TreeNode] = []
    for (index, node) in graph.first.enumerated() {
      guard var item = item(node, context) else { continue }
      if graph.second.indices.contains(index) {
        item.children = graph.second[index].compactMap { self.item($0, context) }
      }
      children.append(item)
    }
    return Components.TreeNode(graph.centre.link(context), children)
  }

  private func item(_ node: Neighbourhood.Node, _ context: PageContext) -> Components.TreeNode? {
    let relationship = Components.muted(node.label)
    if let name = node.name {
      let own = context.link(["graph", name.entity, String(name.serial)])
      return Components.TreeNode(
        "\(relationship) \(name.link(context)) <a href=\"\(own)\" title=\"Neighbours of \(name.id)\">neighbours</a>"
      )
    }
    if node.hiddenCount == 0 { return nil }
    let target = GraphLinks.target(of: node, in: graph, context)
    return Components.TreeNode("\(relationship) \(Components.link(node.hiddenText, target))")
  }

  func write(to json: inout JSONWriter) {
    json.member("object", graph.centre.id)
    let shown = graph.nodes.compactMap { node in node.name.map { (node, $0) } }
    json.list("nodes", [(nil, graph.centre)] + shown.map { ($0.0, $0.1) }) {
      (json, pair: (Neighbourhood.Node?, DisplayName)) in
      json.member("id", pair.1.id)
      json.member("entity", pair.1.entity)
      json.nullable("name", pair.1.text)
      json.member("distance", pair.0.map { $0.parent == nil ? 1 : 2 } ?? 0)
    }
    json.list("edges", edges) { json, edge in
      json.member("from", edge.from)
      json.member("to", edge.to)
      json.member("relationship", edge.relationship)
    }
    json.list("hidden", graph.nodes.filter { $0.name == nil && $0.hiddenCount > 0 }) { json, node in
      json.member("from", graph.origin(of: node))
      json.member("relationship", node.relationship)
      json.member("incoming", node.isIncoming)
      json.member("count", node.hiddenCount)
      json.member("isLowerBound", node.isLowerBound)
    }
  }

  private var edges: [Neighbourhood.Link] {
    let tree = graph.nodes.compactMap { node in
      node.name.map {
        Neighbourhood.Link(from: graph.origin(of: node), to: $0.id, node.relationship, isIncoming: node.isIncoming)
      }
    }
    return tree + graph.links
  }

  var table: PageTable {
    var names: [String: String] = [:]
    for name in [graph.centre] + graph.nodes.compactMap(\.name) { names[name.id] = name.text }
    return PageTable(
      columns: ["from", "relationship", "to", "name"],
      rows: edges.map { [$0.from, $0.relationship, $0.to, names[$0.to]] })
  }
}
