/// Today's violations of ``DependencyRules``.
///
/// The numbers only fall. A line is added only for a folder or type that got another name.
enum DependencyBacklog {
  /// Edges that have to go, each with the number of its uses.
  static let edges: [String: Int] = [:]

  /// Modules, folders and types above their limits. Lines are rounded up to hundreds.
  static let sizes: [String: Int] = [:]
}
