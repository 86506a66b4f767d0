import Foundation
import Synchronization

/// Forwards connections to a server, and delays everything that the client sends.
///
/// The delay is per direction and does not limit the throughput: bytes wait in a queue, each until its own time.
final class LatencyProxy: @unchecked Sendable {
  private let target: String
  private let delay: Duration
  private let listener: Int32
  /// The directory of the proxy's socket.
  let directory: String

  /// - Parameters:
  ///   - target: the path of the server's socket.
  ///   - delay: the time that is added to each round trip.
  init(to target: String, delay: Duration) throws {
    self.target = target
    self.delay = delay
    directory = "/tmp/kvclone-latency-\(getpid())"
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    self.listener = listener
    let path = directory + "/.s.PGSQL.5432"
    guard Self.withAddress(path, { bind(listener, $0, $1) }) == 0, listen(listener, 64) == 0 else {
      throw Server.Failure(description: "no socket at \(path)")
    }
    Thread { [self] in
      while true {
        let client = accept(listener, nil, nil)
        if client < 0 { return }
        forward(client)
      }
    }.start()
  }

  func stop() {
    close(listener)
    try? FileManager.default.removeItem(atPath: directory)
  }

  private func forward(_ client: Int32) {
    let server = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    guard Self.withAddress(target, { connect(server, $0, $1) }) == 0 else {
      close(client)
      close(server)
      return
    }
    let queue = DelayQueue(delay)
    Thread {
      while true {
        var bytes = [UInt8](repeating: 0, count: 256 << 10)
        let count = read(client, &bytes, bytes.count)
        queue.add(count > 0 ? Array(bytes[..<count]) : [])
        if count <= 0 { return }
      }
    }.start()
    Thread {
      while true {
        let bytes = queue.next()
        if bytes.isEmpty || !Self.write(all: bytes, to: server) { break }
      }
      shutdown(server, Int32(SHUT_WR))
    }.start()
    Thread {
      var bytes = [UInt8](repeating: 0, count: 256 << 10)
      while true {
        let count = read(server, &bytes, bytes.count)
        if count <= 0 || !Self.write(all: bytes[..<count], to: client) { break }
      }
      close(client)
      close(server)
    }.start()
  }

  private static func write(all bytes: some Collection<UInt8>, to descriptor: Int32) -> Bool {
    let bytes = Array(bytes)
    var place = 0
    while place < bytes.count {
      let count = bytes.withUnsafeBytes { send(descriptor, $0.baseAddress! + place, bytes.count - place, 0x4000) }
      if count <= 0 { return false }
      place += count
    }
    return true
  }

  private static func withAddress<R>(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> R) -> R {
    var address = sockaddr_un()
    address.sun_family = UInt16(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
    }
  }
}

/// Bytes with the times at which they go on.
private final class DelayQueue: @unchecked Sendable {
  private let delay: Duration
  private let condition = NSCondition()
  private var waiting: [(time: ContinuousClock.Instant, bytes: [UInt8])] = []

  init(_ delay: Duration) { self.delay = delay }

  func add(_ bytes: [UInt8]) {
    condition.lock()
    waiting.append((.now + delay, bytes))
    condition.signal()
    condition.unlock()
  }

  /// Waits for the time of the next bytes; empty at the end.
  func next() -> [UInt8] {
    condition.lock()
    while waiting.isEmpty { condition.wait() }
    let first = waiting.removeFirst()
    condition.unlock()
    // The system sleeps for longer than asked, so the end of the wait is spent awake.
    let left = first.time - .now - .microseconds(200)
    if left > .zero { usleep(UInt32(left.seconds * 1e6)) }
    while ContinuousClock.now < first.time {}
    return first.bytes
  }
}
