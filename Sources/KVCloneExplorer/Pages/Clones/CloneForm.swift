import KVClone

/// The options of a clone in the query of a page, or in a form.
///
/// The names are those of the tool's options: `exclude` and `rule` (`Entity.relationship=follow|reference|skip`) can
/// occur several times, `key-ROLE` names a key of the userInfo. Absent items have the defaults.
struct CloneForm: Sendable {
  private(set) var options = CloneOptions()
  private(set) var excluded: [String] = []
  private(set) var rules: [String: CloneRule] = [:]

  /// The largest number of copies; more of them belong to a program.
  private static let maximumCount = 10_000

  init() {}

  /// - Throws: ``ExplorerError`` with `badRequest`; names of entities and relationships are checked by the plan.
  init(_ items: QueryItems) throws(ExplorerError) {
    for name in items.all("exclude") where !name.isEmpty && !excluded.contains(name) { excluded.append(name) }
    excluded.sort()
    for text in items.all("rule") where !text.isEmpty {
      let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
      guard parts.count == 2, let rule = CloneRule(rawValue: parts[1]) else {
        throw ExplorerError(.badRequest, "a rule is Entity.relationship=follow, =reference or =skip; correct it")
      }
      rules[parts[0]] = rule
    }
    // A field of the form for each relationship.
    for item in items.items where item.name.hasPrefix(Self.rulePrefix) {
      let name = String(item.name.dropFirst(Self.rulePrefix.count))
      if item.value.isEmpty {
        rules[name] = nil
      } else {
        guard let rule = CloneRule(rawValue: item.value) else {
          throw ExplorerError(.badRequest, "a rule is follow, reference or skip; choose one of them")
        }
        rules[name] = rule
      }
    }
    options.excludedRelationshipNames = excluded
    options.rules = rules
    options.passingExclusionList = try Self.flag(items, "passing")
    options.recordsProvenance = try Self.flag(items, "provenance")
    options.keepsBase = try Self.flag(items, "keeps-base")
    options.references = try Self.choice(items, "references", ["remap": .remap, "keep": .keepOriginal]) ?? .remap
    options.blobs = try Self.choice(items, "blobs", ["share": .share, "copy": .copy]) ?? .share
    options.count = try Self.number(items, "count", Int.self, 1...Self.maximumCount) ?? 1
    options.maxObjects = try Self.number(items, "max-objects", Int.self, 0...Int.max)
    options.maxDepth = try Self.number(items, "max-depth", Int.self, 0...Int.max)
    options.maxBytes = try Self.number(items, "max-bytes", UInt64.self, 0...UInt64.max)
    for (role, path) in CloneUserInfoKeys.roles {
      if let key = items["key-\(role)"], !key.isEmpty { options.userInfoKeys[keyPath: path] = key }
    }
  }

  static let rulePrefix = "rule."

  /// The options as items of a query, without those that have their defaults.
  var items: [(name: String, value: String)] {
    var items = excluded.map { (name: "exclude", value: $0) }
    for (name, rule) in rules.sorted(by: { $0.key < $1.key }) { items.append(("rule", "\(name)=\(rule.rawValue)")) }
    if options.passingExclusionList { items.append(("passing", "1")) }
    if options.recordsProvenance { items.append(("provenance", "1")) }
    if options.keepsBase { items.append(("keeps-base", "1")) }
    if options.references == .keepOriginal { items.append(("references", "keep")) }
    if options.blobs == .copy { items.append(("blobs", "copy")) }
    if options.count != 1 { items.append(("count", "\(options.count)")) }
    if let limit = options.maxObjects { items.append(("max-objects", "\(limit)")) }
    if let limit = options.maxDepth { items.append(("max-depth", "\(limit)")) }
    if let limit = options.maxBytes { items.append(("max-bytes", "\(limit)")) }
    for (role, path) in CloneUserInfoKeys.roles {
      let key = options.userInfoKeys[keyPath: path]
      if key != CloneUserInfoKeys.standard[keyPath: path] { items.append(("key-\(role)", key)) }
    }
    return items
  }

  /// ``items`` for links, which omit nil values.
  var query: [(name: String, value: String?)] { items.map { ($0.name, $0.value) } }

  // MARK: Values

  private static func flag(_ items: QueryItems, _ name: String) throws(ExplorerError) -> Bool {
    try choice(items, name, ["1": true, "0": false]) ?? false
  }

  private static func choice<Value>(_ items: QueryItems, _ name: String, _ values: [String: Value])
    throws(ExplorerError) -> Value?
  {
    guard let text = items[name], !text.isEmpty else { return nil }
    guard let value = values[text] else {
      throw ExplorerError(.badRequest, "\(name) is \(values.keys.sorted().joined(separator: " or ")); correct it")
    }
    return value
  }

  private static func number<Value: FixedWidthInteger & Sendable>(
    _ items: QueryItems, _ name: String, _ type: Value.Type, _ range: ClosedRange<Value>
  ) throws(ExplorerError) -> Value? {
    guard let text = items[name], !text.isEmpty else { return nil }
    guard let value = Value(text), range.contains(value) else {
      throw ExplorerError(
        .badRequest, "\(name) is a whole number from \(range.lowerBound) to \(range.upperBound); correct it")
    }
    return value
  }
}
