/// The pages that the nodes of a neighbourhood lead to.
enum GraphLinks {
  /// The name of the query's items with the names of open objects.
  static let open = "open"

  /// Returns the URL that a node links to: the page of an object of the first ring, and the neighbourhood of one of the
  /// second. A node for hidden objects opens its object, or links to the page that lists them.
  static func target(
    of node: Neighbourhood.Node, in graph: Neighbourhood, _ context: PageContext
  ) -> String {
    if let name = node.name {
      return node.parent == nil ? context.link(name.path) : context.link(["graph", name.entity, String(name.serial)])
    }
    let isOpen = node.parent.map { graph.open.contains($0) } ?? graph.isOpen
    let origin = node.parent.flatMap { graph.first[$0].name } ?? graph.centre
    if isOpen { return context.link(origin.path) }
    return context.link(opening: origin.id)
  }
}

extension PageContext {
  /// Returns the URL of this page with another open object.
  func link(opening name: String) -> String {
    let others = query.all(GraphLinks.open).filter { $0 != name }
    return openLink(others.suffix(NeighbourhoodReader.maximumOpenCount - 1) + [name])
  }

  /// Returns the URL of this page without an open object.
  func link(closing name: String) -> String { openLink(query.all(GraphLinks.open).filter { $0 != name }) }

  private func openLink(_ names: [String]) -> String {
    let segments = ["graph", parameters["entity"] ?? "", parameters["serial"] ?? ""]
    return link(segments, names.map { (GraphLinks.open, $0) })
  }
}
