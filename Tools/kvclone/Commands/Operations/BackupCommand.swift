import ArgumentParser
import KVClone
import KVCloneExplorer
import KVCloneOperations

struct BackupCommand: StoreCommand, WholeStoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "backup", abstract: "Writes a compact, verified backup while the store is in use.",
    discussion: """
      DEST is a complete store: `kvclone --store DEST check` checks it, and `kvclone restore DEST --to STORE` restores \
      it. DEST must not exist.

      With --since, DEST is an incremental backup: it contains only the changes since a snapshot. It can only be \
      restored on top of a backup that contains this snapshot. Hold the snapshot until the next incremental backup is \
      made.
      """,
    examples: [
      "kvclone -s notes.kvclone snapshot create mon", "kvclone -s notes.kvclone snapshot hold mon backup",
      "kvclone -s notes.kvclone backup full-mon", "kvclone -s notes.kvclone snapshot create tue",
      "kvclone -s notes.kvclone snapshot hold tue backup", "kvclone -s notes.kvclone backup tue.inc --since mon",
      "kvclone restore full-mon tue.inc --to restored",
    ])

  @OptionGroup var global: GlobalOptions

  @Argument(help: ArgumentHelp("The directory to create.", valueName: "dest"), completion: .directory)
  var destination: String

  @Flag(
    help: """
      Create a reflink copy on XFS or btrfs: it shares blocks with the store, takes milliseconds and is not verified. \
      On other file systems, copy the store.
      """)
  var reflink = false

  @Option(
    help: ArgumentHelp(
      "Verify the bytes of every value, everything that `check --read-data` checks, or nothing (default: values).",
      valueName: "values|everything|none"))
  var verify: Verify?

  @Option(
    help: ArgumentHelp(
      "Create an incremental backup with the changes since this snapshot; it is not a store by itself.",
      valueName: "snapshot"), completion: StoreCompletion.snapshots)
  var since: String?

  enum Verify: String, CaseIterable, ExpressibleByArgument {
    case values, everything, none

    fileprivate var verification: BackupOptions.Verification {
      switch self {
      case .values: .values
      case .everything: .everything
      case .none: .none
      }
    }
  }

  func validate() throws {
    if destination.isEmpty { throw ValidationError("the destination is an empty string; give a path") }
    if reflink, since != nil {
      throw ValidationError("--reflink copies the whole store; remove --since or --reflink")
    }
    if let since, since.isEmpty { throw ValidationError("--since is an empty string; give the name of a snapshot") }
    if reflink, verify != nil { throw ValidationError("--reflink verifies nothing; remove --verify") }
  }

  var isReadOnly: Bool { !reflink }

  func prepare() throws {
    try StoreAddress.requireDirectory(destination, for: "a backup")
    _ = try global.storePath(for: "a backup")
  }

  func run(_ store: ObjectStore) throws {
    let bar = ProgressBar("backup", unit: "bytes", total: nil, global)
    if reflink {
      let result = try Interruption.cancelling(bar) { progress, cancellation in
        try store.reflinkCopy(to: destination, progress: progress, cancellation: cancellation)
      }
      return try BackupReport(destination, result).write(global)
    }
    var options = BackupOptions(since: since)
    if let verify { options.verification = verify.verification }
    let result = try Interruption.cancelling(bar) { progress, cancellation in
      try store.backup(to: destination, options: options, progress: progress, cancellation: cancellation)
    }
    let verb = since.map { "backed up the changes since \($0) to" } ?? "backed up to"
    try BackupReport(verb, destination, result).write(global)
  }
}

/// The result as text and JSON.
struct BackupReport {
  let path: String
  let verb: String
  let byteCount: UInt64
  let commit: UInt64
  let isReflink: Bool
  let duration: Duration
  var pageCount: Int?
  var copyReason: ReflinkResult.CopyReason?
  var lockDuration: Duration?
  /// The size of the file before compaction, in bytes.
  var bytesBefore: UInt64?
  var since: String?
  var entryCount: UInt64?
  var renewedCount: UInt64 = 0
  var keptCount: UInt64 = 0

  init(_ verb: String, _ path: String, _ result: BackupResult) {
    self.verb = verb
    self.path = path
    byteCount = result.byteCount
    pageCount = result.pageCount
    commit = result.commit
    isReflink = false
    duration = result.duration
    since = result.since
    entryCount = result.entryCount
    renewedCount = result.renewedCount
    keptCount = result.keptCount
  }

  init(compacted path: String, from bytesBefore: UInt64, _ result: BackupResult) {
    self.init("compacted to", path, result)
    self.bytesBefore = bytesBefore
  }

  /// The reduction of the file's size in percent; negative for a larger one, which is possible without free pages.
  private var savedPercent: Double? {
    guard let bytesBefore, bytesBefore > 0 else { return nil }
    return (1 - Double(byteCount) / Double(bytesBefore)) * 100
  }

  init(_ path: String, _ result: ReflinkResult) {
    verb = result.isReflink ? "reflink copy at" : "copied to"
    self.path = path
    byteCount = result.byteCount
    commit = result.commit
    isReflink = result.isReflink
    duration = result.duration
    copyReason = result.copyReason
    lockDuration = result.lockDuration
  }

  func write(_ global: GlobalOptions) throws {
    try global.report { json in
      json.member("path", path)
      json.member("bytes", byteCount)
      if let bytesBefore { json.member("bytesBefore", bytesBefore) }
      if let savedPercent { json.member("savedPercent", (savedPercent * 10).rounded() / 10) }
      if let pageCount { json.member("pages", pageCount) }
      json.member("commit", commit)
      if let since { json.member("since", since) }
      if let entryCount { json.member("entries", entryCount) }
      if renewedCount + keptCount > 0 {
        json.member("renewedRecords", renewedCount)
        json.member("keptRecords", keptCount)
      }
      json.member("reflink", isReflink)
      if let copyReason { json.member("copyReason", copyReason.rawValue) }
      json.member("seconds", duration.inSeconds)
      if let lockDuration { json.member("lockSeconds", lockDuration.inSeconds) }
    } text: { output in
      if copyReason == .fileSystem {
        global.note("kvclone: the file system cannot share blocks with the destination; the store was copied")
      }
      if let bytesBefore, let savedPercent {
        let change = savedPercent < 0 ? "larger" : "smaller"
        try output.paragraph(
          "compacted \(Text.bytes(bytesBefore)) → \(Text.bytes(byteCount)), "
            + "\(String(format: "%.1f", savedPercent.magnitude)) % \(change), in \(Text.seconds(duration.inSeconds))")
        try output.paragraph("the copy: \(path), commit \(commit)")
      } else {
        try output.paragraph(
          "\(verb) \(path): commit \(commit), \(Text.bytes(byteCount)) in \(Text.seconds(duration.inSeconds))")
      }
      if renewedCount > 0 {
        try output.line("\(Text.count(Int(renewedCount), "record")) rewritten in the layout of the current model")
      }
      if keptCount > 0 {
        try output.paragraph(
          "\(Text.count(Int(keptCount), "record")) left in an earlier layout, for snapshots of an earlier model version"
        )
      }
    }
  }
}
