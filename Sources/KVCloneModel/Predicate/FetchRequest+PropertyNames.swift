extension FetchRequest {
  /// The names of all properties in the predicate and the sort keys, of any entity: results depend on these, and on
  /// which objects exist.
  package var propertyNames: Set<String> {
    var names: Set<String> = []
    var open = sortDescriptors.map { QueryTree.Part.expression($0.key) }
    if let predicate { open.append(.predicate(predicate)) }
    while let part = open.popLast() {
      switch part {
      case .expression(.keyPath(_, let path)), .expression(.collection(_, _, let path)): names.formUnion(path)
      default: break
      }
      open += QueryTree.children(of: part)
    }
    return names
  }
}
