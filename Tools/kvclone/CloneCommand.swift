import ArgumentParser
import KVClone

struct CloneCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "clone", abstract: "Clones objects with everything that belongs to them.",
    discussion: "With --dry-run, tells what would happen: exit code 0 if the clone would succeed, 1 if it would not.")

  @OptionGroup var global: GlobalOptions

  @Argument(help: ArgumentHelp("The objects to clone.", valueName: "id"))
  var ids: [String]

  @Flag(name: [.customShort("n"), .customLong("dry-run")], help: "Plan only; write nothing.")
  var isDryRun = false

  @Option(
    help: ArgumentHelp(
      "Leave out this relationship of the roots, or Entity.relationship everywhere.", valueName: "name"))
  var exclude: [String] = []

  @Flag(name: .customLong("passing-exclusions"), help: "--exclude holds for every object, not the roots only.")
  var isPassingExclusions = false

  @Option(help: ArgumentHelp("Entity.relationship=follow|reference|skip.", valueName: "rule"))
  var rule: [String] = []

  @Option(
    name: .customLong("rule-key"),
    help: ArgumentHelp(
      "Rename a userInfo key: exclude|rebuild|followParent|withoutParent|clone=KEY.", valueName: "role=key"))
  var ruleKey: [String] = []

  @Option(help: ArgumentHelp("Share large values with the clone, or copy them.", valueName: "share|copy"))
  var blobs: Blobs = .share

  @Option(help: ArgumentHelp("Links inside the clone: to the clones, or kept.", valueName: "remap|keep"))
  var references: References = .remap

  @Option(name: .customLong("max-objects"), help: "Refuse to clone more objects.")
  var maxObjects: Int?

  @Option(name: .customLong("max-depth"), help: "Refuse to follow more steps from a root.")
  var maxDepth: Int?

  @Option(name: .customLong("max-bytes"), help: "Refuse to write more bytes.")
  var maxBytes: UInt64?

  enum Blobs: String, ExpressibleByArgument { case share, copy }
  enum References: String, ExpressibleByArgument { case remap, keep }

  func validate() throws {
    if (maxObjects ?? 0) < 0 || (maxDepth ?? 0) < 0 { throw ValidationError("limits are numbers from 0") }
    _ = try options()
  }

  private func options() throws -> CloneOptions {
    var options = CloneOptions()
    options.excludedRelationshipNames = exclude
    options.passingExclusionList = isPassingExclusions
    options.blobs = blobs == .share ? .share : .copy
    options.references = references == .remap ? .remap : .keepOriginal
    options.maxObjects = maxObjects
    options.maxDepth = maxDepth
    options.maxBytes = maxBytes
    for text in rule {
      let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
      guard parts.count == 2, parts[0].contains("."), let override = RelationshipCloneRule.Override(rawValue: parts[1])
      else {
        throw ValidationError("--rule needs Entity.relationship=follow, =reference or =skip")
      }
      options.rules[parts[0]] = override
    }
    for text in ruleKey {
      let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
      guard parts.count == 2, options.userInfoKeys.rename(role: parts[0], to: parts[1]) else {
        throw ValidationError("--rule-key needs exclude, rebuild, followParent, withoutParent or clone, '=' and a key")
      }
    }
    return options
  }

  func run() throws {
    let options = try self.options()
    let store = try global.openStore(isReadOnly: isDryRun)
    defer { store.close() }
    let roots = try store.read { transaction in
      var roots: [ObjectID] = []
      for id in ids { roots.append(try transaction.objectID(named: id)) }
      return roots
    }
    if isDryRun {
      let plan = try store.planClone(roots, options: options)
      try report(plan, try names(plan.touched, store))
      if !plan.errors.isEmpty { throw ExitCode(Failure.Code.failure) }
    } else {
      let result = try store.clone(roots, options: options)
      try report(result, try names(result.roots, store), try names(result.touched, store))
    }
  }

  private func names(_ ids: [ObjectID], _ store: ObjectStore) throws -> [String] {
    try store.read { transaction in
      var names: [String] = []
      for id in ids { names.append(try transaction.name(of: id)) }
      return names
    }
  }

  // MARK: Reports

  private func report(_ result: CloneResult, _ roots: [String], _ touched: [String]) throws {
    let output = Output()
    if global.json {
      return try output.json { json in
        json.cloneResult(result, roots: roots, touched: touched)
      }
    }
    for root in roots { try output.line(root) }
    global.note(
      "cloned \(Text.count(result.objectCount, "object")) in \(Text.seconds(result.duration.inSeconds)): "
        + "\(Text.bytes(result.bytesWritten)) written, \(Text.bytes(result.bytesShared)) shared, "
        + "\(Text.count(result.touchedCount, "other object")) changed")
    try output.flush()
  }

  private func report(_ plan: ClonePlan, _ touched: [String]) throws {
    let output = Output()
    if global.json {
      return try output.json { json in
        json.beginObject()
        json.cloneFacts(
          objects: plan.objectCount, counts: plan.counts, touchedCount: plan.touchedCount, touched: touched,
          blobsShared: plan.blobsShared, bytes: (plan.bytesShared, plan.bytesCopied, plan.bytesWritten),
          duration: plan.duration)
        json.member("committed", false)
        json.rulesAndErrors(of: plan)
        json.endObject()
      }
    }
    try output.line("would clone \(Text.count(plan.objectCount, "object")):")
    for (entity, count) in plan.counts.sorted(by: { $0.key < $1.key }) { try output.line("  \(entity)  \(count)") }
    try output.line(
      "would write \(Text.bytes(plan.bytesWritten)), share \(Text.bytes(plan.bytesShared)), "
        + "and change \(Text.count(plan.touchedCount, "other object"))")
    if !plan.rules.isEmpty { try output.line("rules:") }
    for rule in plan.rules { try output.line("  \(rule.entity).\(rule.property)  \(rule.rule)") }
    if !plan.errors.isEmpty { try output.line("it would fail:") }
    for error in plan.errors { try output.line("  \(error.kindName): \(error.message)") }
    try output.flush()
  }
}

