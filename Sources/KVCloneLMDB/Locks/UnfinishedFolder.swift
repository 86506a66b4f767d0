import CKVCloneLMDB
import Glibc

/// An unfinished directory of plain files: hidden, `.NAME.exporting-XXXXXX`, and removed with its content unless it is
/// published.
///
/// Its creator has it open and locked until it gets its name, so one that can be locked was left by a crash, and is
/// removed by the next export of that name. Both sides lock first and then check that the locked directory still has
/// its name.
package struct UnfinishedFolder: ~Copyable {
  /// The directory's path until it is published.
  package let path: String
  private let place: StorePaths
  private let given: String
  private let directory: LockedDirectory
  private var isPublished = false

  /// Creates a directory (0700) for `path`, which must not exist.
  package init(for path: String) throws(LMDBError) {
    let destination = try Destination(path)
    let place = destination.paths
    kvclone_fill_standard_descriptors()
    kvclone_ignore_file_size_signal()
    Self.sweep(place.parent, prefix: ".\(place.name).exporting-")
    do throws(LMDBError) {
      (self.path, directory) = try Self.begin(prefix: "\(place.parent)/.\(place.name).exporting-")
    } catch {
      throw destination.naming(error)
    }
    self.place = place
    self.given = destination.given.directory
  }

  /// More failures than this in a row are not sweepers, but a persistent error.
  private static let maximumAttempts = 100

  private static func begin(prefix: String) throws(LMDBError) -> (String, LockedDirectory) {
    for _ in 0..<maximumAttempts {
      let path = try FileSystem.makeTemporaryDirectory(prefix: prefix)
      // A sweeper may have removed it first: create another one.
      do throws(LMDBError) {
        if let directory = try LockedDirectory.lock(path) { return (path, directory) }
      } catch {
        FileSystem.removeEmptyDirectory(path)
        throw error
      }
      FileSystem.removeEmptyDirectory(path)
    }
    throw .busy(holder: nil)
  }

  /// Makes the content durable, and renames the directory. Throws `storeExists` if the name is taken.
  package consuming func publish() throws(LMDBError) {
    // The descriptor is as old as the directory, so that no write error since then is missed.
    let code = kvclone_sync_file_system(directory.descriptor)
    if code != 0 { throw LMDBError(code: code, operation: "syncfs") }
    do throws(LMDBError) {
      try FileSystem.renameWithoutReplacing(path, to: place.directory)
    } catch {
      if case .storeExists = error { throw .storeExists(path: given) }
      throw error
    }
    isPublished = true
    try FileSystem.fsyncDirectory(place.parent)
  }

  deinit {
    if !isPublished { directory.remove(at: path) }
  }

  private static func sweep(_ parent: String, prefix: String) {
    for name in FileSystem.names(inDirectory: parent) where name.hasPrefix(prefix) {
      if name.utf8.count != prefix.utf8.count + 6 { continue }
      // What cannot be opened or locked stays.
      if let directory = try? LockedDirectory.lock("\(parent)/\(name)") { directory.remove(at: "\(parent)/\(name)") }
    }
  }
}

/// An open directory of this user, locked against other processes.
private final class LockedDirectory {
  let descriptor: Int32
  /// The number of levels that are removed; deeper ones stay.
  private static let maximumDepth = 8

  private init(_ descriptor: Int32) { self.descriptor = descriptor }

  /// Locks the directory; nil if it does not exist, another user owns it, another process has locked it, or it has lost
  /// its name.
  static func lock(_ path: String) throws(LMDBError) -> LockedDirectory? {
    let descriptor = unsafe kvclone_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0)
    guard descriptor >= 0 else {
      if [ENOENT, ENOTDIR, ELOOP].contains(-descriptor) { return nil }
      throw LMDBError(code: -descriptor, operation: "open of a directory")
    }
    let directory = LockedDirectory(descriptor)
    let code = kvclone_lock_directory(descriptor)
    if code == EWOULDBLOCK { return nil }
    if code != 0 { throw LMDBError(code: code, operation: "flock of a directory") }
    let own = try FileSystem.facts(descriptor: descriptor)
    guard own.owner == geteuid(), try FileSystem.facts(path)?.identity == own.identity else { return nil }
    return directory
  }

  deinit { close(descriptor) }

  /// Removes the directory with its content, as far as possible.
  ///
  /// Everything is reached from the descriptor, so that replacing a name by a link cannot redirect the removal.
  func remove(at path: String) {
    Self.empty(descriptor, depth: Self.maximumDepth)
    FileSystem.removeEmptyDirectory(path)
  }

  private static func empty(_ directory: Int32, depth: Int) {
    for name in FileSystem.names(inDirectory: directory) {
      if unsafe unlinkat(directory, name, 0) == 0 || depth == 0 { continue }
      let inner = unsafe kvclone_open_at(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0)
      guard inner >= 0 else { continue }
      empty(inner, depth: depth - 1)
      close(inner)
      _ = unsafe unlinkat(directory, name, AT_REMOVEDIR)
    }
  }
}
