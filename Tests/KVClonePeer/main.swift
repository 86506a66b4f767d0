import Foundation

/// A second process for tests: `KVClonePeer COMMAND ARGUMENT…`. Prints a line for each step, waits for a line on
/// standard input where the command requires it, and exits with 0, or with 1 and the error on standard error.
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
