import CKVCloneLMDB
import Glibc

/// A folder of plain files in the making: hidden, `.NAME.exporting-XXXXXX`, and gone with all that is in it if nobody publishes it.
///
/// Its `writer.lock` is locked while its maker lives. One that can be locked is what a crash left, and is removed by the next
/// export of that name. One without a lock may be about to be published, and is left alone.
package struct UnfinishedFolder: ~Copyable {
  /// Where the folder is until it gets its name.
  package let path: String
  private let place: StorePaths
  private let given: String
  private let lock: WriterLockFile
  private var isPublished = false

  /// Begins a folder (0700) that is to be at `path`, where nothing may be.
  package init(for path: String) throws(LMDBError) {
    let given = StorePaths(path)
    if FileSystem.exists(given.directory) { throw .storeExists(path: given.directory) }
    guard try FileSystem.facts(given.parent) != nil else { throw .noStore(path: given.parent) }
    let place = try given.resolved()
    kvclone_fill_standard_descriptors()
    kvclone_ignore_file_size_signal()
    let prefix = "\(place.parent)/.\(place.name).exporting-"
    Self.sweep(place.parent, prefix: ".\(place.name).exporting-")
    (self.path, lock) = try Self.begin(prefix: prefix)
    self.place = place
    self.given = given.directory
  }

  /// The folder under its hidden name, and the lock in it.
  private static func begin(prefix: String) throws(LMDBError) -> (String, WriterLockFile) {
    let path = try FileSystem.makeTemporaryDirectory(prefix: prefix)
    do throws(LMDBError) {
      let lock = try WriterLockFile(path: lockPath(path))
      guard lock.claim(label: "export") else { throw .busy(holder: nil) }
      return (path, lock)
    } catch {
      FileSystem.removeTree(path)
      throw error
    }
  }

  /// Makes all that is in it durable, and gives it its name. Throws `storeExists` if something has it.
  package consuming func publish() throws(LMDBError) {
    FileSystem.removeFile(Self.lockPath(path))
    try FileSystem.syncFileSystem(of: path)
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
    if !isPublished { FileSystem.removeTree(path) }
  }

  private static func lockPath(_ folder: String) -> String { StorePaths(folder).writerLock }

  private static func sweep(_ parent: String, prefix: String) {
    for name in FileSystem.names(inDirectory: parent) where name.hasPrefix(prefix) {
      if name.utf8.count != prefix.utf8.count + 6 { continue }
      let path = "\(parent)/\(name)"
      guard let facts = try? FileSystem.facts(path), facts.kind == .directory, facts.owner == geteuid(),
        let lock = try? WriterLockFile(existingAt: lockPath(path)), lock.claim(label: "sweep"),
        lock.isStill(at: lockPath(path))
      else { continue }
      FileSystem.removeTree(path)
    }
  }
}

extension FileSystem {
  /// Makes everything durable that was written to the file system that a directory is on. One call instead of a sync for each of
  /// many small files.
  static func syncFileSystem(of path: String) throws(LMDBError) {
    let directory = unsafe kvclone_open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
    guard directory >= 0 else { throw LMDBError(code: -directory, operation: "open") }
    defer { close(directory) }
    let code = kvclone_sync_file_system(directory)
    if code != 0 { throw LMDBError(code: code, operation: "syncfs") }
  }

  /// Removes a directory with all that is in it, as far as that can be removed; links are removed, not followed.
  ///
  /// - Parameter depth: how many levels there are at most; what is deeper stays.
  static func removeTree(_ path: String, depth: Int = 8) {
    guard depth > 0 else { return }
    for name in names(inDirectory: path) {
      let inner = "\(path)/\(name)"
      if kind(inner) == .directory { removeTree(inner, depth: depth - 1) } else { removeFile(inner) }
    }
    removeEmptyDirectory(path)
  }
}
