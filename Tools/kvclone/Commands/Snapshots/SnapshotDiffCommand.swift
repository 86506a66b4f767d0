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
    let count = try DifferenceWriter(isJSON: global.json).write { body in
      try store.diff(from: first, to: second, body)
    } reading: { body in
      try first.read { old in
        if let second { try second.read { try body(old, $0) } } else { try store.read { try body(old, $0) } }
      }
    }
    if tellsByCode, count > 0 { throw ExitCode(Failure.Code.different) }
  }
}
