import ArgumentParser
import KVClone

struct ReadersCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "readers", abstract: "Lists the readers that keep old pages from being used again, of all processes.",
    discussion: """
      A line has a reader's process, its name, how long the reader has been open, how many commits it is behind, and how much of \
      the file could be used again without it. The age is known where the store keeps a history, and is a least one. \
      A reader whose process is gone is dead; writers clear it sooner or later, and --clear-stale does at once. Slots of dead \
      processes that were idle are cleared and counted, too.
      """)

  @OptionGroup var global: GlobalOptions

  @Flag(name: .customLong("clear-stale"), help: "First clear the readers whose process is gone.")
  var clearsStale = false

  func run() throws {
    let (readers, clearedCount) = try ObjectStore.activeReaders(at: try global.storePath(), clearsStale: clearsStale)
    let output = Output()
    if global.json { return try output.json { write(readers, clearedCount, &$0) } }
    if clearsStale, !global.quiet { try output.line("cleared \(Text.count(clearedCount, "stale reader slot"))") }
    if readers.isEmpty {
      if !global.quiet { try output.line("no readers") }
      return try output.flush()
    }
    let rows = [["PID", "OWNER", "AGE", "LAG", "RETAINED"]] + readers.map(row)
    let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    for row in rows {
      var cells = zip(row, widths).map { Text.padded($0, $1) }
      cells[cells.count - 1] = row[cells.count - 1]
      try output.line(cells.joined(separator: "  "))
    }
    try output.flush()
  }

  private func row(_ reader: ActiveReader) -> [String] {
    let owner = reader.isStale ? "(dead)" : reader.owner.isEmpty ? "?" : Text.cut(reader.owner, 40)
    return [
      "\(reader.processID)", owner, reader.age.map { ">" + Self.text($0) } ?? "?", "\(reader.lag)",
      reader.retainedBytes.map(Text.bytes) ?? "?",
    ]
  }

  /// `4.20 s`, `2m 03s`, `5h 07m`, `3d 11h`.
  private static func text(_ age: Duration) -> String {
    let seconds = age.components.seconds
    func pair(_ first: Int64, _ unit: String, _ second: Int64, _ smaller: String) -> String {
      "\(first)\(unit) \(second < 10 ? "0" : "")\(second)\(smaller)"
    }
    return switch seconds {
    case ..<60: Text.seconds(age.inSeconds)
    case ..<3600: pair(seconds / 60, "m", seconds % 60, "s")
    case ..<86_400: pair(seconds / 3600, "h", seconds / 60 % 60, "m")
    default: pair(seconds / 86_400, "d", seconds / 3600 % 24, "h")
    }
  }

  private func write(_ readers: [ActiveReader], _ clearedCount: Int, _ json: inout JSONWriter) {
    json.beginObject()
    json.key("readers")
    json.beginArray()
    for reader in readers {
      json.beginObject()
      json.member("pid", Int(reader.processID))
      json.key("thread")
      if let thread = reader.thread { json.integer(UInt64(thread)) } else { json.null() }
      json.member("owner", reader.owner)
      json.member("self", reader.isThisProcess)
      json.member("kind", reader.kind.rawValue)
      json.key("age")
      if let age = reader.age { json.double(age.inSeconds) } else { json.null() }
      json.member("lag", reader.lag)
      json.key("retainedBytes")
      if let bytes = reader.retainedBytes { json.integer(bytes) } else { json.null() }
      json.member("stale", reader.isStale)
      json.endObject()
    }
    json.endArray()
    json.member("cleared", clearedCount)
    json.endObject()
  }
}
