/// The `userInfo` keys that define the rules of a deep clone and of a merge; each key can be renamed (R28).
public struct CloneUserInfoKeys: Sendable, Hashable, Codable {
  /// Excludes a property from the clone (R5, R15), regardless of the key's value.
  public var exclude: String
  /// Generates a new value for an attribute: `uuid` or `now` (R16).
  public var rebuild: String
  /// Copies an attribute's value from the parent's clone; the key's value names the parent's attribute (R17).
  public var followParent: String
  /// The treatment of objects without a parent: `keep` or `blank` (R18).
  public var withoutParent: String
  /// Overrides the rule that the inverse implies for a relationship: `follow`, `reference` or `skip` (R7).
  public var clone: String
  /// Merges a property that both sides changed: `ours`, `theirs`, `sum`, `max` or `skip`.
  public var merge: String

  /// The default keys.
  public static let standard = CloneUserInfoKeys()

  /// Creates a set of keys, with the defaults for those omitted.
  public init(
    exclude: String = "exclude", rebuild: String = "rebuild", followParent: String = "followParent",
    withoutParent: String = "withoutParent", clone: String = "clone", merge: String = "merge"
  ) {
    self.exclude = exclude
    self.rebuild = rebuild
    self.followParent = followParent
    self.withoutParent = withoutParent
    self.clone = clone
    self.merge = merge
  }

  /// Decodes keys. The key of merges may be missing in the form of earlier versions.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    exclude = try container.decode(String.self, forKey: .exclude)
    rebuild = try container.decode(String.self, forKey: .rebuild)
    followParent = try container.decode(String.self, forKey: .followParent)
    withoutParent = try container.decode(String.self, forKey: .withoutParent)
    clone = try container.decode(String.self, forKey: .clone)
    merge = try container.decodeIfPresent(String.self, forKey: .merge) ?? "merge"
  }

  /// The first key that has two roles, which makes the keys unusable.
  package var duplicate: String? {
    var seen: Set<String> = []
    return [exclude, rebuild, followParent, withoutParent, clone, merge].first { !seen.insert($0).inserted }
  }
}
