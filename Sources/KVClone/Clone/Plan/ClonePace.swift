import KVCloneCore
import KVCloneRecords
import Synchronization

/// The recent speed of clones in this process, to estimate how long another one will hold the write lock.
package final class ClonePace: Attachment {
  package init() {}

  private struct State {
    // The initial estimate: a small record, and a slow disk.
    var secondsPerObject = 1e-6
    var secondsPerCopiedByte = 2e-9
    var secondsPerByte = 2e-9
    var secondsPerCommit = 2e-3
  }

  /// Fewer objects, or bytes, measure the clock rather than the store.
  private static let fewObjects = 100
  private static let fewBytes: UInt64 = 1 << 20

  private let state = Mutex(State())

  /// Updates the estimate from a clone: the time to write it, and to commit it.
  package func note(objects: Int, written: UInt64, copied: UInt64 = 0, writing: Duration, commit: Duration) {
    let (writing, commit) = (writing.seconds, commit.seconds)
    let byteCount = written.saturatingAdd(copied)
    state.withLock { state in
      if copied >= Self.fewBytes {
        // Copied values dominate the time of the objects.
        state.secondsPerCopiedByte = max(0, writing - Double(objects) * state.secondsPerObject) / Double(copied)
      } else if objects >= Self.fewObjects {
        state.secondsPerObject = writing / Double(objects)
      }
      if byteCount < Self.fewBytes {
        state.secondsPerCommit = commit
      } else {
        state.secondsPerByte = max(0, commit - state.secondsPerCommit) / Double(byteCount)
      }
    }
  }

  /// The estimated time of the write lock, until the durable commit.
  package func lockDuration(objects: Int, written: UInt64, copied: UInt64 = 0) -> Duration {
    let state = state.withLock { $0 }
    return .seconds(
      Double(objects) * state.secondsPerObject + Double(copied) * state.secondsPerCopiedByte
        + Double(written.saturatingAdd(copied)) * state.secondsPerByte + state.secondsPerCommit)
  }

  func note(_ result: CloneResult, writing: Duration, commit: Duration) {
    note(
      objects: result.objectCount, written: result.bytesWritten, copied: result.bytesCopied, writing: writing,
      commit: commit)
  }

  func lockDuration(of plan: ClonePlan) -> Duration {
    lockDuration(objects: plan.objectCount, written: plan.bytesWritten, copied: plan.bytesCopied)
  }
}

extension Duration {
  fileprivate var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
