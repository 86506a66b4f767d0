import Dispatch
import Glibc
import Synchronization

/// Tells when a file may have been written, by this process or another.
///
/// LMDB writes its pages and then its meta page by `pwrite`, and the kernel tells of every such call (inotify). The last one
/// comes before LMDB lets readers see the commit, which takes it some instructions more: so who is told looks again a few
/// times, at growing distances, and then sleeps until the next write. Where the kernel has no more watches to give, the
/// file counts as written every 250 ms.
package final class FileWatcher: Sendable {
  /// How often a file counts as written that cannot be watched.
  package static let pollInterval = 250
  /// The first of the looks after a write; each further one comes after twice the time.
  private static let firstLook = 10
  /// No look comes later than this after the one before.
  private static let lastLook = 5000

  private let queue = DispatchQueue(label: "kvclone.watcher")
  private let onWrite: @Sendable () -> Void
  /// Both are told what to do on `queue` alone, once they have begun.
  nonisolated(unsafe) private let timer: any DispatchSourceTimer
  nonisolated(unsafe) private let source: (any DispatchSourceRead)?
  /// Milliseconds until the next look; nil while nothing is waited for.
  private let nextLook = Mutex<Int?>(nil)

  /// Begins to watch.
  ///
  /// - Parameters:
  ///   - path: the file; it stays the one that is watched, whatever is renamed.
  ///   - polls: does without the kernel's help.
  ///   - onWrite: called on a queue of the watcher's own.
  package init(path: String, polls: Bool = false, onWrite: @escaping @Sendable () -> Void) {
    self.onWrite = onWrite
    let timer = DispatchSource.makeTimerSource(queue: queue)
    let descriptor = polls ? -1 : Self.watch(path)
    let source = descriptor < 0 ? nil : DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
    unsafe self.timer = timer
    unsafe self.source = source
    timer.setEventHandler { [weak self] in self?.look() }
    if let source {
      source.setEventHandler { [weak self] in
        Self.drain(descriptor)
        self?.noteWrite()
      }
      source.setCancelHandler { close(descriptor) }
      timer.schedule(deadline: .distantFuture)
      source.resume()
    } else {
      timer.schedule(deadline: .now(), repeating: .milliseconds(Self.pollInterval))
    }
    timer.resume()
  }

  deinit {
    unsafe timer.cancel()
    unsafe source?.cancel()
  }

  /// A descriptor that can be read when the file was written; negative where there is none.
  private static func watch(_ path: String) -> Int32 {
    let descriptor = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
    guard descriptor >= 0 else { return -1 }
    guard unsafe inotify_add_watch(descriptor, path, UInt32(IN_MODIFY)) >= 0 else {
      close(descriptor)
      return -1
    }
    return descriptor
  }

  /// Forgets what the kernel told: that it told something is all there is to know.
  private static func drain(_ descriptor: Int32) {
    unsafe withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { buffer in
      while unsafe read(descriptor, buffer.baseAddress, buffer.count) > 0 {}
    }
  }

  private func noteWrite() {
    onWrite()
    wait(Self.firstLook)
  }

  private func look() {
    onWrite()
    guard let last = nextLook.withLock({ $0 }) else { return }
    wait(2 * last)
  }

  private func wait(_ milliseconds: Int) {
    let isLast = milliseconds > Self.lastLook
    nextLook.withLock { $0 = isLast ? nil : milliseconds }
    unsafe timer.schedule(deadline: isLast ? .distantFuture : .now() + .milliseconds(milliseconds))
  }
}
