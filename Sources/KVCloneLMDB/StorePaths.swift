/// The files of a store's directory.
struct StorePaths: Sendable {
  let directory: String

  init(_ directory: String) {
    // A trailing slash would make `lstat` follow a symbolic link.
    var directory = directory
    while directory.utf8.count > 1, directory.hasSuffix("/") { directory.removeLast() }
    self.directory = directory
  }

  var data: String { directory + "/data.mdb" }
  var readerLock: String { directory + "/lock.mdb" }
  var writerLock: String { directory + "/writer.lock" }
  var stagerLock: String { directory + "/stagers.lock" }

  /// The directory that holds the store's directory.
  var parent: String {
    guard let slash = directory.lastIndex(of: "/") else { return "." }
    return slash == directory.startIndex ? "/" : String(directory[..<slash])
  }

  var name: String {
    guard let slash = directory.lastIndex(of: "/") else { return directory }
    return String(directory[directory.index(after: slash)...])
  }
}
