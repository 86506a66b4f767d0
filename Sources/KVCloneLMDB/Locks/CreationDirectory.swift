import CKVCloneLMDB
import Glibc

/// The hidden directory, `.NAME.creating-XXXXXX`, in which a store is built before it is published.
///
/// Its `writer.lock` is locked while its creator lives, so one that can be locked was left by a crash, and is swept by
/// the next creation of that name. Both sides lock first and then check that the locked file still has its name, so
/// that a sweeper and a creator cannot interfere.
struct CreationDirectory: ~Copyable {
  let paths: StorePaths
  private let lock: WriterLockFile
  private var isPublished = false

  /// Creates the directory (0700), and locks it.
  init(for store: StorePaths, copyOnWrite: CopyOnWrite) throws(LMDBError) {
    var attempts = 0
    while true {
      let path = try FileSystem.makeTemporaryDirectory(prefix: Self.prefix(store.parent, store.name))
      let paths = StorePaths(path)
      copyOnWrite.apply(toDirectory: path)
      let lock: WriterLockFile
      do throws(LMDBError) {
        lock = try WriterLockFile(path: paths.writerLock)
      } catch {
        // A sweeper has removed the directory first: create another one.
        let isSwept = FileSystem.isAbsent(path)
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

  /// More failures than this in a row are not sweepers, but a persistent error.
  private static let maximumAttempts = 100

  /// Renames the finished directory. Throws `storeExists` if the name is taken.
  consuming func publish(as store: StorePaths) throws(LMDBError) {
    try FileSystem.renameWithoutReplacing(paths.directory, to: store.directory)
    isPublished = true
  }

  /// Moves the finished `data.mdb` into an existing empty directory. Its name appearing there is the creation. Throws
  /// `storeExists` if another creation was faster.
  consuming func publishData(into directory: String) throws(LMDBError) {
    try FileSystem.renameWithoutReplacing(paths.data, to: directory + "/data.mdb")
    try FileSystem.fsyncDirectory(directory)
  }

  /// Publishes without `writer.lock`: `data.mdb` alone, durable.
  ///
  /// - Parameter data: a descriptor of `data.mdb` that has been marked (`markBuilding`) since the file was created,
  ///   which replaces the lock as a sign of work in progress.
  consuming func publishAlone(as store: StorePaths, data: Int32) throws(LMDBError) {
    if try FileSystem.exists(store.directory) { throw .storeExists(path: store.directory) }
    FileSystem.removeFile(paths.writerLock)
    try FileSystem.fsyncDirectory(paths.directory)
    try FileSystem.renameWithoutReplacing(paths.directory, to: store.directory)
    isPublished = true
  }

  /// Marks a `data.mdb` as being built, until the descriptor is closed; returns false if it is marked already.
  static func markBuilding(_ data: Int32) -> Bool { kvclone_ofd_lock_byte(data, 1 << 62, 1) == 0 }

  deinit {
    if !isPublished { Self.remove(paths) }
  }

  // MARK: Leftovers of crashes

  /// Removes the directories of unfinished creations of this store. What cannot be removed stays.
  static func sweep(for store: StorePaths) {
    for name in FileSystem.names(inDirectory: store.parent) where isName(name, of: store.name) {
      let paths = StorePaths(store.parent + "/" + name)
      guard let facts = try? FileSystem.facts(paths.directory), facts.kind == .directory, facts.owner == geteuid()
      else { continue }
      // Never create the lock here: a creator may just be about to publish without one. A lock that cannot be looked up
      // may exist and be locked: opening it then fails, and the directory stays.
      if FileSystem.isAbsent(paths.writerLock) {
        sweepWithoutLock(paths)
        continue
      }
      guard let lock = try? WriterLockFile(existingAt: paths.writerLock), lock.claim(label: "sweep"),
        lock.isStill(at: paths.writerLock)
      else { continue }
      remove(paths)
    }
  }

  /// Removes what a creator left that ended before it had its lock (an empty directory), or after it had removed the
  /// lock, to publish (a `data.mdb` that is no longer marked).
  private static func sweepWithoutLock(_ paths: StorePaths) {
    let data = unsafe kvclone_open(paths.data, O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0)
    // Only if the file does not exist: one that cannot be opened may be about to be published.
    if data == -ENOENT { return sweepWithoutData(paths) }
    guard data >= 0 else { return }
    defer { close(data) }
    guard markBuilding(data), let own = try? FileSystem.facts(descriptor: data), own.kind == .regularFile,
      (try? FileSystem.facts(paths.data))?.identity == own.identity,
      // A creator creates the lock before the file, and removes it with the file marked.
      FileSystem.isAbsent(paths.writerLock)
    else { return }
    remove(paths)
  }

  /// Removes files without a lock: after a power loss anything may be missing. A creator has its lock before any other
  /// file, so files without it have no owner.
  private static func sweepWithoutData(_ paths: StorePaths) {
    let names = FileSystem.names(inDirectory: paths.directory)
    if FileSystem.isAbsent(paths.writerLock) {
      for path in [paths.commitLog, paths.readerLock, paths.stagerLock]
      where names.contains(where: { path.hasSuffix("/" + $0) }) {
        FileSystem.removeFile(path)
      }
    }
    FileSystem.removeEmptyDirectory(paths.directory)
  }

  /// Removes the directory. The lock goes last: while it exists, it marks work in progress.
  private static func remove(_ paths: StorePaths) {
    for path in [paths.data, paths.commitLog, paths.readerLock, paths.stagerLock, paths.writerLock] {
      FileSystem.removeFile(path)
    }
    FileSystem.removeEmptyDirectory(paths.directory)
  }

  /// Whether `name` is that of an unfinished creation of `store` in the same directory.
  static func isName(_ name: String, of store: String) -> Bool {
    let prefix = prefix("", store).dropFirst()
    return name.hasPrefix(prefix) && name.utf8.count == prefix.utf8.count + 6
  }

  private static func prefix(_ parent: String, _ name: String) -> String { "\(parent)/.\(name).creating-" }
}