extension CloneUserInfoKeys {
  /// Gives one role another key; false if there is no such role.
  fileprivate mutating func rename(role: String, to key: String) -> Bool {
    switch role {
    case "exclude": exclude = key
    case "rebuild": rebuild = key
    case "followParent": followParent = key
    case "withoutParent": withoutParent = key
    case "clone": clone = key
    default: return false
    }
    return true
  }
}

extension JSONWriter {
  /// The document of a clone that was made.
  mutating func cloneResult(_ result: CloneResult, roots: [String], touched: [String]) {
    beginObject()
    member("root", roots.first)
    member("roots", roots)
    cloneFacts(
      objects: result.objectCount, counts: result.counts, touchedCount: result.touchedCount, touched: touched,
      blobsShared: result.blobsShared, bytes: (result.bytesShared, result.bytesCopied, result.bytesWritten),
      duration: result.duration)
    member("committed", true)
    endObject()
  }

  fileprivate mutating func cloneFacts(
    objects: Int, counts: [String: Int], touchedCount: Int, touched: [String], blobsShared: Int,
    bytes: (shared: UInt64, copied: UInt64, written: UInt64), duration: Duration
  ) {
    member("objects", objects)
    member("counts", counts)
    member("touchedCount", touchedCount)
    member("touched", touched)
    member("blobsShared", blobsShared)
    member("bytesShared", bytes.shared)
    member("bytesCopied", bytes.copied)
    member("bytesWritten", bytes.written)
    member("seconds", duration.inSeconds)
  }

  fileprivate mutating func rulesAndErrors(of plan: ClonePlan) {
    key("rules")
    beginArray()
    for rule in plan.rules {
      beginObject()
      member("entity", rule.entity)
      member("property", rule.property)
      member("rule", rule.rule)
      endObject()
    }
    endArray()
    key("errors")
    beginArray()
    for error in plan.errors {
      beginObject()
      member("kind", error.kindName)
      nullable("object", error.object)
      nullable("property", error.property)
      member("message", error.message)
      endObject()
    }
    endArray()
  }
}
