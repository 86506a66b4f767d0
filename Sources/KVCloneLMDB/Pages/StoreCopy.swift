import CKVCloneLMDB
import Glibc

/// An unfinished copy of a store: a hidden directory, removed unless it is published.
///
/// Publishes `data.mdb` alone (0600, in a directory of 0700), durable with its name.
package struct StoreCopy: ~Copyable {
  private let place: StorePaths
  private let given: String
  private let building: CreationDirectory
  let data: OwnFile

  /// Starts a copy for `directory`, which must not exist.
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

  /// The copy's path until it is published.
  package var directory: String { building.paths.directory }

  /// The size of the copy's file.
  package var byteCount: UInt64 {
    UInt64(max(0, (try? FileSystem.facts(descriptor: data.descriptor).byteCount) ?? 0))
  }

  // MARK: Content

  /// Writes the state that `file` reads, in new trees. Check `file.isStillCurrent` afterwards.
  ///
  /// - Parameter begin: called with the approximate number of bytes that will be read.
  /// - Returns: the copy's number of pages.
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

  /// Call after `shareBlocks`: no write-ahead log belongs to this file, least of all the source's.
  package func untie() throws(LMDBError) {
    var tie: UInt64 = 0
    // Nothing is written if there is no tie: the block would have to be copied, and the sync to wait for it.
    if unsafe try readAll(data.descriptor, &tie, 8, CommitLogFormat.tieOffset, "read of data.mdb"), tie == 0 { return }
    tie = 0
    let code = unsafe writeAll(data.descriptor, &tie, 8, CommitLogFormat.tieOffset)
    if code != 0 { throw LMDBError(code: code, operation: "write to data.mdb") }
  }

  /// Makes the bytes durable.
  ///
  /// - Parameter isForgotten: Evicts the page cache, so that later reads come from the disk, if the file system
  ///   supports the hint.
  package func sync(isForgotten: Bool) throws(LMDBError) {
    if fsync(data.descriptor) != 0 { throw LMDBError(code: errno, operation: "fsync") }
    if isForgotten { kvclone_forget_pages(data.descriptor) }
  }

  /// Renames the copy to its final path. Throws `storeExists` if the path exists.
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

/// A file that is closed with its last reference.
final class OwnFile: Sendable {
  let descriptor: Int32

  init(creating path: String) throws(LMDBError) {
    let file = unsafe kvclone_open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw LMDBError(code: -file, operation: "open data.mdb") }
    descriptor = file
  }

  deinit { close(descriptor) }
}
