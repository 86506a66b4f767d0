import Dispatch
import Glibc
import Synchronization

/// Reports when a file may have been written, by this process or another.
///
/// LMDB writes its pages and then its meta page by `pwrite`, and the kernel reports each call (inotify). The last one
/// comes some instructions before LMDB makes the commit visible to readers: the watcher therefore calls back a few
/// times, at growing intervals, and then sleeps until the next write. If the kernel has no more watches, the watcher
/// calls back every 250 ms.
package final class FileWatcher: Sendable {
  /// The interval of callbacks for a file that cannot be watched.
  package static let pollInterval = 250
  /// The delay of the first callback after a write; each further one comes after twice the time.
  private static let firstLook = 10
  /// The greatest interval between two callbacks.
  private static let lastLook = 5000

  private let queue = DispatchQueue(label: "kvclone.watcher")
  private let onWrite: @Sendable () -> Void
  /// Both are used on `queue` alone once they have started.
  nonisolated(unsafe) private let timer: any DispatchSourceTimer
  nonisolated(unsafe) private let source: (any DispatchSourceRead)?
  /// Milliseconds until the next callback; nil if none is due.
  private let nextLook = Mutex<Int?>(nil)

  /// Starts to watch.
  ///
  /// - Parameters:
  ///   - path: the file; renames do not change which file is watched.
  ///   - polls: does not use inotify.
  ///   - onWrite: called on the watcher's own queue.
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

  /// Returns a descriptor that becomes readable when the file is written; negative if the file cannot be watched.
  private static func watch(_ path: String) -> Int32 {
    let descriptor = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
    guard descriptor >= 0 else { return -1 }
    guard unsafe inotify_add_watch(descriptor, path, UInt32(IN_MODIFY)) >= 0 else {
      close(descriptor)
      return -1
    }
    return descriptor
  }

  /// Discards the events: only their arrival matters.
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
