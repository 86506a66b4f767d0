import CKVCloneLMDB
import Glibc

/// Opens files that data or users name, unless they belong to a store that is open in this process.
///
/// To open such a file and close it again would drop LMDB's locks, and another process would take the reader table for
/// nobody's; to write to it would damage the store. The name does not matter, the file does: links of both kinds lead
/// there, too.
package enum NamedFile {
  /// Why a file was not opened.
  package enum Refusal: Error, Equatable {
    /// It belongs to a store that is open in this process.
    case belongsToStore
    /// It, or what is to be a directory on the way to it, is a symbolic link or something else.
    case notPlain
    /// The system refused.
    case system(errno: Int32)

    /// What it is, to be followed by what to do.
    package var reason: String {
      switch self {
      case .belongsToStore: "the file belongs to an open store"
      case .notPlain: "the file is a link, or not a regular file in a directory"
      case .system(let code): unsafe String(cString: strerror(code))
      }
    }

    /// What to do, a clause.
    package var advice: String {
      switch self {
      case .belongsToStore, .notPlain: "choose another file"
      case .system(let code): SystemErrorAdvice.clause(code)
      }
    }
  }

  /// Whether the file, or what a link there leads to, belongs to a store that is open in this process. Nothing is opened.
  ///
  /// - Throws: `system` where the system does not answer: an unknown file may be a store's, and is not to be replaced.
  package static func belongsToStore(_ path: String) throws(Refusal) -> Bool {
    var status = stat()
    guard unsafe stat(path, &status) == 0 else {
      let code = errno
      if code == ENOENT || code == ENOTDIR { return false }
      throw .system(errno: code)
    }
    return EnvironmentRegistry.ownsFile(FileSystem.Facts(status).identity)
  }

  /// Opens a file to be read; the descriptor is the caller's to close, and closed on exec.
  package static func openToRead(_ path: String) throws(Refusal) -> Int32 {
    try openToRead(path, afterCheck: {})
  }

  /// - Parameter afterCheck: for tests, which exchange the file then.
  static func openToRead(_ path: String, afterCheck: () -> Void) throws(Refusal) -> Int32 {
    if try belongsToStore(path) { throw .belongsToStore }
    afterCheck()
    let file = unsafe kvclone_open(path, O_RDONLY | O_CLOEXEC, 0)
    guard file >= 0 else { throw .system(errno: -file) }
    // If somebody exchanged it meanwhile, it stays open on purpose: to close it is what does the harm.
    guard let identity = try? FileSystem.facts(descriptor: file).identity,
      !EnvironmentRegistry.ownsFile(identity)
    else { throw .belongsToStore }
    return file
  }

  /// Opens a regular file by its path below a directory, and follows no symbolic link there. Every part of the path is looked up in
  /// the directory that was opened before it, so that nobody can lead elsewhere by exchanging one meanwhile.
  ///
  /// - Parameters:
  ///   - path: the names on the way, the file's last; none is empty, `.` or `..`, or has a `/`.
  ///   - directory: what its own path leads to, links included: whoever calls names it.
  /// - Returns: the descriptor, which is the caller's to close, and is closed on exec; how many bytes the file has.
  package static func openToRead(
    _ path: [String], below directory: String
  ) throws(Refusal) -> (descriptor: Int32, byteCount: Int) {
    try openToRead(path, below: directory, afterCheck: {})
  }

  /// - Parameter afterCheck: for tests, which exchange the file then.
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
    // Looked at before it is opened: closing a file of a store is what does the harm, and opening a pipe waits for its writer.
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
    // If somebody exchanged it meanwhile for a store's, it stays open on purpose.
    guard let opened = try? FileSystem.facts(descriptor: file), !EnvironmentRegistry.ownsFile(opened.identity) else {
      throw .belongsToStore
    }
    guard opened.kind == .regularFile else {
      close(file)
      throw .notPlain
    }
    return (file, opened.byteCount)
  }

  /// What the system says of links, and of files where directories are wanted.
  private static func refusal(_ code: Int32) -> Refusal {
    code == ELOOP || code == ENOTDIR ? .notPlain : .system(errno: code)
  }

  /// Makes a new file that only its owner may read and write. An older one of that name is removed, unless it belongs to
  /// a store; the file itself, which may have other names, is not touched.
  package static func create(_ path: String) throws(Refusal) -> Int32 {
    if try belongsToStore(path) { throw .belongsToStore }
    FileSystem.removeFile(path)
    let file = unsafe kvclone_open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw .system(errno: -file) }
    return file
  }
}
