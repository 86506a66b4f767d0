import ArgumentParser
import KVClone
import KVCloneMerge

/// The options of all merges: answers to conflicts, and limits.
struct MergeOptionGroup: ParsableArguments {
  @Flag(name: [.customShort("n"), .customLong("dry-run")], help: "Print the plan; write nothing.")
  var isDryRun = false

  @Flag(help: "With --dry-run: write the merged state as NDJSON, instead of the plan.")
  var dump = false

  @Option(
    help: ArgumentHelp(
      "The side that wins conflicts without an answer or --rule; replaces all merge rules of the model (default: these "
        + "rules decide, and other conflicts reject the merge).", valueName: "ours|theirs"))
  var policy: Policy?

  @Option(
    help: ArgumentHelp(
      "The rule for an attribute or a relationship: Entity.property=ours|theirs|sum|max|skip, or for an entity: "
        + "Entity=ours|theirs (repeatable; default: the rules of the model).", valueName: "rule"))
  var rule: [String] = []

  @Option(
    name: .customLong("rule-key"),
    help: ArgumentHelp(
      "Use another userInfo key for a rule of the model: merge=KEY, or a role of `clone --rule-key` (repeatable).",
      valueName: "role=key"))
  var ruleKey: [String] = []

  @Option(
    help: ArgumentHelp("Answers for conflicts: the conflicts of a plan, each with an answer.", valueName: "file"),
    completion: .file())
  var answers: String?

  @Flag(name: .customLong("no-snapshot"), help: "Create no automatic snapshots, so that the merge cannot be undone.")
  var createsNoSnapshots = false

  @Option(
    name: .customLong("max-objects"), help: "Fail if the merge changes more objects than this (default: no limit).")
  var maxObjects: Int?

  @Option(name: .customLong("max-bytes"), help: "Fail if the merge writes more bytes than this (default: no limit).")
  var maxBytes: UInt64?

  @Option(
    name: .customLong("idempotency-key"),
    help: ArgumentHelp(
      "Merge only once per key; a repeated call prints the first result again. 1 to 255 bytes.", valueName: "key"))
  var idempotencyKey: String?

  enum Policy: String, CaseIterable, ExpressibleByArgument {
    case ours
    case theirs

    fileprivate var side: MergeSide { self == .ours ? .ours : .theirs }
  }

  /// Whether no option is given.
  var isEmpty: Bool {
    !isDryRun && !dump && policy == nil && rule.isEmpty && ruleKey.isEmpty && answers == nil && !createsNoSnapshots
      && maxObjects == nil && maxBytes == nil && idempotencyKey == nil
  }

  func validate() throws {
    if dump, !isDryRun { throw ValidationError("--dump writes the state of a plan; add --dry-run") }
    if answers?.isEmpty == true { throw ValidationError("--answers is an empty string; give a path") }
    if (maxObjects ?? 0) < 0 { throw ValidationError("--max-objects needs a number from 0") }
    if let idempotencyKey, !(1...255).contains(idempotencyKey.utf8.count) {
      throw ValidationError("--idempotency-key needs 1 to 255 bytes of UTF-8")
    }
    _ = try rules()
    _ = try userInfoKeys()
  }

  /// The options of the library, without answers and progress.
  func options() throws -> MergeOptions {
    var options = MergeOptions(policy: policy?.side, rules: try rules(), userInfoKeys: try userInfoKeys())
    options.createsSnapshots = !createsNoSnapshots
    options.idempotencyKey = idempotencyKey
    options.maxObjects = maxObjects
    options.maxBytes = maxBytes
    options.listedChanges = MergeReport.limit
    return options
  }

  private func rules() throws -> [String: MergeRule] {
    var rules: [String: MergeRule] = [:]
    for text in rule {
      let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
      guard parts.count == 2, let rule = MergeRule(rawValue: parts[1]) else {
        throw ValidationError(
          "--rule needs Entity.property=ours, =theirs, =sum, =max or =skip, or Entity=ours or =theirs")
      }
      if rules.updateValue(rule, forKey: parts[0]).map({ $0 != rule }) == true {
        throw ValidationError("--rule gives two rules for \(parts[0]); give one")
      }
    }
    return rules
  }

  private func userInfoKeys() throws -> CloneUserInfoKeys {
    var keys = CloneUserInfoKeys.standard
    try keys.rename(ruleKey, includesMerge: true)
    return keys
  }

  /// The end of the help of every merge.
  static let help = """
    If a conflict has no answer, nothing is merged, and the exit code is 6; it is 1 for violated rules of the model, \
    exceeded limits and stale answers. For conflicts, violated rules and stale answers, stdout has the plan, as of \
    --dry-run: the first 100 changes and conflicts, with --json all conflicts.

    --answers reads the document that --json prints, or only its array of conflicts, in which conflicts have a member \
    "answer": "ours", "theirs", "refuse", or {"value": …} with a value in the same form as "base", "ours" and \
    "theirs" of the conflict. For a list, the value has all its members in order; for a blob, it is the size and \
    digest of ours or theirs, or {"base64": …}. An answer is for the values that the conflict had; if one of them has changed \
    since, or the conflict is gone, the merge is rejected. Give --rule and --policy as for the plan.
    """
}
