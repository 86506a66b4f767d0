import ArgumentParser
import KVClone

struct BranchResetCommand: WritingCommand, WholeStoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "reset", abstract: "Resets a branch, or some of its objects, to its base or a snapshot of its own.",
    discussion: """
      Restores updated and deleted objects with their ids, and deletes objects inserted since. Like `snapshot \
      rollback`, first creates an automatic snapshot of the branch, and --dry-run runs it in a transaction that is \
      rolled back.
      """,
    examples: [
      "kvclone -s notes.kvclone branch reset spring --dry-run", "kvclone -s notes.kvclone branch reset spring",
      "kvclone -s notes.kvclone branch reset spring --to monday --object Note/1",
    ])

  @OptionGroup var global: GlobalOptions

  @Argument(help: ArgumentHelp("The branch.", valueName: "name"), completion: StoreCompletion.branches)
  var name: String

  @Option(
    help: ArgumentHelp("Restore the state of this snapshot of the branch (default: its base).", valueName: "snapshot"))
  var to: String?

  @Option(
    help: ArgumentHelp(
      "Restore only this object and what a clone of it would copy (repeatable).", valueName: "id"),
    completion: StoreCompletion.objects)
  var object: [String] = []

  @Flag(name: [.customShort("n"), .customLong("dry-run")], help: "Print what the reset would change; write nothing.")
  var isDryRun = false

  func run(_ store: ObjectStore) throws {
    let branch = try store.branches.open(name)
    let snapshot = try to.map { try branch.snapshot(named: $0) }
    var ids: [ObjectID]?
    if !object.isEmpty, let target = try snapshot ?? BranchComparison(branch)?.base() {
      let names = object
      ids = try target.read { transaction in try transaction.objectIDs(named: names) }
    }
    if isDryRun {
      try global.report(try store.branches.planReset(name, to: snapshot, objects: ids))
    } else {
      try global.report(try store.branches.reset(name, to: snapshot, objects: ids))
    }
  }
}
