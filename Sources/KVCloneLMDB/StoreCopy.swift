import CKVCloneLMDB
import Glibc

/// A store's directory in the making, with a copy of another one's file: hidden, and gone if nobody publishes it.
///
/// What is published is `data.mdb` alone (0600, in a directory of 0700), on the disk with its name.
package struct StoreCopy: ~Copyable {
  private let place: StorePaths
  private let given: String
  private let building: CreationDirectory
  private let data: OwnFile

  /// Begins a copy that is to be at `directory`, where nothing may be.
  package init(
    to directory: String, copyOnWrite: CopyOnWrite = .asAbove, trustedFuse: Set<String> = []
  ) throws(LMDBError) {
    let destination = try Destination(directory)
    let place = destination.paths
    try NetworkFileSystems.check(place.parent, trustedFuse: trustedFuse)
    kvclone_fill_standard_descriptors()
    kvclone_ignore_file_size_signal()
    CreationDirectory.sweep(for: place)
    let building: CreationDirectory
    do throws(LMDBError) {
      building = try CreationDirectory(for: place, copyOnWrite: copyOnWrite)
    } catch {
      throw destination.naming(error)
    }
    let data = try OwnFile(creating: building.paths.data)
    guard CreationDirectory.markBuilding(data.descriptor) else { throw .busy(holder: nil) }
    self.place = place
    self.given = destination.given.directory
    self.building = building
    self.data = data
  }

  /// Where the copy is as long as it is not published.
  package var directory: String { building.paths.directory }

  /// Bytes of the copy's file.
  package var byteCount: UInt64 {
    UInt64(max(0, (try? FileSystem.facts(descriptor: data.descriptor).byteCount) ?? 0))
  }

  // MARK: Filling it

  /// Writes the state that `file` holds on to, in new trees. Ask `file.isStillCurrent` afterwards.
  ///
  /// - Parameter begin: is told how many bytes will be read, about.
  /// - Returns: the copy's pages.
  package func copyPages(of file: PageFile, begin: (UInt64) -> Void) throws(PageCopyError) -> UInt64 {
    guard let meta = file.meta else {
      let finding = file.metaFindings.first
      throw .corrupted(PageError(page: finding?.page ?? 0, problem: finding?.problem ?? .beyondEnd))
    }
    let copy = PageCopy(file, meta, to: data.descriptor)
    let byteCount = try copy.expectedPages() * UInt64(LMDBLimits.pageSize)
    if let free = FileSystem.freeSpace(descriptor: data.descriptor), UInt64(max(0, free.largest)) < byteCount {
      throw .system(.diskFull)
    }
    if byteCount > kvclone_file_size_limit() { throw .system(.fileSizeLimit) }
    begin(byteCount)
    return try copy.run()
  }

  /// Makes the file one that shares all of the source's blocks; false where the file systems cannot. The caller has the right
  /// to write the source.
  package func shareBlocks(of source: LMDBEnvironment) throws(LMDBError) -> Bool {
    try source.whileOpen { () throws(LMDBError) in
      guard let descriptor = source.core.descriptor else { throw .closed }
      let code = kvclone_share_blocks(data.descriptor, descriptor)
      if [EOPNOTSUPP, EXDEV, EINVAL, ENOTTY, ENOSYS, EPERM].contains(code) { return false }
      if code != 0 { throw LMDBError(code: code, operation: "ioctl(FICLONE)") }
      return true
    }
  }

  /// After `shareBlocks`: no commit log is this file's, the source's least of all.
  package func untie() throws(LMDBError) {
    var tie: UInt64 = 0
    // Nothing is written where there is none: the block would have to be copied, and the sync to wait for it.
    if unsafe try readAll(data.descriptor, &tie, 8, CommitLogFormat.tieOffset, "read of data.mdb"), tie == 0 { return }
    tie = 0
    let code = unsafe writeAll(data.descriptor, &tie, 8, CommitLogFormat.tieOffset)
    if code != 0 { throw LMDBError(code: code, operation: "write to data.mdb") }
  }

  /// Makes the bytes durable.
  ///
  /// - Parameter isForgotten: What is read of them afterwards comes from the disk, if the file system heeds the hint.
  package func sync(isForgotten: Bool) throws(LMDBError) {
    if fsync(data.descriptor) != 0 { throw LMDBError(code: errno, operation: "fsync") }
    if isForgotten { kvclone_forget_pages(data.descriptor) }
  }

  /// Gives the copy its name. Throws `storeExists` if something has it.
  package consuming func publish() throws(LMDBError) {
    let (place, given, data) = (place, given, data)
    do throws(LMDBError) {
      try building.publishAlone(as: place, data: data.descriptor)
    } catch {
      if case .storeExists = error { throw .storeExists(path: given) }
      throw error
    }
    try FileSystem.fsyncDirectory(place.parent)
  }
}

extension LMDBEnvironment {
  /// Has the kernel begin to write what `data.mdb` has in memory, so that who shares its blocks waits for less under the write
  /// lock. No error is taken from those who sync the file.
  package func writeBackAhead() {
    try? whileOpen { () throws(LMDBError) in
      if let descriptor = core.descriptor { kvclone_begin_writing_back(descriptor) }
    }
  }
}

extension LMDBEnvironment {
  /// On btrfs, makes large extents of the small ones at the end of `data.mdb`, so that who shares its blocks waits for less under
  /// the write lock: that takes the kernel 7 us for each extent, and small commits leave one for every page that they append.
  ///
  /// From the end backwards, for some 10 ms: what came last is in pieces, and what was merged once is passed over at 7 ms a GB. The
  /// pieces are written again, so files that share them no longer do; no error matters here.
  package func mergeLastExtents() {
    let window: UInt64 = 8 << 20
    try? whileOpen { () throws(LMDBError) in
      guard let descriptor = core.descriptor, CopyOnWrite.isOff(descriptor: descriptor) != nil else { return }
      guard let byteCount = try? FileSystem.facts(descriptor: descriptor).byteCount else { return }
      var end = UInt64(max(0, byteCount))
      let limit = ContinuousClock.now + .milliseconds(10)
      while end > 0 {
        let start = (end - 1) / window * window
        if kvclone_merge_extents(descriptor, start, end - start) != 0 { return }
        end = start
        if ContinuousClock.now > limit { return }
      }
    }
  }
}

extension PageFile {
  /// The list of tables alone, for those who look up a few values.
  package func tableMap() throws(LMDBError) -> PageMap {
    guard let meta, let walk = PageWalk(self, meta, maximumFindings: 1) else {
      return try self.walk(maximumFindings: 1)
    }
    return walk.listTables()
  }
}

/// A file that is closed with its last owner.
private final class OwnFile: Sendable {
  let descriptor: Int32

  init(creating path: String) throws(LMDBError) {
    let file = unsafe kvclone_open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw LMDBError(code: -file, operation: "open data.mdb") }
    descriptor = file
  }

  deinit { close(descriptor) }
}
