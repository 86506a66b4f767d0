import Glibc
import Synchronization

/// The files that this process has open, by identity.
///
/// POSIX record locks belong to a process and drop when it closes any descriptor of the file. A second environment of
/// the same file, or a check that opens and closes it, would remove the live readers' locks, and pages they read would
/// be reused. Every opening of a store's file is therefore preceded by an `lstat` and a lookup in the registry.
///
/// A forked child has nothing open: it cannot use its parent's environments, and holds none of the locks.
enum EnvironmentRegistry {
  private struct Files {
    var pid = getpid()
    /// By `data.mdb`: the other existing files of the store.
    var identities: [FileSystem.Identity: Set<FileSystem.Identity>] = [:]
  }

  private static let files = Mutex(Files())

  /// Registers the file; returns false if it is registered already.
  static func claim(_ file: FileSystem.Identity) -> Bool {
    files.withLock { files in
      if files.pid != getpid() { files = Files() }
      if files.identities[file] != nil { return false }
      files.identities[file] = []
      return true
    }
  }

  /// Adds the other files of a registered `data.mdb`; does nothing if that is not registered.
  static func attach(_ others: [FileSystem.Identity], to data: FileSystem.Identity) {
    files.withLock { files in
      if files.pid == getpid() { files.identities[data]?.formUnion(others) }
    }
  }

  static func release(_ file: FileSystem.Identity) {
    files.withLock { files in
      if files.pid == getpid() { files.identities[file] = nil }
    }
  }

  /// Whether the file belongs to a store that this process has open: its `data.mdb`, `lock.mdb`, `writer.lock` or
  /// `stagers.lock`, under any name.
  static func ownsFile(_ file: FileSystem.Identity) -> Bool {
    files.withLock { files in
      files.pid == getpid() && files.identities.contains { $0.key == file || $0.value.contains(file) }
    }
  }
}
