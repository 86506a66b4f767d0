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
        // A sweeper was faster than we and took the directory away: another one, then.
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

  /// More sweepers than this in a row are none, but something that goes wrong again and again.
  private static let maximumAttempts = 100

  /// Gives the finished directory its name. Throws `storeExists` if something has it.
  consuming func publish(as store: StorePaths) throws(LMDBError) {
    try FileSystem.renameWithoutReplacing(paths.directory, to: store.directory)
    isPublished = true
  }

  /// Moves the finished `data.mdb` into a directory that is there and empty. Its name appearing there is the creation. Throws
  /// `storeExists` if another creation was faster.
  consuming func publishData(into directory: String) throws(LMDBError) {
    try FileSystem.renameWithoutReplacing(paths.data, to: directory + "/data.mdb")
    try FileSystem.fsyncDirectory(directory)
  }

  /// The same without `writer.lock`: what gets the name is `data.mdb` alone, on the disk.
  ///
  /// - Parameter data: a descriptor of `data.mdb` that has been marked (`markBuilding`) since the file was made, which says in
  ///   the lock's place that somebody is at work.
  consuming func publishAlone(as store: StorePaths, data: Int32) throws(LMDBError) {
    if try FileSystem.exists(store.directory) { throw .storeExists(path: store.directory) }
    FileSystem.removeFile(paths.writerLock)
    try FileSystem.fsyncDirectory(paths.directory)
    try FileSystem.renameWithoutReplacing(paths.directory, to: store.directory)
    isPublished = true
  }

  /// Marks a `data.mdb` as one that is being built, as long as the descriptor is open; false if somebody else has.
  static func markBuilding(_ data: Int32) -> Bool { kvclone_ofd_lock_byte(data, 1 << 62, 1) == 0 }

  deinit {
    if !isPublished { Self.remove(paths) }
  }

  // MARK: What crashes leave

  /// Removes the directories of creations of this store that ended before they were done. What cannot be removed stays.
  static func sweep(for store: StorePaths) {
    for name in FileSystem.names(inDirectory: store.parent) where isName(name, of: store.name) {
      let paths = StorePaths(store.parent + "/" + name)
      guard let facts = try? FileSystem.facts(paths.directory), facts.kind == .directory, facts.owner == geteuid()
      else { continue }
      // Never made here: a maker may just be about to publish without one. A lock that cannot be looked up may be there, and
      // locked: opening it fails then, and the directory stays.
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

  /// A maker that ended before it had its lock leaves an empty directory; one that ended after it had removed the lock, to
  /// publish, a `data.mdb` that nobody has marked any more.
  private static func sweepWithoutLock(_ paths: StorePaths) {
    let data = unsafe kvclone_open(paths.data, O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0)
    // Only where there is none: one that cannot be opened may be about to be published.
    if data == -ENOENT { return sweepWithoutData(paths) }
    guard data >= 0 else { return }
    defer { close(data) }
    guard markBuilding(data), let own = try? FileSystem.facts(descriptor: data), own.kind == .regularFile,
      (try? FileSystem.facts(paths.data))?.identity == own.identity,
      // A maker makes the lock before it makes the file, and removes it with the file marked.
      FileSystem.isAbsent(paths.writerLock)
    else { return }
    remove(paths)
  }

  /// After a power loss anything may be missing, the lock too. A maker has its lock before any other file, so others that are there
  /// without it are nobody's.
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

  /// The lock goes last: as long as it is there, it says that somebody is at work.
  private static func remove(_ paths: StorePaths) {
    for path in [paths.data, paths.commitLog, paths.readerLock, paths.stagerLock, paths.writerLock] {
      FileSystem.removeFile(path)
    }
    FileSystem.removeEmptyDirectory(paths.directory)
  }

  /// Whether a name in a directory is that of a creation of `store` in the same directory.
  static func isName(_ name: String, of store: String) -> Bool {
    let prefix = prefix("", store).dropFirst()
    return name.hasPrefix(prefix) && name.utf8.count == prefix.utf8.count + 6
  }

  private static func prefix(_ parent: String, _ name: String) -> String { "\(parent)/.\(name).creating-" }
}
