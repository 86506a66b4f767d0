import CKVCloneLMDB
import Glibc

/// Whether btrfs writes the files of a directory to blocks of their own each time, which takes its checksums along.
///
/// A store does without. LMDB writes no page in place that a reader could need, and what we store has checksums of ours; a file
/// of pages that were synced one by one gets an extent for each, and a page whose checksum is wrong is a signal for who has it
/// mapped. On other file systems none of this does anything.
package enum CopyOnWrite: Sendable, Equatable {
  /// As the directory above has it: for files that are written once.
  case asAbove
  /// Off, unless btrfs keeps its data twice: it repairs one by the other with the checksums, and keeps both the same with the copies.
  case offUnlessMirrored
  /// As the file has it that blocks will be shared with.
  case like(isOff: Bool)

  /// Has the files that are made in an empty directory from now on written so.
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

  /// Whether it is off for an open file; nil on other file systems.
  static func isOff(descriptor: Int32) -> Bool? {
    let answer = kvclone_is_copy_on_write_off(descriptor)
    return answer < 0 ? nil : answer == 1
  }
}
