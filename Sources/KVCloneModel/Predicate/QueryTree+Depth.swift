extension QueryPredicate {
  /// Whether it has more levels than what walks over it can follow. Only a tree that was built by hand can.
  package var isTooDeep: Bool { QueryTree.height(of: .predicate(self)) > QueryTree.maximumHeight }
}

extension QueryExpression {
  /// Whether it has more levels than what walks over it can follow. Only a tree that was built by hand can.
  package var isTooDeep: Bool { QueryTree.height(of: .expression(self)) > QueryTree.maximumHeight }
}
