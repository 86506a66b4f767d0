#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import KVCloneModel
import KVCloneRecords

/// The merge of one value: an attribute, an element of a composite, or a to-one target (M1).
enum ValueMerge: Hashable {
  /// The value of ours remains.
  case ours
  /// The value of theirs is taken.
  case theirs
  /// Both sides changed the value differently.
  case conflict

  /// - Parameters:
  ///   - changed: Whether each side differs from its base.
  ///   - areSame: Whether both sides have the same value now.
  ///   - rule: With `skip`, theirs counts as unchanged.
  init(changed: (ours: Bool, theirs: Bool), areSame: Bool, rule: MergeRule?) {
    if !changed.theirs || areSame || rule == .skip {
      self = .ours
    } else {
      self = changed.ours ? .conflict : .theirs
    }
  }
}

/// The rules that compute a value from both changes (M7).
enum NumberMerge {
  /// Returns the result of `sum` or `max`; nil if the rule does not apply to the values, which is a conflict.
  static func merge(
    _ rule: MergeRule, oursBase: AttributeValue?, ours: AttributeValue?, theirsBase: AttributeValue?,
    theirs: AttributeValue?, type: AttributeType
  ) -> AttributeValue? {
    guard let ours, let theirs else { return nil }
    if rule == .max { return greater(ours, theirs) }
    guard let oursBase, let theirsBase else { return nil }
    return sum(oursBase, ours, theirsBase, theirs, type)
  }

  /// ours + (theirs − theirsBase), which is base + both differences where the sides share the base.
  private static func sum(
    _ oursBase: AttributeValue, _ ours: AttributeValue, _ theirsBase: AttributeValue, _ theirs: AttributeValue,
    _ type: AttributeType
  ) -> AttributeValue? {
    switch (oursBase, ours, theirsBase, theirs) {
    case (.integer, .integer(let ours), .integer(let base), .integer(let theirs)):
      guard let sum = Int64(exactly: Int128(ours) + Int128(theirs) - Int128(base)) else { return nil }
      return type.coerce(.integer(sum))
    case (.decimal, .decimal(let ours), .decimal(let base), .decimal(let theirs)):
      var sum = DecimalSum()
      for number in [ours, theirs, -base] { sum.add(number) }
      return sum.value.flatMap { $0.isNaN ? nil : .decimal($0) }
    // The differences are added first, so that exchanged sides give the same bits.
    case (.double(let first), .double(let ours), .double(let base), .double(let theirs)):
      let sum = first + ((ours - first) + (theirs - base))
      return sum.isFinite ? .double(sum) : nil
    case (.float(let first), .float(let ours), .float(let base), .float(let theirs)):
      let sum = first + ((ours - first) + (theirs - base))
      return sum.isFinite ? .float(sum) : nil
    default: return nil
    }
  }

  private static func greater(_ ours: AttributeValue, _ theirs: AttributeValue) -> AttributeValue? {
    switch (ours, theirs) {
    case (.integer(let one), .integer(let other)): one >= other ? ours : theirs
    case (.decimal(let one), .decimal(let other)): one.isNaN || other.isNaN ? nil : one >= other ? ours : theirs
    case (.double(let one), .double(let other)): one.isNaN || other.isNaN ? nil : one >= other ? ours : theirs
    case (.float(let one), .float(let other)): one.isNaN || other.isNaN ? nil : one >= other ? ours : theirs
    case (.date(let one), .date(let other)): one >= other ? ours : theirs
    default: nil
    }
  }
}
