extension PropertyDescription {
  /// A copy with changes, for what the initializer does not take: `AttributeDescription("photo", .binary).with {
  /// $0.allowsExternalBinaryDataStorage = true }`.
  public func with(_ change: (inout Self) -> Void) -> Self {
    var copy = self
    change(&copy)
    return copy
  }
}

extension EntityDescription {
  /// A copy with changes, for what the initializer does not take.
  public func with(_ change: (inout Self) -> Void) -> Self {
    var copy = self
    change(&copy)
    return copy
  }
}
