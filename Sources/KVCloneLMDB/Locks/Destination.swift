import CKVCloneLMDB
import Glibc

/// The path of a new directory, checked before anything is written: it may not exist, its parent must exist, and
/// neither may be in a store's directory.
struct Destination: Sendable {
  /// The caller's path, for errors.
  let given: StorePaths
  /// The same path, independent of the working directory.
  let paths: StorePaths
  /// The mode of the existing empty directory that is used; nil if the directory is created.
  let emptyDirectoryMode: UInt32?

  /// - Parameter usesEmptyDirectory: An empty directory of this user is used, whatever its mode: a fresh volume.
  /// - Throws: `storeExists`, `destination`, `insideStore`.
  init(_ path: String, usesEmptyDirectory: Bool = false) throws(LMDBError) {
    let given = StorePaths(path)
    self.given = given
    if let there = try FileSystem.facts(given.directory) {
      guard usesEmptyDirectory, there.kind == .directory, there.owner == geteuid(),
        try StoreDirectories.isEmpty(given.directory, mode: there.mode)
      else { throw .storeExists(path: given.directory) }
      emptyDirectoryMode = there.mode
    } else {
      emptyDirectoryMode = nil
    }
    let problem = given.directory.isEmpty ? ENOENT : Self.directoryProblem(given.parent)
    if problem != 0 { throw .destination(path: given.directory, parent: given.parent, errno: problem) }
    paths = try given.resolved()
    if let store = StoreDirectories.find(paths.parent) { throw .insideStore(path: given.directory, store: store) }
  }

  /// Adds the destination to an error of creating it.
  func naming(_ error: LMDBError) -> LMDBError {
    switch error {
    case .storeExists: .storeExists(path: given.directory)
    case .io(let errno, "mkdtemp"), .io(let errno, "mkdir"):
      .destination(path: given.directory, parent: given.parent, errno: errno)
    default: error
    }
  }

  /// Why nothing can be created in `path`: an `errno` value, or 0. Symbolic links are followed.
  static func directoryProblem(_ path: String) -> Int32 {
    var status = stat()
    guard unsafe stat(path, &status) == 0 else { return errno }
    return status.st_mode & S_IFMT == S_IFDIR ? 0 : ENOTDIR
  }
}

/// Directories that hold, or may hold, a store.
enum StoreDirectories {
  /// The store's directory that `directory` is or is inside of. In its ancestors, `data.mdb` alone may be another
  /// program's: there it counts only next to `writer.lock`, or if this process has it open. Files are compared by
  /// identity, so links and mounts lead to the same answer.
  ///
  /// - Parameter directory: a path without links, from `realpath`.
  static func find(_ directory: String) -> String? {
    var path = directory
    var isFirst = true
    while true {
      let paths = StorePaths(path)
      if let data = try? FileSystem.facts(paths.data), data.kind == .regularFile,
        isFirst || EnvironmentRegistry.ownsFile(data.identity) || !FileSystem.isAbsent(paths.writerLock)
      {
        return path
      }
      if path == "/" || path == "." || path.isEmpty { return nil }
      path = StorePaths(path).parent
      isFirst = false
    }
  }

  /// Whether a directory of this user is empty, apart from unfinished creations and the `lost+found` of a fresh file
  /// system.
  ///
  /// - Parameter mode: the directory's mode. If its owner may not list it, the owner gets access for the check.
  static func isEmpty(_ path: String, mode: UInt32) throws(LMDBError) -> Bool {
    do throws(LMDBError) {
      return try isEmpty(path)
    } catch {
      guard case .io(EACCES, _) = error, unsafe chmod(path, mode | 0o500) == 0 else { throw error }
      defer { _ = unsafe chmod(path, mode) }
      return try isEmpty(path)
    }
  }

  private static func isEmpty(_ path: String) throws(LMDBError) -> Bool {
    try FileSystem.knownNames(inDirectory: path).allSatisfy { name in
      name == "lost+found" || CreationDirectory.isName(name, of: "data.mdb")
    }
  }
}

/// Files and directories that commands write outside of stores.
package enum OutputPath {
  /// Creates a directory for files unless it exists. Its parent must exist.
  ///
  /// - Parameter mode: the permission bits, reduced by the umask.
  /// - Throws: `destination` (also if the path is no directory), `insideStore`.
  package static func prepareDirectory(_ path: String, mode: UInt32 = 0o700) throws(LMDBError) {
    let given = StorePaths(path)
    let problem = given.directory.isEmpty ? ENOENT : Destination.directoryProblem(given.directory)
    if problem != 0, try FileSystem.facts(given.directory) == nil {
      let destination = try Destination(path)
      if unsafe mkdir(destination.paths.directory, mode) != 0 {
        let code = errno
        throw .destination(path: given.directory, parent: given.parent, errno: code)
      }
    } else if problem == ENOENT {
      // A dangling link.
      throw .storeExists(path: given.directory)
    } else if problem != 0 {
      throw .destination(path: given.directory, parent: given.directory, errno: problem)
    }
    if let resolved = try StorePaths.realPath(given.directory), let store = StoreDirectories.find(resolved) {
      throw .insideStore(path: given.directory, store: store)
    }
  }

  /// Rejects a path where no directory can be created: see `Destination`.
  package static func requireNew(_ path: String) throws(LMDBError) { _ = try Destination(path) }

  /// Rejects a file's path in a store's directory, or in a directory that does not exist.
  ///
  /// - Throws: `destination`, `insideStore`.
  package static func requireFile(_ path: String) throws(LMDBError) {
    let given = StorePaths(path)
    guard let parent = try StorePaths.realPath(given.parent) else {
      throw .destination(path: path, parent: given.parent, errno: ENOENT)
    }
    if let store = StoreDirectories.find(parent) { throw .insideStore(path: path, store: store) }
  }
}
