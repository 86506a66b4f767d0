import CKVCloneLMDB
import Glibc

/// The hidden directory, `.NAME.creating-XXXXXX`, in which a store is built before it gets its name.
///
/// Its `writer.lock` is locked while its maker lives, so one that can be locked is what a crash left, and is swept by
/// the next creation of that name. Both sides lock first and then look whether what they locked still has its name, so
/// that neither a sweeper nor a maker can be surprised by the other.
struct CreationDirectory: ~Copyable {
  let paths: StorePaths
  private let lock: WriterLockFile
  private var isPublished = false

  /// Makes the directory (0700), and locks it.
  init(for store: StorePaths) throws(LMDBError) {
    var attempts = 0
    while true {
      let path = try FileSystem.makeTemporaryDirectory(prefix: Self.prefix(store.parent, store.name))
      let paths = StorePaths(path)
      let lock: WriterLockFile
      do throws(LMDBError) {
        lock = try WriterLockFile(path: paths.writerLock)
      } catch {
        // A sweeper was faster than we and took the directory away: another one, then.
        let isSwept = !FileSystem.exists(path)
        FileSystem.removeEmptyDirectory(path)
        attempts += 1
        if attempts < Self.maximumAttempts, isSwept { continue }
        throw error
      }
      guard lock.claim(label: "create"), lock.isStill(at: paths.writerLock) else {
        attempts += 1
        if attempts < Self.maximumAttempts { continue }
        throw .busy(holder: nil)
      }
      self.paths = paths
      self.lock = lock
      return
    }
  }

  /// More sweepers than this in a row are none, but something that goes wrong again and again.
  private static let maximumAttempts = 100

  /// Gives the finished directory its name. Throws `storeExists` if something has it.
  consuming func publish(as store: StorePaths) throws(LMDBError) {
    try FileSystem.renameWithoutReplacing(paths.directory, to: store.directory)
    isPublished = true
  }

  deinit {
    if !isPublished { Self.remove(paths) }
  }

  // MARK: What crashes leave

  /// Removes the directories of creations of this store that ended before they were done. What cannot be removed stays.
  static func sweep(for store: StorePaths) {
    let prefix = prefix("", store.name).dropFirst()
    for name in FileSystem.names(inDirectory: store.parent) where name.hasPrefix(prefix) {
      if name.utf8.count != prefix.utf8.count + 6 { continue }
      let paths = StorePaths(store.parent + "/" + name)
      guard let facts = try? FileSystem.facts(paths.directory), facts.kind == .directory, facts.owner == geteuid(),
        let lock = try? WriterLockFile(path: paths.writerLock), lock.claim(label: "sweep"),
        lock.isStill(at: paths.writerLock)
      else { continue }
      remove(paths)
    }
  }

  /// The lock goes last: as long as it is there, it says that somebody is at work.
  private static func remove(_ paths: StorePaths) {
    for path in [paths.data, paths.commitLog, paths.readerLock, paths.stagerLock, paths.writerLock] {
      FileSystem.removeFile(path)
    }
    FileSystem.removeEmptyDirectory(paths.directory)
  }

  private static func prefix(_ parent: String, _ name: String) -> String { "\(parent)/.\(name).creating-" }
}
