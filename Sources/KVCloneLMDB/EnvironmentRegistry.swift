import Synchronization

/// The files that this process has open, by identity.
///
/// POSIX record locks belong to a process and drop when it closes any descriptor of the file. A second environment of
/// the same file, or a check that opens and closes it, would remove the live readers' locks, and pages they read would be
/// reused. So the registry is asked, by `lstat`, before a file of a store is opened for whatever reason.
enum EnvironmentRegistry {
  private static let files = Mutex<Set<FileSystem.Identity>>([])

  /// Registers the file; false if it is registered already.
  static func claim(_ file: FileSystem.Identity) -> Bool {
    files.withLock { $0.insert(file).inserted }
  }

  static func release(_ file: FileSystem.Identity) {
    _ = files.withLock { $0.remove(file) }
  }
}
