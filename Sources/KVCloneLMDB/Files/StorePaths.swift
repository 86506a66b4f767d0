import Glibc

/// The paths of a store's files.
struct StorePaths: Sendable {
  let directory: String

  init(_ directory: String) {
    // A trailing slash would make `lstat` follow a symbolic link.
    var directory = directory
    while directory.utf8.count > 1, directory.hasSuffix("/") { directory.removeLast() }
    self.directory = directory
  }

  /// Returns absolute paths, independent of later changes of the working directory.
  ///
  /// The last name is not resolved: the checks of an opening decide about a symbolic link. A path that does not exist
  /// stays unchanged, for the checks to report it.
  func resolved() throws(LMDBError) -> StorePaths {
    if directory.isEmpty { return self }
    if [".", "..", "", "/"].contains(name) {
      guard let path = try Self.realPath(directory) else { return self }
      return StorePaths(path)
    }
    guard let path = try Self.realPath(parent) else { return self }
    return StorePaths(path == "/" ? "/" + name : path + "/" + name)
  }

  static func realPath(_ path: String) throws(LMDBError) -> String? {
    guard let resolved = unsafe realpath(path, nil) else {
      let code = errno
      if code == ENOENT || code == ENOTDIR { return nil }
      throw LMDBError(code: code, operation: "realpath")
    }
    defer { unsafe free(resolved) }
    return unsafe String(cString: resolved)
  }

  var data: String { directory + "/data.mdb" }
  var readerLock: String { directory + "/lock.mdb" }
  var writerLock: String { directory + "/writer.lock" }
  var stagerLock: String { directory + "/stagers.lock" }
  var commitLog: String { directory + "/commit.log" }

  /// The parent of the store's directory.
  var parent: String {
    guard let slash = directory.lastIndex(of: "/") else { return "." }
    return slash == directory.startIndex ? "/" : String(directory[..<slash])
  }

  var name: String {
    guard let slash = directory.lastIndex(of: "/") else { return directory }
    return String(directory[directory.index(after: slash)...])
  }
}
