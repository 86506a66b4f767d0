extension QueryCondition {
  /// The conjuncts.
  var parts: [QueryCondition] {
    guard case .all(let parts) = self else { return [self] }
    return parts.contains(where: \.isCompound) ? parts.flatMap(\.parts) : parts
  }

  private var isCompound: Bool {
    if case .all = self { return true }
    return false
  }
}
