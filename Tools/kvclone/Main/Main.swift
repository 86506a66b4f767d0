import ArgumentParser
import Foundation
import KVClone

@main
enum Main {
  static func main() {
    StandardInput.prepare()
    let arguments = CommandLineOrder.globalsAfterCommand(Array(CommandLine.arguments.dropFirst()))
    // Before signal handling starts a second thread.
    StoreOpening.prepareProcess()
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
        if let command = command as? any WholeStoreCommand { try command.requireNoBranch() }
        try command.run()
        try StandardOutput.finish()
      } catch let error where KVCloneTool.exitCode(for: error) == .success || error is ExitCode {
        end(error, isJSON: isJSON)
      } catch {
        Failure(error).exit(isJSON: isJSON)
      }
    } catch {
      if KVCloneTool.exitCode(for: error) == .success { end(error, isJSON: isJSON) }
      Failure(parsing: error).exit(isJSON: isJSON)
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

  /// Ends a command without a failure: prints help, the version or a completion script.
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
