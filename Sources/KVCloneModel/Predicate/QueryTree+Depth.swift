extension QueryPredicate {
  /// Whether the tree has more levels than recursive walks support, which only a tree built in code can have.
  package var isTooDeep: Bool { QueryTree.height(of: .predicate(self)) > QueryTree.maximumHeight }
}

extension QueryExpression {
  /// Whether the tree has more levels than recursive walks support, which only a tree built in code can have.
  package var isTooDeep: Bool { QueryTree.height(of: .expression(self)) > QueryTree.maximumHeight }
}
