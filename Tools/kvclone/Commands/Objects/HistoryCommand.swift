import ArgumentParser
import Foundation
import KVClone
import KVCloneExplorer

struct HistoryCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "history", abstract: "Lists the transactions in the history of the store, or purges them.",
    discussion: """
      After --on, the store records the changes of each commit, until --off. Each line shows the token of a \
      transaction, its commit time, the counts of inserted, updated and deleted objects, the operation, and the \
      author.
      """,
    examples: [
      "kvclone -s notes.kvclone history --on", "kvclone -s notes.kvclone history --limit 10 --objects",
      "kvclone -s notes.kvclone history --purge-before 2027-01-31T00:00:00Z",
    ])

  @OptionGroup var global: GlobalOptions

  @Option(
    help: ArgumentHelp("List only transactions after this token.", valueName: "token"), transform: HistoryToken.parse)
  var after: HistoryToken?

  @Option(help: "Maximum number of transactions (default: all).")
  var limit: Int?

  @Flag(help: "Also list the changed objects, one per line: + inserted, M updated (with properties), - deleted.")
  var objects = false

  @Option(
    name: .customLong("purge-before"),
    help: ArgumentHelp(
      "Delete the history before this date (RFC 3339, or a day in UTC), or up to and including this token.",
      valueName: "date|token"), transform: Limit.parse)
  var purge: Limit?

  @Flag(name: .customLong("on"), help: "Start recording history.")
  var turnsOn = false

  @Flag(name: .customLong("off"), help: "Stop recording, and delete the history.")
  var turnsOff = false

  /// The end of a purge.
  enum Limit {
    case date(Date)
    case token(HistoryToken)

    static func parse(_ text: String) throws -> Limit {
      if let token = HistoryToken(text) { return .token(token) }
      guard let date = MomentOption.date(text) else {
        throw ValidationError(
          "\(text) is neither a date like 2027-01-31 or 2027-01-31T00:00:00Z, nor a token of the form STORE-UUID:commit"
        )
      }
      return .date(date)
    }
  }

  func validate() throws {
    if (limit ?? 0) < 0 { throw ValidationError("--limit needs a number from 0") }
    if [turnsOn, turnsOff, purge != nil].count(where: { $0 }) > 1 {
      throw ValidationError("--on, --off and --purge-before exclude each other; give one")
    }
    if turnsOn || turnsOff || purge != nil, after != nil || limit != nil || objects {
      throw ValidationError(
        "--after, --limit and --objects apply to the list; remove them, or --on, --off and --purge-before")
    }
  }

  func run() throws {
    let isChange = turnsOn || turnsOff || purge != nil
    let store = try global.openStore(isReadOnly: !isChange)
    defer { GlobalOptions.close(store) }
    if let purge { return try report(purge, store) }
    if isChange {
      try store.setTracksHistory(turnsOn)
      return try reportState(store)
    }
    try list(store)
  }

  private func list(_ store: ObjectStore) throws {
    var writer = TransactionWriter(isJSON: global.json, withObjects: objects)
    var left = limit ?? .max
    try store.read { reader in
      try writer.beginList()
      if left > 0 {
        try reader.forEachTransaction(after: after) { transaction in
          try writer.write(transaction, reader)
          left -= 1
          return left > 0
        }
      }
      try writer.endList(try reader.currentToken())
    }
  }

  private func report(_ purge: Limit, _ store: ObjectStore) throws {
    let count =
      switch purge {
      case .date(let date): try store.purgeHistory(before: date)
      case .token(let token): try store.purgeHistory(before: token)
      }
    try global.report { json in
      json.member("purged", count)
    } text: { output in
      try output.line("purged \(Text.count(count, "transaction"))")
    }
  }

  private func reportState(_ store: ObjectStore) throws {
    let token = try store.currentToken()
    try global.report { json in
      json.member("tracksHistory", turnsOn)
      json.member("token", token.description)
    } text: { output in
      try output.line(turnsOn ? "history is on, after \(token)" : "history is off")
    }
  }
}

extension HistoryToken {
  /// Parses a token of the command line.
  static func parse(_ text: String) throws -> HistoryToken {
    guard let token = HistoryToken(text) else {
      throw ValidationError("a token has the form STORE-UUID:commit; copy it from the output of `history`")
    }
    return token
  }
}
