import Foundation
import KVClone
import Synchronization

/// Standard output as a sink of bytes: what cannot be written is an error, also where the descriptor was closed from the start.
enum StandardOutput {
  /// Written once, before any command runs.
  nonisolated(unsafe) private static var wasClosed = false
  private static let hasWritten = Mutex(false)

  /// Notes whether there is a standard output. Call it before the descriptor is filled.
  static func prepare() {
    wasClosed = fcntl(1, F_GETFD) == -1 && errno == EBADF
  }

  /// Refuses a closed standard output, for commands that would wait before they write.
  static func requireOpen() throws {
    if wasClosed {
      throw Failure(
        "io",
        "standard output is closed: the result is lost; changes were committed, if any; redirect it to a file or a pipe"
      )
    }
  }

  /// Writes all bytes. A reader that has ended ends this process by SIGPIPE, without a word.
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
        // A parent may have made the pipe or the terminal non-blocking for itself.
        var wait = pollfd(fd: 1, events: Int16(POLLOUT), revents: 0)
        _ = poll(&wait, 1, -1)
      default: throw failure(code)
      }
    }
  }

  /// Closes standard output where something was written to it: a quota and a network file system report errors only then.
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
