/// The `userInfo` keys that the rules of a deep clone are written with; each can be renamed (R28).
public struct CloneUserInfoKeys: Sendable, Hashable, Codable {
  /// Leaves a property out of the clone, whatever the value (R5, R15).
  public var exclude: String
  /// Gives an attribute a fresh value: `uuid` or `now` (R16).
  public var rebuild: String
  /// Takes an attribute's value from the parent's clone: the name of the parent's attribute (R17).
  public var followParent: String
  /// What happens if there is no such parent: `keep` or `blank` (R18).
  public var withoutParent: String
  /// Overrides what the inverse decides on a relationship: `follow`, `reference` or `skip` (R7).
  public var clone: String

  /// The keys as models usually write them.
  public static let standard = CloneUserInfoKeys()

  /// Renames some of the keys.
  public init(
    exclude: String = "exclude", rebuild: String = "rebuild", followParent: String = "followParent",
    withoutParent: String = "withoutParent", clone: String = "clone"
  ) {
    self.exclude = exclude
    self.rebuild = rebuild
    self.followParent = followParent
    self.withoutParent = withoutParent
    self.clone = clone
  }

  /// The first key that has two roles, which makes the keys unusable.
  package var duplicate: String? {
    var seen: Set<String> = []
    return [exclude, rebuild, followParent, withoutParent, clone].first { !seen.insert($0).inserted }
  }
}
