import ArgumentParser
import KVClone
import KVCloneExplorer
import KVCloneOperations

struct SalvageCommand: WholeStoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "salvage",
    abstract: "Copies what is readable in a corrupted store to a new one; exit code 3 on losses.",
    discussion: """
      Only reads the corrupted store. The path given with --output must not exist; the new store appears there when it \
      is complete and checked. Objects keep their ids. Snapshots, history and branches are not copied; the output names \
      the branches.

      Uses the model in the store. If it is unreadable, name the version that the store was created with: --model.
      """,
    examples: [
      "kvclone -s damaged salvage -o salvaged", "kvclone -s damaged salvage -o salvaged --model Notes.xcdatamodeld",
    ])

  @OptionGroup var global: GlobalOptions

  @Option(
    name: [.customShort("o"), .long], help: ArgumentHelp("The directory to create.", valueName: "new"),
    completion: .directory)
  var output: String

  @Option(
    help: ArgumentHelp(
      "The model, if that in the store is unreadable: \(ModelPath.forms).", valueName: "path"),
    completion: ModelPath.completion)
  var model: String?

  @Option(name: .customLong("model-version"), help: "The model version (default: the current one).")
  var modelVersion: String?

  func validate() throws {
    if output.isEmpty { throw ValidationError("--output is an empty string; give a path") }
    if modelVersion != nil, model == nil { throw ValidationError("--model-version works only with --model") }
  }

  func run() throws {
    let path = try global.storePath(
      for: "a salvage",
      remedy: "find what is readable with `kvclone check`, or copy the store to a directory (kvclone copy)")
    try StoreAddress.requireDirectory(output, for: "a salvage")
    var options = SalvageOptions()
    if let model {
      let loaded = try ManagedObjectModel.load(contentsOf: model, version: modelVersion)
      for warning in loaded.warnings { global.note("kvclone: warning: \(warning)") }
      options.model = loaded.model
    }
    let bar = ProgressBar("salvage", unit: "bytes", total: nil, global)
    let report = try Interruption.cancelling(bar) { progress, cancellation in
      try ObjectStore.salvage(
        from: path, to: output, options: options, progress: progress, cancellation: cancellation)
    }
    let writer = Output()
    if global.json { try writer.json { write(report, &$0) } } else { try writeText(report, writer) }
    if !report.isComplete { throw ExitCode(Failure.Code.unreadable) }
  }

  /// The number of losses that are printed.
  private static let shownLosses = 20

  private func writeText(_ report: SalvageReport, _ writer: Output) throws {
    for loss in report.losses.prefix(Self.shownLosses) {
      let place = [loss.object, loss.property, loss.page.map { "page \($0)" }].compactMap { $0 }.joined(separator: " ")
      let rule = loss.breaksRule ? "; this violates a rule of the model until you correct it" : ""
      try writer.paragraph("\(loss.kind.rawValue): \(place.isEmpty ? "" : place + ": ")\(loss.message)\(rule)")
    }
    if report.lossCount > Self.shownLosses { try writer.line("and \(report.lossCount - Self.shownLosses) more") }
    if !global.quiet {
      let counts = report.counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
      try writer.paragraph(
        "salvaged to \(output): \(Text.count(report.objectCount, "object"))\(counts.isEmpty ? "" : " (\(counts))"), "
          + "\(Text.bytes(report.byteCount)) in \(Text.seconds(report.duration.inSeconds))")
      if report.snapshotCount > 0 { try writer.line("not copied: \(Text.count(report.snapshotCount, "snapshot"))") }
      if report.hadHistory { try writer.line("not copied: the history") }
      for branch in report.branches {
        let changes = Text.count(branch.changedObjectCount, "changed object")
        try writer.line("not copied: the branch \(branch.name), with \(changes)")
      }
      let kinds = report.lossCounts.sorted { $0.key.rawValue < $1.key.rawValue }
        .map { "\($0.key.rawValue) \($0.value)" }.joined(separator: ", ")
      let objects = report.lostObjectCount > 0 ? "\(Text.count(report.lostObjectCount, "object")); " : ""
      try writer.paragraph(report.isComplete ? "nothing was lost" : "lost: \(objects)\(kinds)")
    }
    try writer.flush()
  }

  private func write(_ report: SalvageReport, _ json: inout JSONWriter) {
    json.member("path", output)
    json.member("complete", report.isComplete)
    json.member("objects", report.objectCount)
    json.member("counts", report.counts)
    json.member("lostObjects", report.lostObjectCount)
    json.member(
      "lossCounts",
      Dictionary(report.lossCounts.map { ($0.key.rawValue, $0.value) }, uniquingKeysWith: { first, _ in first }))
    json.list("losses", report.losses) { json, loss in
      json.finding(
        loss.kind.rawValue, object: loss.object, property: loss.property, page: loss.page, message: loss.message)
      json.member("breaksRule", loss.breaksRule)
    }
    json.member("truncated", report.isTruncated)
    json.member("damagedPages", report.corruptedPageCount)
    json.member("snapshotsLeft", report.snapshotCount)
    json.member("historyLeft", report.hadHistory)
    json.list("branchesLeft", report.branches) { json, branch in
      json.member("name", branch.name)
      json.member("changes", branch.changedObjectCount)
      json.member("bytes", branch.byteCount)
    }
    json.member("commit", report.commit)
    json.member("bytes", report.byteCount)
    json.member("seconds", report.duration.inSeconds)
  }
}
