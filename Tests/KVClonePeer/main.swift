import Foundation

/// A second process for tests: `KVClonePeer COMMAND ARGUMENT…`. It prints what it did a line each, waits for a line on
/// standard input where a command says so, and exits 0, or 1 with the error on standard error.
let arguments = Array(CommandLine.arguments.dropFirst())
let commands = lmdbCommands.merging(storeCommands) { first, _ in first }
guard let name = arguments.first, let command = commands[name] else {
  FileHandle.standardError.write(Data("unknown command\n".utf8))
  exit(64)
}
do {
  try command(Array(arguments.dropFirst()))
} catch {
  FileHandle.standardError.write(Data("\(error)\n".utf8))
  exit(1)
}
