import ArgumentParser
import KVClone
import KVCloneExplorer

extension CloneUserInfoKeys {
  /// Renames the keys that values of `--rule-key` name.
  ///
  /// - Parameters:
  ///   - options: the values, each ROLE=KEY.
  ///   - includesMerge: whether the command uses the role `merge`.
  mutating func rename(_ options: [String], includesMerge: Bool) throws {
    let roles = (includesMerge ? ["merge"] : []) + Self.roles.map(\.name)
    for option in options {
      let parts = option.split(separator: "=", maxSplits: 1).map(String.init)
      guard parts.count == 2, roles.contains(parts[0]) else {
        let names = roles.dropLast().joined(separator: ", ")
        throw ValidationError("--rule-key needs ROLE=KEY; ROLE is \(names) or \(roles[roles.count - 1])")
      }
      if !rename(role: parts[0], to: parts[1]) { merge = parts[1] }
    }
  }
}
