/// Files with public text that was not rewritten yet, and how many findings of ``ProseRules`` each has at most.
///
/// A rewritten file leaves the list. No file is added to it.
enum ProseBacklog {
  static let counts: [String: Int] = [:]
}
