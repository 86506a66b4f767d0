import CKVCloneLMDB
import Glibc

/// Opens files that data or users name, unless they belong to a store that is open in this process.
///
/// Opening and closing a store's file would drop LMDB's locks, and another process would treat the reader slots as
/// stale; writing to it would corrupt the store. The check uses the file's identity, not its name: links of both kinds
/// can lead there.
package enum NamedFile {
  /// Why a file was not opened.
  package enum Refusal: Error, Equatable {
    /// It belongs to a store that is open in this process.
    case belongsToStore
    /// The file, or a directory in its path, is a symbolic link or has another type.
    case notPlain
    /// A system call failed.
    case system(errno: Int32)

    /// The reason, to be followed by `advice`.
    package var reason: String {
      switch self {
      case .belongsToStore: "the file belongs to an open store"
      case .notPlain: "the file is a link, or not a regular file in a directory"
      case .system(let code): unsafe String(cString: strerror(code))
      }
    }

    /// The remedy, a clause.
    package var advice: String {
      switch self {
      case .belongsToStore, .notPlain: "choose another file"
      case .system(let code): SystemErrorAdvice.clause(code)
      }
    }
  }

  /// Whether the file, or the target of a link, belongs to a store that is open in this process. Opens nothing.
  ///
  /// - Throws: `system` if a system call fails: an unknown file may be a store's, and must not be replaced.
  package static func belongsToStore(_ path: String) throws(Refusal) -> Bool {
    var status = stat()
    guard unsafe stat(path, &status) == 0 else {
      let code = errno
      if code == ENOENT || code == ENOTDIR { return false }
      throw .system(errno: code)
    }
    return EnvironmentRegistry.ownsFile(FileSystem.Facts(status).identity)
  }

  /// Opens a file for reading; the caller closes the descriptor, which is closed on exec.
  package static func openToRead(_ path: String) throws(Refusal) -> Int32 {
    try openToRead(path, afterCheck: {})
  }

  /// - Parameter afterCheck: for tests, which replace the file in it.
  static func openToRead(_ path: String, afterCheck: () -> Void) throws(Refusal) -> Int32 {
    if try belongsToStore(path) { throw .belongsToStore }
    afterCheck()
    let file = unsafe kvclone_open(path, O_RDONLY | O_CLOEXEC, 0)
    guard file >= 0 else { throw .system(errno: -file) }
    // If the file was replaced by a store's in between, it stays open on purpose: closing it would drop the locks.
    guard let identity = try? FileSystem.facts(descriptor: file).identity,
      !EnvironmentRegistry.ownsFile(identity)
    else { throw .belongsToStore }
    return file
  }

  /// Opens a regular file by its path below a directory, without following symbolic links. Each part of the path is
  /// looked up in the directory opened before it, so that replacing one in between cannot lead elsewhere.
  ///
  /// - Parameters:
  ///   - path: the names on the way, the file's last; none is empty, `.` or `..`, or has a `/`.
  ///   - directory: the caller's own directory, resolved with links.
  /// - Returns: the descriptor, which the caller closes, and which is closed on exec; the size of the file in bytes.
  package static func openToRead(
    _ path: [String], below directory: String
  ) throws(Refusal) -> (descriptor: Int32, byteCount: Int) {
    try openToRead(path, below: directory, afterCheck: {})
  }

  /// - Parameter afterCheck: for tests, which replace the file in it.
  static func openToRead(
    _ path: [String], below directory: String, afterCheck: () -> Void
  ) throws(Refusal) -> (descriptor: Int32, byteCount: Int) {
    guard let name = path.last else { throw .notPlain }
    let way = O_RDONLY | O_DIRECTORY | O_CLOEXEC
    var folder = unsafe kvclone_open(directory, way, 0)
    guard folder >= 0 else { throw .system(errno: -folder) }
    defer { close(folder) }
    for component in path.dropLast() {
      let inner = unsafe kvclone_open_at(folder, component, way | O_NOFOLLOW, 0)
      guard inner >= 0 else { throw refusal(-inner) }
      close(folder)
      folder = inner
    }
    // Before opening: closing a file of a store drops its locks, and opening a pipe waits for its writer.
    let known: FileSystem.Facts?
    do throws(LMDBError) {
      known = try FileSystem.facts(name, in: folder)
    } catch {
      if case .io(let code, _) = error { throw refusal(code) }
      throw .notPlain
    }
    guard let known else { throw .system(errno: ENOENT) }
    guard known.kind == .regularFile else { throw .notPlain }
    if EnvironmentRegistry.ownsFile(known.identity) { throw .belongsToStore }
    afterCheck()
    let file = unsafe kvclone_open_at(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0)
    guard file >= 0 else { throw refusal(-file) }
    // If the file was replaced by a store's in between, it stays open on purpose.
    guard let opened = try? FileSystem.facts(descriptor: file), !EnvironmentRegistry.ownsFile(opened.identity) else {
      throw .belongsToStore
    }
    guard opened.kind == .regularFile else {
      close(file)
      throw .notPlain
    }
    return (file, opened.byteCount)
  }

  /// Maps the codes for links, and for files where directories are required.
  private static func refusal(_ code: Int32) -> Refusal {
    code == ELOOP || code == ENOTDIR ? .notPlain : .system(errno: code)
  }

  /// Creates a file that only its owner may read and write. Unlinks an existing file of that name, unless it belongs to
  /// a store; the file itself, which may have other names, is unchanged.
  package static func create(_ path: String) throws(Refusal) -> Int32 {
    if try belongsToStore(path) { throw .belongsToStore }
    FileSystem.removeFile(path)
    let file = unsafe kvclone_open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw .system(errno: -file) }
    return file
  }
}
