extension Failure {
  /// Creates a failure from a usage error of the parser.
  init(parsing error: any Error) {
    if let failure = error as? Failure {
      self = failure
    } else {
      let text = KVCloneTool.message(for: error)
      var hint = ""
      if text.hasPrefix("Unknown option") {
        // The parser may end with a question: "Did you mean …?"
        hint = text.hasSuffix("?") ? " A" : "; a"
        hint += " value that begins with - follows --, or is written --name=value"
      }
      self.init(usage: "\(text)\(hint) (see `kvclone --help`)")
    }
  }
}
