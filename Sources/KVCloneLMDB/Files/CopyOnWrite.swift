import CKVCloneLMDB
import Glibc

/// Whether btrfs writes the files of a directory copy-on-write, which also controls its checksums.
///
/// A store disables it. LMDB writes no page in place that a reader could need, and stored values have checksums of
/// their own; with copy-on-write, a file that is synced page by page gets an extent for each page, and a page with a
/// wrong btrfs checksum raises a signal in a process that has it mapped. On other file systems none of this has an
/// effect.
package enum CopyOnWrite: Sendable, Equatable {
  /// Inherited from the parent directory: for files that are written once.
  case asAbove
  /// Off, unless btrfs keeps two copies of data: it repairs one copy by the other through the checksums, and keeps them
  /// equal through copy-on-write.
  case offUnlessMirrored
  /// The same as in the file that shares its blocks.
  case like(isOff: Bool)

  /// Applies the setting to files that are created later in an empty directory.
  func apply(toDirectory path: String) {
    if self == .asAbove || !FileSystem.isBtrfs(path) { return }
    let directory = unsafe kvclone_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0)
    guard directory >= 0 else { return }
    defer { close(directory) }
    switch self {
    case .asAbove: break
    case .offUnlessMirrored: if kvclone_is_mirrored(directory) == 0 { kvclone_set_copy_on_write_off(directory, 1) }
    case .like(let isOff): kvclone_set_copy_on_write_off(directory, isOff ? 1 : 0)
    }
  }

  /// Whether copy-on-write is off for an open file; nil on other file systems.
  static func isOff(descriptor: Int32) -> Bool? {
    let answer = kvclone_is_copy_on_write_off(descriptor)
    return answer < 0 ? nil : answer == 1
  }
}
