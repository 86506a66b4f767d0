import Foundation
import Synchronization

/// A child process. Foundation's `Process` adds milliseconds to each start, too slow for thousands of trials.
struct ChildProcess: Sendable {
  enum Ending: Sendable, Equatable, CustomStringConvertible {
    case exit(Int32)
    case signal(Int32)

    /// The meaning of `SIGALRM`, which a child's own alarm raises.
    static let late = "the process did not end in time"

    var description: String {
      switch self {
      case .exit(let code): "exit \(code)"
      case .signal(SIGALRM): "signal 14: \(Self.late)"
      case .signal(let number): "signal \(number)"
      }
    }
  }

  /// The seconds after which a child's alarm ends it.
  static let secondsPerTrial: UInt32 = 90

  let id: pid_t

  /// Serializes starts, so that descriptors do not leak into a child that another thread starts at the same time.
  private static let starting = Mutex<Void>(())

  /// Starts a program with the given descriptors as its standard files. The descriptors stay open in this process.
  static func start(
    _ executable: String, _ arguments: [String], environment: [String: String], input: Int32, output: Int32,
    errors: Int32
  ) throws -> ChildProcess {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for (target, source) in [(Int32(0), input), (1, output), (2, errors)] {
      posix_spawn_file_actions_adddup2(&actions, source, target)
    }
    var argumentList = ([executable] + arguments).map { strdup($0) } + [nil]
    var variables = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
    defer { for text in argumentList + variables { free(text) } }
    var id: pid_t = 0
    let code = posix_spawn(&id, executable, &actions, nil, &argumentList, &variables)
    guard code == 0 else { throw Finding("cannot start \(executable): \(String(cString: strerror(code)))") }
    return ChildProcess(id: id)
  }

  /// Waits until the process exits.
  func wait() -> Ending {
    var status: Int32 = 0
    while waitpid(id, &status, 0) < 0, errno == EINTR {}
    let signal = status & 0x7F
    return signal == 0 ? .exit((status >> 8) & 0xFF) : .signal(signal)
  }

  /// Runs a program until it exits, with its output and errors in files.
  static func run(
    _ executable: String, _ arguments: [String], environment: [String: String], output: String, errors: String
  ) throws -> Ending {
    let child = try starting.withLock { _ in
      let files = [
        open("/dev/null", O_RDONLY | O_CLOEXEC), try newFile(output), try newFile(errors),
      ]
      defer { for file in files { close(file) } }
      return try start(
        executable, arguments, environment: environment, input: files[0], output: files[1], errors: files[2])
    }
    return child.wait()
  }

  /// Starts a program with pipes: returns a descriptor that it reads from and one that it writes to.
  static func converse(
    _ executable: String, _ arguments: [String], environment: [String: String], errors: String
  ) throws -> (child: ChildProcess, toChild: Int32, fromChild: Int32) {
    try starting.withLock { _ in
      let (input, output) = (try pipe(), try pipe())
      let errors = try newFile(errors)
      defer { for file in [input.read, output.write, errors] { close(file) } }
      let child = try start(
        executable, arguments, environment: environment, input: input.read, output: output.write, errors: errors)
      return (child, input.write, output.read)
    }
  }

  private static func newFile(_ path: String) throws -> Int32 {
    let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw Finding("cannot create \(path): \(String(cString: strerror(errno)))") }
    return file
  }

  private static func pipe() throws -> (read: Int32, write: Int32) {
    var ends: [Int32] = [-1, -1]
    guard Foundation.pipe(&ends) == 0 else { throw Finding("no pipe: \(String(cString: strerror(errno)))") }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
  }
}

/// The lines read from a pipe.
struct PipeLines {
  let descriptor: Int32
  private var buffer: [UInt8] = []

  init(_ descriptor: Int32) {
    self.descriptor = descriptor
  }

  /// Whether data or the end of the pipe arrives within the given time.
  func hasNext(within time: Duration) -> Bool {
    var poller = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return !buffer.isEmpty || poll(&poller, 1, Int32(time.components.seconds * 1000)) != 0
  }

  /// Waits for the next line; returns nil at the end, and for a last line without a newline.
  mutating func next() -> String? {
    var chunk = [UInt8](repeating: 0, count: 1 << 16)
    var searched = 0
    while true {
      if let end = buffer[searched...].firstIndex(of: UInt8(ascii: "\n")) {
        defer { buffer.removeSubrange(...end) }
        return String(decoding: buffer[..<end], as: UTF8.self)
      }
      searched = buffer.count
      let count = read(descriptor, &chunk, chunk.count)
      if count < 0, errno == EINTR { continue }
      if count <= 0 { return nil }
      buffer.append(contentsOf: chunk[..<count])
    }
  }
}
