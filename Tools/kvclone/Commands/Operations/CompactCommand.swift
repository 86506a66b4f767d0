import ArgumentParser
import KVClone
import KVCloneOperations

struct CompactCommand: ReadingCommand, WholeStoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "compact", abstract: "Creates a compact copy of the store, without free pages and deleted data.",
    discussion: """
      The copy is verified; the store is not changed. To replace the store with the copy, close the store in all \
      processes, then rename both directories.

      After a migration, the copy has all records in the layout of the current model, including those not written \
      since. Records that a snapshot of an earlier model version still shows keep their layout; delete that snapshot \
      first if you no longer need it.
      """,
    examples: ["kvclone -s notes.kvclone compact -o compacted"])

  @OptionGroup var global: GlobalOptions

  @Option(
    name: [.customShort("o"), .long], help: ArgumentHelp("The directory to create.", valueName: "dest"),
    completion: .directory)
  var output: String

  func validate() throws {
    if output.isEmpty { throw ValidationError("--output is an empty string; give a path") }
  }

  func prepare() throws {
    try StoreAddress.requireDirectory(output, for: "a compaction")
    _ = try global.storePath(for: "a compaction")
  }

  func run(_ store: ObjectStore) throws {
    let bar = ProgressBar("compact", unit: "bytes", total: nil, global)
    let before = try store.info().fileBytes
    let result = try Interruption.cancelling(bar) { progress, cancellation in
      try store.backup(
        to: output, options: BackupOptions(finishesMigration: true), progress: progress, cancellation: cancellation)
    }
    try BackupReport(compacted: output, from: before, result).write(global)
  }
}
