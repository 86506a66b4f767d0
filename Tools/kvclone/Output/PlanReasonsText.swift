import KVClone
import KVCloneExplorer

extension Output {
  /// Writes the reasons why a planned operation would fail: the first ones in full, then the number of further ones.
  func reasons(_ errors: [some KVCloneError], count: Int) throws {
    if count == 0 { return }
    try line("would fail:")
    for error in errors { try line("  \(error.kindName): \(error.message)") }
    if count > errors.count { try line("  and \(count - errors.count) more") }
  }
}
