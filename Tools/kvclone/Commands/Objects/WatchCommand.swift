import ArgumentParser
import Dispatch
import KVClone
import Synchronization

struct WatchCommand: ReadingCommand {
  static let configuration = CommandConfiguration(
    commandName: "watch", abstract: "Prints each transaction that any process commits, until interrupted.",
    discussion:
      "Prints lines as `history` does, or with --json one document per transaction. Requires `history --on`.",
    examples: ["kvclone -s notes.kvclone watch", "kvclone -s notes.kvclone watch --objects --json"]
  )

  @OptionGroup var global: GlobalOptions

  @Option(
    help: ArgumentHelp("Start after this token (default: the latest transaction).", valueName: "token"),
    transform: HistoryToken.parse)
  var after: HistoryToken?

  @Flag(help: "Also list the changed objects.")
  var objects = false

  @Option(help: "Exit after this number of transactions (default: never).")
  var limit: Int?

  func validate() throws {
    if (limit ?? 1) < 1 { throw ValidationError("--limit needs a number from 1") }
  }

  func run(_ store: ObjectStore) throws {
    // Now, because the first transaction may be days away.
    try StandardOutput.requireOpen()
    let changes = after.map { store.changes(after: $0) } ?? store.changes
    // Before waiting: after this message, no transaction is missed.
    if after == nil { global.note("watching after \(try store.currentToken())") }
    let ended = DispatchSemaphore(value: 0)
    let failure = Mutex<(any Error)?>(nil)
    Task {
      do { try await watch(changes, store) } catch { failure.withLock { $0 = error } }
      ended.signal()
    }
    ended.wait()
    if let error = failure.withLock({ $0 }) { throw error }
  }

  private func watch(_ changes: StoreChanges, _ store: ObjectStore) async throws {
    let isJSON = global.json
    let withObjects = objects
    var count = 0
    for try await transaction in changes {
      let text = try await store.read { reader in
        var writer = TransactionWriter(isJSON: isJSON, withObjects: withObjects)
        return try writer.text(of: transaction, reader)
      }
      let output = Output()
      try output.write(text.span.bytes)
      try output.flush()
      count += 1
      if count == limit { return }
    }
  }
}
