import CKVCloneLMDB
import Glibc

/// A folder of plain files in the making: hidden, `.NAME.exporting-XXXXXX`, and gone with all that is in it if nobody publishes it.
///
/// Its maker has it open and locked until it has its name, so one that can be locked is what a crash left, and is removed by
/// the next export of that name. Both sides lock first and then look whether what they locked still has its name.
package struct UnfinishedFolder: ~Copyable {
  /// Where the folder is until it gets its name.
  package let path: String
  private let place: StorePaths
  private let given: String
  private let directory: LockedDirectory
  private var isPublished = false

  /// Begins a folder (0700) that is to be at `path`, where nothing may be.
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

  /// More sweepers than this in a row are none, but something that goes wrong again and again.
  private static let maximumAttempts = 100

  private static func begin(prefix: String) throws(LMDBError) -> (String, LockedDirectory) {
    for _ in 0..<maximumAttempts {
      let path = try FileSystem.makeTemporaryDirectory(prefix: prefix)
      // A sweeper may have been faster than we: another one, then.
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

  /// Makes all that is in it durable, and gives it its name. Throws `storeExists` if something has it.
  package consuming func publish() throws(LMDBError) {
    // The descriptor is as old as the folder, so that no write that failed since then goes unnoticed.
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

/// A directory of ours that is open, and locked against others who would have it so.
private final class LockedDirectory {
  let descriptor: Int32
  /// How many levels of directories are removed; what is deeper stays.
  private static let maximumDepth = 8

  private init(_ descriptor: Int32) { self.descriptor = descriptor }

  /// The directory, locked; nil where there is none, another user owns or has locked it, or it has lost its name.
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

  /// Removes the directory with all that is in it, as far as that can be removed.
  ///
  /// Everything is reached from the descriptor, so that nobody who exchanges a name for a link has other things removed.
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
