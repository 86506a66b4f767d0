import KVCloneCore
import KVCloneLMDB
import Synchronization

extension PageWatch {
  /// Returns a watch that reports the bytes of a file that were read, and stops reading on cancellation; nil without
  /// either.
  static func reporting(
    _ facts: StorageFacts, _ progress: (@Sendable (OperationProgress) -> Void)?, _ cancellation: Cancellation?
  ) -> PageWatch? {
    guard progress != nil || cancellation != nil else { return nil }
    let total = facts.fileBytes
    let completed = Atomic<UInt64>(0)
    return PageWatch { byteCount in
      let sum = completed.add(UInt64(byteCount), ordering: .relaxed).newValue
      progress?(OperationProgress(phase: .read, completed: Int(clamping: min(sum, total)), total: Int(clamping: total)))
      return cancellation?.isCancelled != true
    }
  }
}
