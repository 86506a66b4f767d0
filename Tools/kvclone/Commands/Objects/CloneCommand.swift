import ArgumentParser
import Foundation
import KVClone
import KVCloneExplorer
import KVCloneOperations

struct CloneCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "clone", abstract: "Clones objects deeply: each with the objects that belong to it.",
    discussion: """
      The model, its userInfo keys and --rule decide which relationships are followed, shared or skipped. With \
      --dry-run, prints the plan instead: exit code 0 if the clone would succeed, 1 if it would fail.
      """,
    examples: [
      "kvclone -s notes.kvclone clone Note/1 --dry-run",
      "kvclone -s notes.kvclone clone Note/1 --exclude summary --count 10",
      "kvclone -s notes.kvclone clone Note/1 --rule Item.tags=skip --json",
      "kvclone -s notes.kvclone clone Note/1 --from-snapshot monday",
    ])

  @OptionGroup var global: GlobalOptions

  @Argument(help: ArgumentHelp("The objects to clone.", valueName: "id"), completion: StoreCompletion.objects)
  var ids: [String]

  @Flag(name: [.customShort("n"), .customLong("dry-run")], help: "Print the plan; write nothing.")
  var isDryRun = false

  @Option(
    help: ArgumentHelp(
      "Exclude this relationship of the roots, or Entity.relationship of all objects (repeatable).", valueName: "name"))
  var exclude: [String] = []

  @Flag(name: .customLong("passing-exclusions"), help: "Apply --exclude to all objects, not only to the roots.")
  var isPassingExclusions = false

  @Option(
    help: ArgumentHelp(
      "Override the rule of a relationship: Entity.relationship=follow|reference|skip (repeatable).", valueName: "rule")
  )
  var rule: [String] = []

  @Option(
    name: .customLong("rule-key"),
    help: ArgumentHelp(
      "Use another userInfo key for a clone rule: exclude|rebuild|followParent|withoutParent|clone=KEY (repeatable).",
      valueName: "role=key"))
  var ruleKey: [String] = []

  @Option(help: ArgumentHelp("Share blobs with the clone, or copy them.", valueName: "share|copy"))
  var blobs: Blobs = .share

  @Option(
    help: ArgumentHelp(
      "Point links between cloned objects at the clones, or keep them on the sources.", valueName: "remap|keep"))
  var references: References = .remap

  @Option(name: .customLong("max-objects"), help: "Fail if the clone has more objects than this (default: no limit).")
  var maxObjects: Int?

  @Option(
    name: .customLong("max-depth"),
    help: "Fail if an object is more relationships away from a root than this (default: no limit).")
  var maxDepth: Int?

  @Option(name: .customLong("max-bytes"), help: "Fail if the clone writes more bytes than this (default: no limit).")
  var maxBytes: UInt64?

  @Option(help: ArgumentHelp("Number of clones of the same objects.", valueName: "n"))
  var count = 1

  @Option(
    name: .customLong("idempotency-key"),
    help: ArgumentHelp(
      "Clone only once per key; a repeated call prints the first result again. 1 to 255 bytes.", valueName: "key"))
  var idempotencyKey: String?

  @Flag(name: .customLong("provenance"), help: "Record for each clone which object it was cloned from.")
  var recordsProvenance = false

  @Flag(
    name: .customLong("keeps-base"),
    help: """
      Create a draft: clones that `merge` merges back into their sources. While it is open, the store retains the \
      preimages of all later changes.
      """)
  var keepsBase = false

  @Option(
    help: ArgumentHelp(
      "With --keeps-base: the time after which the draft can no longer be merged, as for `snapshot create` (default: "
        + "never).", valueName: "date"),
    transform: MomentOption.expiry)
  var expires: Date?

  @Option(
    name: .customLong("from-snapshot"),
    help: ArgumentHelp(
      "Clone the objects as this snapshot shows them, even if they were changed or deleted since.", valueName: "name"),
    completion: StoreCompletion.snapshots)
  var fromSnapshot: String?

  @Option(
    help: ArgumentHelp("Clone into this other, existing store (default: the store of the objects).", valueName: "path"),
    completion: .directory)
  var into: String?

  @Option(
    help: ArgumentHelp(
      "With --into: links to objects that are not cloned go to matching objects (equal unique values), stay empty, or "
        + "fail the clone (default: match).",
      valueName: "match|match-or-empty|empty|refuse"))
  var outside: Outside?

  enum Outside: String, CaseIterable, ExpressibleByArgument {
    case match
    case matchOrEmpty = "match-or-empty"
    case empty
    case refuse

    fileprivate var policy: CloneOptions.OutsideObjects {
      switch self {
      case .match: .match
      case .matchOrEmpty: .matchOrLeaveEmpty
      case .empty: .leaveEmpty
      case .refuse: .refuse
      }
    }
  }

  enum Blobs: String, CaseIterable, ExpressibleByArgument { case share, copy }
  enum References: String, CaseIterable, ExpressibleByArgument { case remap, keep }

  func validate() throws {
    if expires != nil, !keepsBase { throw ValidationError("--expires works only with --keeps-base") }
    if keepsBase, into != nil || fromSnapshot != nil {
      throw ValidationError(
        "--keeps-base is for clones of the present state in the same store; remove "
          + (into == nil ? "--from-snapshot" : "--into"))
    }
    if outside != nil, into == nil { throw ValidationError("--outside works only with --into") }
    if into?.isEmpty == true { throw ValidationError("--into is an empty string; give a path") }
    if fromSnapshot?.isEmpty == true {
      throw ValidationError("--from-snapshot is an empty string; give the name of a snapshot")
    }
    if fromSnapshot != nil, into != nil {
      throw ValidationError("--from-snapshot clones within the snapshot's store; remove --into")
    }
    if count < 1 { throw ValidationError("--count needs a number from 1") }
    if let idempotencyKey, !(1...255).contains(idempotencyKey.utf8.count) {
      throw ValidationError("--idempotency-key needs 1 to 255 bytes of UTF-8")
    }
    if (maxObjects ?? 0) < 0 || (maxDepth ?? 0) < 0 {
      throw ValidationError("--max-objects and --max-depth need a number from 0")
    }
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
    options.count = count
    options.idempotencyKey = idempotencyKey
    options.recordsProvenance = recordsProvenance
    options.keepsBase = keepsBase
    options.baseExpiresAt = expires
    options.outsideObjects = outside?.policy ?? .match
    for text in rule {
      let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
      guard parts.count == 2, parts[0].contains("."), let override = CloneRule(rawValue: parts[1])
      else {
        throw ValidationError("--rule needs Entity.relationship=follow, =reference or =skip")
      }
      if options.rules.updateValue(override, forKey: parts[0]).map({ $0 != override }) == true {
        throw ValidationError("--rule gives two rules for \(parts[0]); give one")
      }
    }
    try options.userInfoKeys.rename(ruleKey, includesMerge: false)
    return options
  }

  func run() throws {
    var options = try self.options()
    let progress = ProgressBar("clone", unit: "objects", total: nil, global)
    options.progress = progress.watch(global)
    // A dry run near the end of the disk needs the store open for writing, as the clone does.
    let store = try global.openStore(isReadOnly: into != nil)
    defer { GlobalOptions.close(store) }
    let other = try destination(beside: store)
    defer { if let other { other.close() } }
    let snapshot = try fromSnapshot.map { try store.snapshot(named: $0) }
    let roots: [ObjectID]
    if let snapshot {
      roots = try snapshot.read { transaction in try self.roots(transaction) }
    } else {
      roots = try store.read { transaction in try self.roots(transaction) }
    }
    if isDryRun {
      let plan: ClonePlan
      if let snapshot {
        plan = try store.planClone(roots, from: snapshot, options: options)
      } else if let other {
        plan = try store.planClone(roots, into: other, options: options)
      } else {
        plan = try store.planClone(roots, options: options)
      }
      progress.finish()
      try report(plan, try rootNames(roots, store, snapshot), try names(plan.affectedObjectIDs, other ?? store))
      if plan.errorCount > 0 { throw ExitCode(Failure.Code.failure) }
    } else {
      let result: CloneResult
      do {
        if let snapshot {
          result = try store.clone(roots, from: snapshot, options: options)
        } else if let other {
          result = try store.clone(roots, into: other, options: options)
        } else {
          result = try store.clone(roots, options: options)
        }
      } catch {
        Interruption.note(.failed)
        progress.finish()
        throw error
      }
      progress.finish()
      try report(
        result, try names(result.roots, other ?? store), try names(result.affectedObjectIDs, other ?? store),
        deleted: try names(result.deletedRoots, other ?? store))
    }
  }

  /// The destination store, if it is another one.
  private func destination(beside store: ObjectStore) throws -> ObjectStore? {
    guard let into else { return nil }
    let address = try StoreAddress(into)
    // The same store in a cluster can be opened twice.
    if !address.isDirectory, address == (try global.storeAddress()) { return store }
    do {
      return try address.open()
    } catch let error as StoreError {
      if error.kind == .storeNotFound {
        throw Failure(
          "invalidDestination",
          "\(address.name) is not a store; create one there with `kvclone init`, or correct the path of --into")
      }
      // The path leads to the source store: the library reports what to do instead.
      guard error.kind == .alreadyOpen else { throw error }
      return store
    }
  }

  /// The named objects. A call that is repeated with its key may name objects that were deleted since.
  private func roots(_ transaction: borrowing ReadTransaction) throws -> [ObjectID] {
    try transaction.objectIDs(named: ids, includesDeleted: idempotencyKey != nil)
  }

  /// The roots as `Entity/serial`, in whatever form they were named.
  private func rootNames(_ ids: [ObjectID], _ store: ObjectStore, _ snapshot: Snapshot?) throws -> [String] {
    guard let snapshot else { return try names(ids, store) }
    return try snapshot.read { transaction in try ids.map { try transaction.nameOfAny($0) } }
  }

  private func names(_ ids: [ObjectID], _ store: ObjectStore) throws -> [String] {
    try store.read { transaction in try ids.map { try transaction.nameOfAny($0) } }
  }

  // MARK: Reports

  private func report(_ result: CloneResult, _ roots: [String], _ touched: [String], deleted: [String]) throws {
    let output = Output()
    if global.json {
      return try output.json { json in
        json.cloneResult(result, roots: roots, touched: touched, deleted: deleted)
      }
    }
    for root in roots { try output.line(root) }
    try output.flush()
    if result.isRepeated {
      let gone = deleted.isEmpty ? "" : "; deleted since: \(deleted.joined(separator: ", "))"
      global.note(
        "the idempotency key was used before: \(Text.count(result.objectCount, "object")) cloned then, none now\(gone)")
      return try output.flush()
    }
    let copied = result.bytesCopied > 0 ? "\(Text.bytes(result.bytesCopied)) copied, " : ""
    global.note(
      "cloned \(Text.count(result.objectCount, "object")) in \(Text.seconds(result.duration.inSeconds)): "
        + "\(Text.bytes(result.bytesWritten)) written, \(copied)\(Text.bytes(result.bytesShared)) shared, "
        + "\(Text.count(result.affectedObjectCount, "other object")) changed")
    try output.flush()
  }

  private func report(_ plan: ClonePlan, _ roots: [String], _ touched: [String]) throws {
    let output = Output()
    if global.json {
      return try output.json { json in json.clonePlan(plan, touched: touched) }
    }
    if plan.isRepeated {
      try output.line("would clone nothing: the idempotency key was used before; prints that result again")
      return try output.flush()
    }
    let counts = plan.counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
    try output.line("would clone \(Text.count(plan.objectCount, "object"))\(counts.isEmpty ? "" : ": " + counts)")
    let copied = plan.bytesCopied > 0 ? "copy \(Text.bytes(plan.bytesCopied)), " : ""
    try output.line(
      "would write \(Text.bytes(plan.bytesWritten)), \(copied)share \(Text.bytes(plan.bytesShared)), "
        + "and change \(Text.count(plan.affectedObjectCount, "other object"))")
    try output.line("would hold the write lock for about \(Text.seconds(plan.estimatedLockDuration.inSeconds))")
    try output.write(ClonePlanText.tree(plan, roots: roots, Style(global)))
    try output.reasons(plan.errors, count: plan.errorCount)
    try output.flush()
  }
}
