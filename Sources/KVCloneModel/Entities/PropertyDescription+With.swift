extension PropertyDescription {
  /// Returns a modified copy, for properties that the initializer lacks: `AttributeDescription("photo", .binary).with {
  /// $0.allowsExternalBinaryDataStorage = true }`.
  public func with(_ change: (inout Self) -> Void) -> Self {
    var copy = self
    change(&copy)
    return copy
  }
}

extension EntityDescription {
  /// Returns a modified copy, for properties that the initializer lacks.
  public func with(_ change: (inout Self) -> Void) -> Self {
    var copy = self
    change(&copy)
    return copy
  }
}
