/// The merge of a property that both sides changed (M7).
public enum MergeRule: String, Sendable, Hashable, Codable, CaseIterable {
  /// Takes the value of the side that is merged into.
  case ours
  /// Takes the value of the side that is merged.
  case theirs
  /// Adds the differences of both sides to the number of the base, also if both are equal. If one of the three is no
  /// number, or the sum does not fit the type, the next rule that names a side decides.
  case sum
  /// Takes the greater number or the later date, if both sides changed it. If ours or theirs is neither, the next rule
  /// that names a side decides.
  case max
  /// Never takes a change of the side that is merged, also without a conflict.
  case skip

  /// The side that wins every conflict; nil for rules of values.
  public var side: MergeSide? { MergeSide(rawValue: rawValue) }
}

extension MergeRule {
  /// Creates the rule that prefers a side.
  public init(_ side: MergeSide) { self = side == .ours ? .ours : .theirs }

  /// The rule with the sides exchanged. A change that is never taken into one side stays on the other.
  var exchanged: MergeRule {
    switch self {
    case .ours: .theirs
    case .theirs, .skip: .ours
    case .sum, .max: self
    }
  }
}
