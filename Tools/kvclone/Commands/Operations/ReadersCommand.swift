import ArgumentParser
import KVClone
import KVCloneExplorer
import KVCloneOperations

struct ReadersCommand: WholeStoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "readers",
    abstract: "Lists open read transactions in all processes, and the current writer.",
    discussion: """
      An open read transaction prevents the reuse of the pages that it can see. Each line shows its process id, owner \
      and age, how many commits it lags behind, and how many bytes could be reused without it. The age is a lower \
      bound, and known only if the store records history.

      A reader slot is stale if its process has ended. Writers clear stale readers eventually; --clear-stale clears \
      them now, along with idle slots of ended processes. If the write lock is held, the last line shows the holder, \
      its operation and the start time.
      """,
    examples: ["kvclone -s notes.kvclone readers", "kvclone -s notes.kvclone readers --clear-stale"])

  @OptionGroup var global: GlobalOptions

  @Flag(name: .customLong("clear-stale"), help: "Clear stale reader slots first.")
  var clearsStale = false

  func run() throws {
    let path = try global.storePath(
      for: "the list of readers", remedy: "list the connections of the server in its view pg_stat_activity")
    let found = try ReaderListing(at: path, clearsStale: clearsStale)
    let readers = found.readers
    let output = Output()
    if global.json { return try output.json { write(found, &$0) } }
    if clearsStale, !global.quiet { try output.line("cleared \(Text.count(found.clearedCount, "stale reader slot"))") }
    if readers.isEmpty {
      if !global.quiet { try output.line("no readers") }
      try writeHolder(found.writer, output)
      return try output.flush()
    }
    for line in Text.table(["PID", "OWNER", "AGE", "LAG", "RETAINED"], readers.map(row)) { try output.line(line) }
    try writeHolder(found.writer, output)
    try output.flush()
  }

  private func writeHolder(_ writer: WriteLockHolder?, _ output: Output) throws {
    if let writer { try output.line("write lock: \(writer.summary)") }
  }

  private func row(_ reader: ActiveReader) -> [String] {
    let owner = reader.isStale ? "(stale)" : reader.owner.isEmpty ? "?" : Text.cut(reader.owner, 40)
    return [
      "\(reader.processID)", owner, reader.age.map { ">" + Text.age($0) } ?? "?", "\(reader.lag)",
      reader.retainedBytes.map(Text.bytes) ?? "?",
    ]
  }

  private func write(_ found: ReaderListing, _ json: inout JSONWriter) {
    json.list("readers", found.readers) { $0.reader($1) }
    json.member("cleared", found.clearedCount)
    json.writer(found.writer)
  }
}
