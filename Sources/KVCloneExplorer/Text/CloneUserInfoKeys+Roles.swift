package import KVClone

extension CloneUserInfoKeys {
  /// The roles of the keys, by the names that the tool and the explorer use.
  package static let roles: [(name: String, key: any WritableKeyPath<CloneUserInfoKeys, String> & Sendable)] = [
    ("exclude", \.exclude), ("clone", \.clone), ("rebuild", \.rebuild), ("followParent", \.followParent),
    ("withoutParent", \.withoutParent),
  ]

  /// Renames the key of one role; returns false if there is no such role.
  package mutating func rename(role: String, to key: String) -> Bool {
    guard let path = Self.roles.first(where: { $0.name == role })?.key else { return false }
    self[keyPath: path] = key
    return true
  }
}
