import ArgumentParser
import KVClone

struct StatCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "stat", abstract: "Shows where the store's bytes are, what is free, who reads and who writes.",
    discussion: """
      Without --deep only what is counted anyway is looked at, so that it may be asked every few seconds. With --deep every page of \
      the file is looked at: sizes by entity, relationship, large values, index, history and previous states, how full the \
      pages are, and about what `compact` would save. Writers go on meanwhile.

      --format prometheus is the text format 0.0.4 of Prometheus, for a node exporter's textfile collector, say; --format svg is a \
      treemap of all bytes, and always deep.
      """,
    examples: [
      "kvclone -s notes.kvclone stat", "kvclone -s notes.kvclone stat --deep --format svg -o bytes.svg",
      "kvclone -s notes.kvclone stat --format prometheus -o notes.prom",
    ])

  @OptionGroup var global: GlobalOptions

  @Flag(help: "Look at every page.")
  var deep = false

  @Option(help: ArgumentHelp("How to show it.", valueName: "table|json|prometheus|svg"))
  var format: Format?

  @Option(
    name: [.customShort("o"), .customLong("output")],
    help: ArgumentHelp("Write to this file, which is replaced once all is written.", valueName: "file"),
    completion: .file())
  var file: String?

  enum Format: String, CaseIterable, ExpressibleByArgument { case table, json, prometheus, svg }

  func validate() throws {
    if let file, file.isEmpty { throw ValidationError("-o is given, and empty; give a path") }
    if global.json, let format, format != .json {
      throw ValidationError("--json and --format \(format.rawValue) are two formats; give one")
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
        case .json: Self.json { $0.statistics(statistics.summary, deep: statistics) }
        case .prometheus: StatMetrics.text(statistics.summary, deep: statistics)
        case .svg: StatSVG(statistics).text
        }
    } else {
      let statistics = try store.statistics()
      text =
        switch format {
        case .table: StatTable.text(statistics, Style(global, isFile: file != nil))
        case .json: Self.json { $0.statistics(statistics, deep: nil) }
        case .prometheus, .svg: StatMetrics.text(statistics, deep: nil)
        }
    }
    try write(text)
  }

  /// Readers whose process is gone are shown, and not cleared.
  private func open() throws -> ObjectStore {
    var options = StoreOptions()
    options.isReadOnly = true
    options.keepsStaleReaders = true
    return try ObjectStore.open(at: try global.storePath(), options: options)
  }

  private func walk(_ store: ObjectStore) throws -> DeepStatistics {
    let cancellation = Cancellation()
    let bar = ProgressBar("stat", unit: "bytes", total: nil, global)
    defer { bar.finish() }
    return try Interruption.cancelling(cancellation.cancel) {
      try store.deepStatistics(
        progress: { bar.update($0.completed, of: $0.total) }, cancellation: cancellation)
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

  private static func json(_ body: (inout JSONWriter) -> Void) -> String {
    var json = JSONWriter()
    body(&json)
    json.newLine()
    return json.text
  }
}
