import CKVCloneLMDB
import Dispatch

/// Starts writing spilled pages to the disk while the transaction continues, so that its commit waits only for the
/// rest.
///
/// Spilled pages are in the page cache. By default the kernel starts to write them when the commit syncs, and the
/// processor idles until the disk has taken them all. `sync_file_range` starts at once; because submitting hundreds of
/// pages takes time too, another thread calls it. Only the commit's own sync makes anything durable.
final class Writeback: Sendable {
  private let queue = DispatchQueue(label: "kvclone.writeback")

  /// Starts to write the file's dirty pages.
  func begin(_ descriptor: Int32) {
    queue.async { kvclone_begin_writing_back(descriptor) }
  }

  /// Waits until no call is in progress: otherwise, a closed descriptor could be reused for another file.
  func finish() {
    queue.sync {}
  }
}
