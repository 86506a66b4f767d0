import ArgumentParser
import KVClone

struct RestoreCommand: WholeStoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "restore", abstract: "Restores a store from a backup, and verifies it.",
    discussion: """
      Checks the backup, copies it, and verifies the copy. The path given with --to must not exist. The backup is not \
      changed.

      List incremental backups (`backup --since`) after the full backup, in the order in which they were made. The new \
      store is checked as a whole before it appears under its name.
      """,
    examples: ["kvclone restore full-mon --to restored", "kvclone restore full-mon tue.inc wed.inc --to restored"])

  @OptionGroup var global: GlobalOptions

  @Argument(
    help: ArgumentHelp("The full backup, then its incremental backups, oldest first.", valueName: "src"),
    completion: .directory)
  var sources: [String]

  @Option(
    name: .customLong("to"), help: ArgumentHelp("The store to create.", valueName: "store"), completion: .directory)
  var target: String

  func validate() throws {
    if sources.contains("") || target.isEmpty { throw ValidationError("a path is an empty string; give a path") }
    if global.store != nil { throw ValidationError("restore takes the new store from --to; remove --store") }
  }

  func run() throws {
    for path in sources + [target] { try StoreAddress.requireDirectory(path, for: "a restore") }
    let bar = ProgressBar("restore", unit: "bytes", total: nil, global)
    let result = try Interruption.cancelling(bar) { progress, cancellation in
      try ObjectStore.restore(from: sources, to: target, progress: progress, cancellation: cancellation)
    }
    try BackupReport("restored to", target, result).write(global)
  }
}
