import CKVCloneLMDB
import Synchronization

/// A barrier that only one side pays for: readers do not order their store and load, and a thread that has to see them
/// makes every processor that runs a thread of this process execute a full barrier.
enum Barrier {
  /// Whether the kernel has such barriers (`MEMBARRIER_CMD_PRIVATE_EXPEDITED`, Linux 4.14). Otherwise, readers pay too.
  static let isOneSided = kvclone_membarrier_register() == 0

  static func everywhere() {
    if isOneSided { _ = kvclone_membarrier() }
    atomicMemoryFence(ordering: .sequentiallyConsistent)
  }

}
