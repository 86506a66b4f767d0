import ArgumentParser

extension CommandConfiguration {
  /// Creates a configuration with examples at the end of its help.
  ///
  /// - Parameter examples: whole command lines.
  init(
    commandName: String, abstract: String, discussion: String = "", examples: [String],
    subcommands: [any ParsableCommand.Type] = []
  ) {
    let list = "EXAMPLES:\n" + examples.map { "  \($0)" }.joined(separator: "\n")
    self.init(
      commandName: commandName, abstract: abstract,
      discussion: discussion.isEmpty ? list : "\(discussion)\n\n\(list)", subcommands: subcommands)
  }
}
