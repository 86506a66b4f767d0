import Foundation
import KVClone
import KVCloneOperations
import Synchronization

/// Standard output as a sink of bytes: a failed write is an error, even if the descriptor was closed from the start.
enum StandardOutput {
  /// Written once, before any command runs.
  nonisolated(unsafe) private static var wasClosed = false
  private static let hasWritten = Mutex(false)

  /// Records whether there is a standard output. Call before the descriptor is reused.
  static func prepare() {
    wasClosed = fcntl(1, F_GETFD) == -1 && errno == EBADF
  }

  /// Rejects a closed standard output, for commands that wait before they write.
  static func requireOpen() throws {
    if wasClosed {
      throw Failure(
        "io",
        "standard output is closed: the result is lost; changes were committed, if any; redirect it to a file or a pipe"
      )
    }
  }

  /// Writes all bytes. If the reader has ended, SIGPIPE ends this process silently.
  static func write(_ bytes: [UInt8]) throws {
    if bytes.isEmpty { return }
    try requireOpen()
    hasWritten.withLock { $0 = true }
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Foundation.write(1, $0.baseAddress, $0.count) }
      if count > 0 {
        rest = rest.dropFirst(count)
        continue
      }
      let code = count == 0 ? EIO : errno
      switch code {
      case EINTR: continue
      case EAGAIN:
        // A parent may have made the pipe or the terminal non-blocking.
        var wait = pollfd(fd: 1, events: Int16(POLLOUT), revents: 0)
        _ = poll(&wait, 1, -1)
      default: throw failure(code)
      }
    }
  }

  /// Closes standard output if anything was written: quotas and network file systems report errors only then.
  static func finish() throws {
    if !hasWritten.withLock({ $0 }) { return }
    if close(1) != 0, errno != EBADF, errno != EINTR { throw failure(errno) }
  }

  private static func failure(_ code: Int32) -> Failure {
    let error = SystemError(code: code)
    let advice = code == EPIPE ? "the reading process has ended" : error.advice
    return Failure(
      "io", "cannot write to standard output (\(error.reason)); changes were committed, if any; \(advice)")
  }
}
