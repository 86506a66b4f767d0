import ArgumentParser
import KVClone
import KVCloneExplorer

struct SnapshotDiffCommand: ReadingCommand {
  static let configuration = CommandConfiguration(
    commandName: "diff", abstract: "Shows the differences between a snapshot and the store, or between two snapshots.",
    discussion: """
      Prints one line per object: + inserted, - deleted, M updated, with the properties that differ. With --json, also \
      prints old and new values, and the added and removed members of relationships.
      """,
    examples: [
      "kvclone -s notes.kvclone snapshot diff monday",
      "kvclone -s notes.kvclone snapshot diff monday tuesday --exit-code",
    ])

  @OptionGroup var global: GlobalOptions

  @Argument(help: ArgumentHelp("The earlier snapshot.", valueName: "from"), completion: StoreCompletion.snapshots)
  var from: String

  @Argument(
    help: ArgumentHelp("The later snapshot (default: the current state).", valueName: "to"),
    completion: StoreCompletion.snapshots)
  var to: String?

  @Flag(name: .customLong("exit-code"), help: "Exit with code 5 if there are differences.")
  var tellsByCode = false

  func run(_ store: ObjectStore) throws {
    let first = try store.snapshot(named: from)
    let second = try to.map { try store.snapshot(named: $0) }
    let output = Output()
    var count = 0
    if global.json {
      // Written incrementally: a document may be as long as the store.
      try output.write("{\"differences\":[")
      func write(_ old: borrowing ReadTransaction, _ new: borrowing ReadTransaction) throws {
        try store.diff(from: first, to: second) { difference in
          let json = try JSONWriter.object { try $0.difference(difference, old, new) }
          try output.write((count == 0 ? "" : ",") + json)
          count += 1
          return true
        }
      }
      try first.read { old in
        if let second { try second.read { try write(old, $0) } } else { try store.read { try write(old, $0) } }
      }
      try output.write("]}\n")
    } else {
      try store.diff(from: first, to: second) { difference in
        count += 1
        let names = difference.propertyNames
        try output.line(
          "\(difference.kind.sign) \(difference.name)" + (names.isEmpty ? "" : " " + names.joined(separator: " ")))
        return true
      }
    }
    try output.flush()
    if tellsByCode, count > 0 { throw ExitCode(Failure.Code.different) }
  }
}
