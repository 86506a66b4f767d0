import ArgumentParser
import Foundation
import KVClone
import KVCloneExplorer
import KVCloneOperations
import Synchronization

struct LoadCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "load", abstract: "Inserts objects from NDJSON; exit code 3 if broken lines were skipped.",
    discussion: """
      Ids in the file are labels that link its lines; the store assigns its own ids. "@Note/12" refers to an object \
      that is already in the store. An error rolls back the whole load. The input is UTF-8, with an optional byte \
      order mark.

      Input from a pipe is first spooled to an unnamed temporary file in the store's directory, so that other writers \
      do not wait for it. The disk needs space for it; with --batch, for the lines of one batch. A regular file is \
      read while the write lock is held.

      With --skip-broken, lines that cannot be read or that violate the model are skipped and listed on stderr: malformed \
      JSON, unknown entities and properties, values of the wrong type, repeated ids, missing files, and the rules of the \
      model. Links to missing objects, and to objects of skipped lines, are left out and listed; if the rest of the \
      line then violates the model, it is skipped, too. The result is that of the same file without these lines and \
      links. A regular file is then spooled, too. A wrong header, a full disk and limits of the store remain errors.
      """,
    examples: [
      "kvclone -s notes.kvclone load notes.ndjson",
      "kvclone -s notes.kvclone load notes.ndjson --skip-broken 2> skipped.txt",
      "zcat notes.ndjson.gz | kvclone -s notes.kvclone load - --batch 10000",
    ])

  @OptionGroup var global: GlobalOptions

  @Argument(help: ArgumentHelp("The NDJSON file; - is standard input.", valueName: "file"), completion: .file())
  var file = "-"

  @Option(help: "Commit every N lines; an error keeps the batches already committed (default: one transaction).")
  var batch: Int?

  @Flag(help: "Reject a file without a header, or with another model in it.")
  var strict = false

  @Flag(name: .customLong("skip-broken"), help: "Skip broken lines and links, list them, and exit with code 3.")
  var skipsBroken = false

  func validate() throws {
    if let batch, batch < 1 { throw ValidationError("--batch needs a number of lines above 0") }
  }

  func run() throws {
    if file == "-" { try StandardInput.check() }
    let store = try global.openStore(isReadOnly: false)
    defer { GlobalOptions.close(store) }
    let size = file == "-" ? nil : LoadCommand.size(of: file)
    let progress = LoadProgress(ProgressBar("load", unit: "bytes", total: size, global), isBatched: batch != nil)
    var options = LoadOptions()
    options.batch = batch
    options.isStrict = strict
    options.skipsBroken = skipsBroken
    options.idLimit = global.json ? 1_000_000 : 0
    options.spoolProgress = { bytes in progress.spooled(bytes) }
    options.idProgress = { bytes in progress.readIDs(bytes) }
    options.progress = { _, bytes in progress.loaded(bytes) }
    options.commitObserver = { Interruption.note($0) }
    let start = ContinuousClock.now
    let result: LoadResult
    do {
      result = try load(into: store, options)
    } catch {
      // The committed batches stay, and so does what they lack.
      guard let skips = Interruption.committedSkips else { throw error }
      if !global.json { StandardError.write(skips.list) }
      var failure = Failure(error)
      failure.writeDetails = { skips.write(to: &$0) }
      throw failure
    }
    progress.bar.finish()
    try report(result, (ContinuousClock.now - start).inSeconds)
    if result.skippedLineCount + result.skippedLinkCount > 0 { throw ExitCode(Failure.Code.unreadable) }
  }

  private func load(into store: ObjectStore, _ options: LoadOptions) throws -> LoadResult {
    if file != "-" { return try store.load(contentsOf: file, options: options) }
    if StandardInput.isRegularFile {
      let start = StandardInput.position
      return try LoadRun(store, options).loadRegularFile(from: StandardInput.append(to:)) {
        try StandardInput.seek(to: start)
      }
    }
    return try store.load(options, from: StandardInput.append(to:))
  }

  private func report(_ result: LoadResult, _ seconds: Double) throws {
    if !global.json { StandardError.write(LoadSkips(result).list) }
    try global.report { json in
      json.member("objects", result.objectCount)
      json.member("counts", result.counts)
      json.key("ids")
      json.beginObject()
      for (label, name) in result.ids.sorted(by: { $0.key < $1.key }) { json.member(label, name) }
      json.endObject()
      if skipsBroken { LoadSkips(result).write(to: &json) }
      json.member("seconds", seconds)
    } text: { output in
      try output.line("loaded \(Text.count(result.objectCount, "object")) in \(Text.seconds(seconds))")
      if result.skippedLineCount + result.skippedLinkCount > 0 {
        let links = Text.count(result.skippedLinkCount, "link")
        try output.line("skipped \(Text.count(result.skippedLineCount, "line")), left out \(links)")
      }
      let width = result.counts.keys.map(\.count).max() ?? 0
      for (entity, count) in result.counts.sorted(by: { $0.key < $1.key }) {
        try output.line("  \(Text.padded(entity, width))  \(count)")
      }
    }
  }

  private static func size(of path: String) -> UInt64? {
    let attributes = try? FileManager.default.attributesOfItem(atPath: path)
    return (attributes?[.size] as? NSNumber)?.uint64Value
  }
}

/// Shows the progress of a load. Spooling the whole input is a phase of its own, after which its length is known, and so
/// is reading its ids; batches alternate too fast for that, so one line counts what was received.
private final class LoadProgress: Sendable {
  let bar: ProgressBar
  private let isBatched: Bool
  private let spooledCount = Mutex<UInt64?>(nil)

  init(_ bar: ProgressBar, isBatched: Bool) {
    self.bar = bar
    self.isBatched = isBatched
  }

  func spooled(_ bytes: UInt64) {
    spooledCount.withLock { $0 = bytes }
    bar.update(bytes, phase: isBatched ? nil : "spooling input")
  }

  func readIDs(_ bytes: UInt64) {
    bar.update(bytes, phase: "reading ids", of: spooledCount.withLock { $0 })
  }

  func loaded(_ bytes: UInt64) {
    let spooled = spooledCount.withLock { $0 }
    if isBatched, spooled != nil { return }
    bar.update(bytes, of: spooled)
  }
}
