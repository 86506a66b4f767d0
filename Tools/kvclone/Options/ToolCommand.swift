import ArgumentParser

/// A command that has the options that all have.
protocol ToolCommand: ParsableCommand {
  var global: GlobalOptions { get }
}
