import CKVCloneLMDB
import Glibc

/// A store's directory in the making, with a copy of another one's file: hidden, and gone if nobody publishes it.
///
/// What is published is `data.mdb` alone (0600, in a directory of 0700), on the disk with its name.
package struct StoreCopy: ~Copyable {
  private let place: StorePaths
  private let given: String
  private let building: CreationDirectory
  let data: OwnFile

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

/// A file that is closed with its last owner.
final class OwnFile: Sendable {
  let descriptor: Int32

  init(creating path: String) throws(LMDBError) {
    let file = unsafe kvclone_open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw LMDBError(code: -file, operation: "open data.mdb") }
    descriptor = file
  }

  deinit { close(descriptor) }
}
