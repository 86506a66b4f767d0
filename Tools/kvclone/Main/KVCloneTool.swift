import ArgumentParser
import Foundation
import KVClone

/// The command tree; each command is in its own file.
struct KVCloneTool: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "kvclone",
    abstract: "Manages embedded object stores: query, clone, snapshot, back up.",
    discussion: """
      A store is a directory, or has a name in a PostgreSQL cluster: postgresql://USER@HOST/DATABASE/NAME. Name it with \
      --store or in the environment variable KVCLONE_STORE. Object ids have the form Entity/serial, for example \
      Note/12. Start with `kvclone demo`.

      Exit codes: 0 success, 1 failure, 3 finished but some items were unreadable, 4 check found corruption, 5 \
      differences found, 6 merge conflicts, 10 store not found, 11 store busy, 64 usage error, 130 interrupted.

      EXAMPLES:
        kvclone demo --at photos.kvclone
        kvclone -s photos.kvclone clone Project/1
        kvclone --generate-completion-script bash > kvclone.bash
      """,
    version: "kvclone \(PackageVersion.current)",
    subcommands: [
      DemoCommand.self, InitCommand.self, LoadCommand.self, DumpCommand.self, InfoCommand.self, StatCommand.self,
      ModelCommand.self, ListCommand.self, GetCommand.self, QueryCommand.self, InsertCommand.self, SetCommand.self,
      LinkCommand.self, UnlinkCommand.self, DeleteCommand.self, BlobCommand.self, CloneCommand.self,
      CheckCommand.self, SnapshotCommand.self, BranchCommand.self, MergeCommand.self, MigrateCommand.self,
      BackupCommand.self, RestoreCommand.self, CompactCommand.self, SalvageCommand.self, RepairCommand.self,
      CopyCommand.self, ImportCommand.self, ExportCommand.self, HistoryCommand.self, WatchCommand.self,
      ReadersCommand.self, ClusterCommand.self, BenchCommand.self, ExploreCommand.self,
    ])
}

extension KVCloneTool {
  /// The output without arguments.
  static let shortHelp = """
    kvclone manages embedded object stores: query, clone, snapshot, back up.

      kvclone demo                              create a store with sample data
      kvclone -s STORE init --model MODEL       create a store for a Core Data model
      kvclone -s STORE load FILE                insert objects from NDJSON
      kvclone -s STORE query ENTITY PREDICATE   find objects
      kvclone -s STORE clone ID                 clone an object deeply
      kvclone -s STORE check                    check for corruption

    All commands: kvclone --help    A command: kvclone COMMAND --help
    """

  /// Runs without a command.
  func run() throws {
    let output = Output()
    try output.line(Self.shortHelp)
    try output.flush()
  }
}
