import ArgumentParser
import Foundation
import KVClone

/// The command tree; the work is in one file per command.
struct KVCloneTool: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "kvclone",
    abstract: "Manages embedded object stores: query, clone, snapshot, back up.",
    discussion: """
      A store is a directory. Name it with --store or in the environment variable KVCLONE_STORE. Object ids have the \
      form Entity/serial, for example Note/12. Start with `kvclone demo`.

      Exit codes: 0 success, 1 failure, 3 finished but some items were unreadable, 4 check found corruption, 5 \
      differences found, 10 store not found, 11 store busy, 64 usage error, 130 interrupted.

      EXAMPLES:
        kvclone demo --at photos.kvclone
        kvclone -s photos.kvclone clone Project/1
        kvclone --generate-completion-script bash > kvclone.bash
      """,
    version: "kvclone \(PackageVersion.current)",
    subcommands: [
      DemoCommand.self, InitCommand.self, LoadCommand.self, DumpCommand.self, InfoCommand.self, StatCommand.self,
      ModelCommand.self,
      ListCommand.self, GetCommand.self, QueryCommand.self, InsertCommand.self, SetCommand.self, LinkCommand.self,
      UnlinkCommand.self, DeleteCommand.self, BlobCommand.self, CloneCommand.self, CheckCommand.self,
      SnapshotCommand.self, MigrateCommand.self, BackupCommand.self, RestoreCommand.self, CompactCommand.self,
      SalvageCommand.self, RepairCommand.self, ImportCommand.self, ExportCommand.self, HistoryCommand.self,
      WatchCommand.self, ReadersCommand.self, BenchCommand.self,
    ])
}

extension KVCloneTool {
  /// What is said where nothing was asked.
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

  /// Runs where no command is named.
  func run() throws {
    let output = Output()
    try output.line(Self.shortHelp)
    try output.flush()
  }
}

/// A command that has the options that all have.
protocol ToolCommand: ParsableCommand {
  var global: GlobalOptions { get }
}

@main
enum Main {
  static func main() {
    StandardInput.prepare()
    let arguments = CommandLineOrder.globalsAfterCommand(Array(CommandLine.arguments.dropFirst()))
    // Before there is a second thread, which the handling of signals starts.
    ObjectStore.prepareProcess()
    let isJSON = arguments.prefix { $0 != "--" }.contains("--json")
    do {
      try StandardInput.requireDescriptors()
    } catch {
      Failure(error).exit(isJSON: isJSON)
    }
    Interruption.install(isJSON: isJSON)
    do {
      var command = try parse(arguments)
      do {
        try command.run()
        try StandardOutput.finish()
      } catch let error where KVCloneTool.exitCode(for: error) == .success || error is ExitCode {
        end(error, isJSON: isJSON)
      } catch {
        Failure(error).exit(isJSON: isJSON)
      }
    } catch {
      if KVCloneTool.exitCode(for: error) == .success { end(error, isJSON: isJSON) }
      Failure(usage: error).exit(isJSON: isJSON)
    }
  }

  private static func parse(_ arguments: [String]) throws -> any ParsableCommand {
    do {
      return try KVCloneTool.parseAsRoot(arguments)
    } catch {
      guard KVCloneTool.exitCode(for: error) != .success, let other = DashValues.rewritten(arguments) else {
        throw error
      }
      return try KVCloneTool.parseAsRoot(other)
    }
  }

  /// Ends a command that has an exit code and no failure: writes help, the version or a completion script.
  private static func end(_ error: any Error, isJSON: Bool) -> Never {
    let code = KVCloneTool.exitCode(for: error)
    do {
      let text = KVCloneTool.fullMessage(for: error)
      if code == .success, !text.isEmpty { try StandardOutput.write(Array("\(text)\n".utf8)) }
      try StandardOutput.finish()
    } catch {
      Failure(error).exit(isJSON: isJSON)
    }
    Foundation.exit(code.rawValue)
  }
}
