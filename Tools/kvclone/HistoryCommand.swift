import ArgumentParser
import Foundation
import KVClone

struct HistoryCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "history", abstract: "Lists the transactions that the store remembers, or purges them.",
    discussion: """
      A store remembers what each commit changed once --on was given, until --off. A line has the transaction's token, when it \
      committed, what was inserted, updated and deleted, what was done, and by whom.
      """,
    examples: [
      "kvclone -s notes.kvclone history --on", "kvclone -s notes.kvclone history --limit 10 --objects",
      "kvclone -s notes.kvclone history --purge-before 2027-01-31T00:00:00Z",
    ])

  @OptionGroup var global: GlobalOptions

  @Option(
    help: ArgumentHelp("Only what comes after this token.", valueName: "token"), transform: HistoryToken.parse)
  var after: HistoryToken?

  @Option(help: "At most so many transactions.")
  var limit: Int?

  @Flag(help: "List the objects too, a line each: +, M with the properties, or -.")
  var objects = false

  @Option(
    name: .customLong("purge-before"),
    help: ArgumentHelp(
      "Forget what was committed before a date (RFC 3339, or a day alone, which begins in UTC), or up to a token.",
      valueName: "date|token"), transform: Limit.parse)
  var purge: Limit?

  @Flag(name: .customLong("on"), help: "Remember from now on.")
  var turnsOn = false

  @Flag(name: .customLong("off"), help: "Forget everything, and remember nothing more.")
  var turnsOff = false

  /// Up to where history is purged.
  enum Limit {
    case date(Date)
    case token(HistoryToken)

    static func parse(_ text: String) throws -> Limit {
      if let token = HistoryToken(text) { return .token(token) }
      guard let date = MomentOption.date(text) else {
        throw ValidationError(
          "\(text) is no date like 2027-01-31 or 2027-01-31T00:00:00Z, and no token, which is STORE-UUID:commit")
      }
      return .date(date)
    }
  }

  func validate() throws {
    if (limit ?? 0) < 0 { throw ValidationError("--limit needs a number from 0") }
    if [turnsOn, turnsOff, purge != nil].count(where: { $0 }) > 1 {
      throw ValidationError("--on, --off and --purge-before are three commands; give one")
    }
    if turnsOn || turnsOff || purge != nil, after != nil || limit != nil || objects {
      throw ValidationError("--after, --limit and --objects are for lists; --on, --off and --purge-before make none")
    }
  }

  func run() throws {
    let isChange = turnsOn || turnsOff || purge != nil
    let store = try global.openStore(isReadOnly: !isChange)
    defer { store.close() }
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
    let output = Output()
    if global.json {
      try output.json { json in
        json.beginObject()
        json.member("purged", count)
        json.endObject()
      }
    } else if !global.quiet {
      try output.line("purged \(Text.count(count, "transaction"))")
      try output.flush()
    }
  }

  private func reportState(_ store: ObjectStore) throws {
    let token = try store.currentToken()
    let output = Output()
    if global.json {
      try output.json { json in
        json.beginObject()
        json.member("tracksHistory", turnsOn)
        json.member("token", token.description)
        json.endObject()
      }
    } else if !global.quiet {
      try output.line(turnsOn ? "the history is on, after \(token)" : "the history is off")
      try output.flush()
    }
  }
}

extension HistoryToken {
  /// Reads a token of the command line.
  static func parse(_ text: String) throws -> HistoryToken {
    guard let token = HistoryToken(text) else {
      throw ValidationError("a token is STORE-UUID:commit, as `history` writes it")
    }
    return token
  }
}
