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
    /// The system refused.
    case system(errno: Int32)

    /// What it is, to be followed by what to do.
    package var reason: String {
      switch self {
      case .belongsToStore: "the file belongs to a store that is open"
      case .system(let code): unsafe String(cString: strerror(code))
      }
    }
  }

  /// Whether the file, or what a link there leads to, belongs to a store that is open in this process. Nothing is opened.
  package static func belongsToStore(_ path: String) -> Bool {
    var status = stat()
    guard unsafe stat(path, &status) == 0 else { return false }
    return EnvironmentRegistry.ownsFile(FileSystem.Facts(status).identity)
  }

  /// Opens a file to be read; the descriptor is the caller's to close, and closed on exec.
  package static func openToRead(_ path: String) throws(Refusal) -> Int32 {
    try openToRead(path, afterCheck: {})
  }

  /// - Parameter afterCheck: for tests, which exchange the file then.
  static func openToRead(_ path: String, afterCheck: () -> Void) throws(Refusal) -> Int32 {
    if belongsToStore(path) { throw .belongsToStore }
    afterCheck()
    let file = unsafe kvclone_open(path, O_RDONLY | O_CLOEXEC, 0)
    guard file >= 0 else { throw .system(errno: -file) }
    // If somebody exchanged it meanwhile, it stays open on purpose: to close it is what does the harm.
    guard let identity = try? FileSystem.facts(descriptor: file).identity,
      !EnvironmentRegistry.ownsFile(identity)
    else { throw .belongsToStore }
    return file
  }

  /// Makes a new file that only its owner may read and write. An older one of that name is removed, unless it belongs to
  /// a store; the file itself, which may have other names, is not touched.
  package static func create(_ path: String) throws(Refusal) -> Int32 {
    if belongsToStore(path) { throw .belongsToStore }
    FileSystem.removeFile(path)
    let file = unsafe kvclone_open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw .system(errno: -file) }
    return file
  }
}
