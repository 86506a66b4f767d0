import ArgumentParser
import KVClone
import KVCloneExplorer
import KVCloneOperations

struct StatCommand: WholeStoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "stat", abstract: "Shows the space usage of the store, its free pages, readers and the writer.",
    discussion: """
      Without --deep, reads only counters that the store maintains, and is cheap enough to run every few seconds. With \
      --deep, reads every page: sizes by entity, relationship, blob, index, history and preimages, page utilization, \
      and about how much `compact` would save. Writers are not blocked.

      --format prometheus writes the Prometheus text format 0.0.4, for example for the textfile collector of a node \
      exporter. --format svg draws a treemap of all bytes, and implies --deep.
      """,
    examples: [
      "kvclone -s notes.kvclone stat", "kvclone -s notes.kvclone stat --deep --format svg -o bytes.svg",
      "kvclone -s notes.kvclone stat --format prometheus -o notes.prom",
    ])

  @OptionGroup var global: GlobalOptions

  @Flag(help: "Read every page, for detailed sizes.")
  var deep = false

  @Option(help: ArgumentHelp("Output format (default: table).", valueName: "table|json|prometheus|svg"))
  var format: Format?

  @Option(
    name: [.customShort("o"), .customLong("output")],
    help: ArgumentHelp("Write to this file, and replace it atomically (default: stdout).", valueName: "file"),
    completion: .file())
  var file: String?

  enum Format: String, CaseIterable, ExpressibleByArgument { case table, json, prometheus, svg }

  func validate() throws {
    if let file, file.isEmpty { throw ValidationError("-o is an empty string; give a path") }
    if global.json, let format, format != .json {
      throw ValidationError("--json and --format \(format.rawValue) exclude each other; give one")
    }
  }

  func run() throws {
    let format = format ?? (global.json ? .json : .table)
    let store = try open()
    defer { store.close() }
    if let file { try TransferFiles.requireWritable(file) }
    let text: String
    if deep || format == .svg {
      let statistics = try walk(store)
      text =
        switch format {
        case .table: StatTable.text(statistics, Style(global, isFile: file != nil))
        case .json: JSONWriter.object { $0.statistics(statistics.summary, deep: statistics) } + "\n"
        case .prometheus: StatMetrics.text(statistics.summary, deep: statistics)
        case .svg: StatSVG(statistics).text
        }
    } else {
      let statistics = try store.statistics()
      text =
        switch format {
        case .table: StatTable.text(statistics, Style(global, isFile: file != nil))
        case .json: JSONWriter.object { $0.statistics(statistics, deep: nil) } + "\n"
        case .prometheus, .svg: StatMetrics.text(statistics, deep: nil)
        }
    }
    try write(text)
  }

  /// Stale readers are shown instead of cleared.
  private func open() throws -> ObjectStore {
    var options = StoreOptions()
    options.isReadOnly = true
    options.keepsStaleReaders = true
    return try ObjectStore.open(at: try global.storePath(for: "a statistic of pages"), options: options)
  }

  private func walk(_ store: ObjectStore) throws -> DeepStatistics {
    let cancellation = Cancellation()
    let bar = ProgressBar("stat", unit: "bytes", total: nil, global)
    defer { bar.finish() }
    return try Interruption.cancelling(cancellation.cancel) {
      try store.deepStatistics(
        progress: { bar.update(UInt64($0.completed), of: $0.total.map { UInt64($0) }) }, cancellation: cancellation)
    }
  }

  private func write(_ text: String) throws {
    if let file {
      return try Interruption.writeFile(file, isForAll: true) { try $0.write(contentsOf: Array(text.utf8)) }
    }
    let output = Output()
    try output.write(text)
    try output.flush()
  }
}
