import Dispatch
import KVCloneCore
import KVCloneTracing

extension Cancellation {
  /// Runs a call on a separate thread, where it may wait for the disk, and cancels it with its task.
  package func onOwnThread<R: Sendable, E: Error>(_ body: @escaping @Sendable () throws(E) -> R) async throws(E) -> R {
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { (continuation: CheckedContinuation<Result<R, E>, Never>) in
        DispatchQueue(label: "KVClone.operation").async(
          execute: StoreSpan.carrying {
            do throws(E) {
              continuation.resume(returning: .success(try body()))
            } catch {
              continuation.resume(returning: .failure(error))
            }
          })
      }
    } onCancel: {
      cancel()
    }
    return try result.get()
  }
}
