import ArgumentParser
import KVClone

struct ReadersCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "readers",
    abstract: "Lists the readers that keep old pages from being used again, of all processes, and who writes.",
    discussion: """
      A line has a reader's process, its name, how long the reader has been open, how many commits it is behind, and how much of \
      the file could be used again without it. The age is known where the store keeps a history, and is a least one. \
      A reader whose process is gone is dead; writers clear it sooner or later, and --clear-stale does at once. Slots of dead \
      processes that were idle are cleared and counted, too. Where somebody holds the write lock, the last line has who, what for, and since when.
      """,
    examples: ["kvclone -s notes.kvclone readers", "kvclone -s notes.kvclone readers --clear-stale"])

  @OptionGroup var global: GlobalOptions

  @Flag(name: .customLong("clear-stale"), help: "First clear the readers whose process is gone.")
  var clearsStale = false

  func run() throws {
    let found = try ObjectStore.activeReaders(at: try global.storePath(), clearsStale: clearsStale)
    let readers = found.readers
    let output = Output()
    if global.json { return try output.json { write(found, &$0) } }
    if clearsStale, !global.quiet { try output.line("cleared \(Text.count(found.clearedCount, "stale reader slot"))") }
    if readers.isEmpty {
      if !global.quiet { try output.line("no readers") }
      try writeHolder(found.writer, output)
      return try output.flush()
    }
    let rows = [["PID", "OWNER", "AGE", "LAG", "RETAINED"]] + readers.map(row)
    let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    for row in rows {
      var cells = zip(row, widths).map { Text.padded($0, $1) }
      cells[cells.count - 1] = row[cells.count - 1]
      try output.line(cells.joined(separator: "  "))
    }
    try writeHolder(found.writer, output)
    try output.flush()
  }

  private func writeHolder(_ writer: WriteLockHolder?, _ output: Output) throws {
    if let writer { try output.line("the write lock: \(writer.summary)") }
  }

  private func row(_ reader: ActiveReader) -> [String] {
    let owner = reader.isStale ? "(dead)" : reader.owner.isEmpty ? "?" : Text.cut(reader.owner, 40)
    return [
      "\(reader.processID)", owner, reader.age.map { ">" + Text.age($0) } ?? "?", "\(reader.lag)",
      reader.retainedBytes.map(Text.bytes) ?? "?",
    ]
  }

  private func write(_ found: ReaderListing, _ json: inout JSONWriter) {
    json.beginObject()
    json.key("readers")
    json.beginArray()
    for reader in found.readers { json.reader(reader) }
    json.endArray()
    json.member("cleared", found.clearedCount)
    json.writer(found.writer)
    json.endObject()
  }
}
