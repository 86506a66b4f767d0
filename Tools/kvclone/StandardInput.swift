import Foundation

/// Standard input as a source of bytes, for the file name "-".
enum StandardInput {
  /// Written once, before any command runs.
  nonisolated(unsafe) private static var wasClosed = false

  /// Keeps the three standard descriptors from becoming files that this process opens. Call it before anything else.
  static func prepare() {
    wasClosed = fcntl(0, F_GETFD) == -1 && errno == EBADF
    for descriptor in Int32(0)...2 where fcntl(descriptor, F_GETFD) == -1 && errno == EBADF {
      if Foundation.open("/dev/null", O_RDWR) != descriptor { return }
    }
  }

  /// Says what is wrong with standard input while nothing has begun.
  static func check() throws {
    if wasClosed {
      throw Failure("io", "standard input is closed; redirect a file into it, pipe one, or name the file")
    }
    var status = stat()
    if fstat(0, &status) == 0, status.st_mode & S_IFMT == S_IFDIR {
      throw Failure("io", "standard input is a directory; redirect a file into it, or name the file")
    }
  }

  /// The next bytes, at most a MiB; nil at the end. It waits for some, but not for more than there are: what came is used
  /// at once.
  static func next() throws -> Data? {
    var bytes = Data(count: 1 << 20)
    while true {
      let count = bytes.withUnsafeMutableBytes { read(0, $0.baseAddress, $0.count) }
      if count > 0 { return bytes.prefix(count) }
      if count == 0 { return nil }
      if errno != EINTR {
        throw Failure("io", "standard input cannot be read; check what is redirected or piped into it")
      }
    }
  }
}
