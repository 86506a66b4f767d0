import ArgumentParser
import KVClone

struct BranchDiffCommand: ReadingCommand, WholeStoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "diff", abstract: "Shows the differences between a branch and its base, or the store.",
    discussion: """
      Prints one line per object: + inserted, - deleted, M updated, with the properties that differ, from the base or \
      the store to the branch. With --json, also prints old and new values, and the added and removed members of \
      relationships.
      """,
    examples: [
      "kvclone -s notes.kvclone branch diff spring", "kvclone -s notes.kvclone branch diff spring --store --exit-code",
    ])

  @OptionGroup var global: GlobalOptions

  @Argument(help: ArgumentHelp("The branch.", valueName: "name"), completion: StoreCompletion.branches)
  var name: String

  @Flag(name: .customLong("exit-code"), help: "Exit with code 5 if there are differences.")
  var tellsByCode = false

  @Flag(
    name: .customLong("against-store"),
    help: """
      Compare with the current state of the store (default: the base of the branch). --store at the end or in front of \
      another option has the same effect; in front of the name, it is the path of a store.
      """)
  var isWithStore = false

  func run(_ store: ObjectStore) throws {
    let branch = try store.branches.open(name)
    guard let comparison = BranchComparison(branch) else { return }
    let count = try DifferenceWriter(isJSON: global.json).write { body in
      try comparison.forEach(from: isWithStore ? .store : .base, body)
    } reading: { body in
      if isWithStore {
        try store.read { old in try branch.read { try body(old, $0) } }
      } else {
        try comparison.base().read { old in try branch.read { try body(old, $0) } }
      }
    }
    if tellsByCode, count > 0 { throw ExitCode(Failure.Code.different) }
  }
}
