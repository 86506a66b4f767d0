import CKVCloneLMDB
import Dispatch

/// Has the disk take what a transaction has spilled while the transaction goes on, so that its commit waits for the rest
/// only.
///
/// Spilled pages are in the kernel's memory. Left alone, it begins to write them when the commit syncs, and the processor has
/// nothing to do until the disk has taken them all. Asked for it (`sync_file_range`), it begins at once; to hand hundreds of
/// pages to the disk takes time too, so another thread does that. What is durable is said by the commit's own sync alone.
final class Writeback: Sendable {
  private let queue = DispatchQueue(label: "kvclone.writeback")

  /// Begins to write what the file has in memory by now.
  func begin(_ descriptor: Int32) {
    queue.async { kvclone_begin_writing_back(descriptor) }
  }

  /// Returns when nothing is under way: whoever closes the descriptor then cannot have another file's taken for it.
  func finish() {
    queue.sync {}
  }
}
