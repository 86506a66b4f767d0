import CKVCloneLMDB
import Glibc

/// Creates unnamed files: the kernel frees them with their last descriptor, however the process ends.
enum UnnamedFile {
  /// The prefix of temporary names on a file system without O_TMPFILE: `kvclone-scratch-PID-RANDOM`.
  private static let prefix = "kvclone-scratch-"

  /// Opens a new file (0600, closed on exec) in a directory, for reading and writing.
  ///
  /// - Parameter canBeUnnamed: false in tests, to simulate a file system without O_TMPFILE.
  /// - Throws: `diskFull`, `io`.
  static func make(in directory: String, canBeUnnamed: Bool = true) throws(LMDBError) -> Int32 {
    if canBeUnnamed {
      let unnamed = unsafe kvclone_open_unnamed(directory)
      if unnamed >= 0 { return unnamed }
    }
    // Whatever the reason was: unless the file system lacks O_TMPFILE, the calls below fail too.
    removeLeftovers(in: directory)
    let path = "\(directory)/\(prefix)\(getpid())-\(UInt64.random(in: 0 ... .max))"
    let file = unsafe kvclone_open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw LMDBError(code: -file, operation: "open scratch space") }
    // ENOENT: another process removed the name as a leftover, which is equivalent.
    if unsafe unlink(path) != 0, errno != ENOENT {
      let code = errno
      close(file)
      throw LMDBError(code: code, operation: "unlink scratch space")
    }
    return file
  }

  /// Removes files of processes that were killed between `open` and `unlink`. Such files are empty; no other file is
  /// removed.
  private static func removeLeftovers(in directory: String) {
    for name in FileSystem.names(inDirectory: directory) where name.hasPrefix(prefix) {
      let path = "\(directory)/\(name)"
      guard let facts = try? FileSystem.facts(path), facts.kind == .regularFile, facts.byteCount == 0,
        facts.owner == geteuid()
      else { continue }
      FileSystem.removeFile(path)
    }
  }
}
