/// One of the two sides of a merge.
public enum MergeSide: String, Sendable, Hashable, Codable, CaseIterable {
  /// The side that is merged into.
  case ours
  /// The side that is merged.
  case theirs

  /// The opposite side.
  public var other: MergeSide { self == .ours ? .theirs : .ours }
}
