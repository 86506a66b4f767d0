import Foundation

/// Standard input as a source of bytes, for the file name "-".
enum StandardInput {
  /// Written once, before any command runs.
  nonisolated(unsafe) private static var wasClosed = false

  /// Prevents files from getting the numbers of the three standard descriptors. Call before anything else.
  static func prepare() {
    wasClosed = fcntl(0, F_GETFD) == -1 && errno == EBADF
    StandardOutput.prepare()
    for descriptor in Int32(0)...2 where fcntl(descriptor, F_GETFD) == -1 && errno == EBADF {
      if Foundation.open("/dev/null", O_RDWR) != descriptor { return }
    }
  }

  /// Fails if descriptors are missing that signal handling needs: without them the process would crash.
  static func requireDescriptors() throws {
    let copies = (0..<2).map { _ in fcntl(0, F_DUPFD_CLOEXEC, 3) }
    let code = errno
    for copy in copies where copy >= 0 { close(copy) }
    if copies.contains(-1), code == EMFILE || code == ENFILE {
      throw Failure(system: code, "the command cannot start")
    }
  }

  /// Checks standard input before work begins.
  static func check() throws {
    if wasClosed {
      throw Failure("io", "standard input is closed; redirect a file into it, pipe one, or name the file")
    }
    var status = stat()
    if fstat(0, &status) == 0, status.st_mode & S_IFMT == S_IFDIR {
      throw Failure("io", "standard input is a directory; redirect a file into it, or name the file")
    }
  }

  /// Whether standard input is a regular file, which delivers its bytes without waiting for another process.
  static var isRegularFile: Bool {
    var status = stat()
    return fstat(0, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
  }

  /// The position in a regular file: the bytes before it belong to another command.
  static var position: off_t { lseek(0, 0, SEEK_CUR) }

  /// Continues reading a regular file at an earlier position.
  static func seek(to position: off_t) throws {
    if position < 0 || lseek(0, position, SEEK_SET) != position {
      throw Failure(system: errno, "standard input cannot be read again; name the file instead")
    }
  }

  /// The maximum read from a pipe.
  private static let pieceSize = 64 << 10

  /// Appends the next bytes, at most 64 KiB; returns false at the end. Waits for some, but not for more than are
  /// available.
  static func append(to buffer: inout [UInt8]) throws -> Bool {
    try withUnsafeTemporaryAllocation(byteCount: pieceSize, alignment: 16) { bytes in
      let count = try read(bytes)
      buffer.append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes[..<count]))
      return count > 0
    }
  }

  /// The next bytes, at most a MiB; nil at the end. Waits for some, but not for more than are available.
  static func next() throws -> Data? {
    var bytes = Data(count: 1 << 20)
    let count = try bytes.withUnsafeMutableBytes { try read($0) }
    return count == 0 ? nil : bytes.prefix(count)
  }

  /// Reads to the start of a buffer; returns the number of bytes, 0 at the end.
  private static func read(_ buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    while true {
      let count = Foundation.read(0, buffer.baseAddress, buffer.count)
      if count >= 0 { return count }
      if errno != EINTR {
        throw Failure("io", "standard input cannot be read; check what is redirected or piped into it")
      }
    }
  }
}
