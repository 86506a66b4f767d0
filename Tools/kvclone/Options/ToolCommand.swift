import ArgumentParser

/// A command with the global options.
protocol ToolCommand: ParsableCommand {
  var global: GlobalOptions { get }
}
