import Glibc
import Synchronization

/// The files that this process has open, by identity.
///
/// POSIX record locks belong to a process and drop when it closes any descriptor of the file. A second environment of
/// the same file, or a check that opens and closes it, would remove the live readers' locks, and pages they read would
/// be reused. So the registry is asked, by `lstat`, before a file of a store is opened for whatever reason.
///
/// A forked child has nothing open: its parent's environments are refused to it, and it holds none of the locks.
enum EnvironmentRegistry {
  private struct Files {
    var pid = getpid()
    var identities: Set<FileSystem.Identity> = []
  }

  private static let files = Mutex(Files())

  /// Registers the file; false if it is registered already.
  static func claim(_ file: FileSystem.Identity) -> Bool {
    files.withLock { files in
      if files.pid != getpid() { files = Files() }
      return files.identities.insert(file).inserted
    }
  }

  static func release(_ file: FileSystem.Identity) {
    files.withLock { files in
      if files.pid == getpid() { files.identities.remove(file) }
    }
  }

  /// Whether the file belongs to a store that this process has open: its `data.mdb`, `lock.mdb`, `writer.lock` or
  /// `stagers.lock`, under whatever name.
  ///
  /// The data files are registered. Of the others, the kernel is asked which of them are open: it forgets none.
  ///
  /// - Parameter descriptor: one that the caller has just opened, and that says nothing about a store.
  static func ownsFile(_ file: FileSystem.Identity, besides descriptor: Int32? = nil) -> Bool {
    let (isData, isAnyOpen) = files.withLock { files in
      files.pid == getpid() ? (files.identities.contains(file), !files.identities.isEmpty) : (false, false)
    }
    return isData || isAnyOpen && OpenDescriptors.includeStoreFile(file, besides: descriptor)
  }
}
