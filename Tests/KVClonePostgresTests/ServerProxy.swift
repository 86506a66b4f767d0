#if Postgres
  import Foundation
  import Glibc
  import Synchronization

  @testable import KVClonePostgres

  /// A value that threads of a test share, of a type that is not sendable by itself.
  final class Locked<Value>: @unchecked Sendable {
    private var value: Value
    private let lock = NSLock()

    init(_ value: Value) { self.value = value }

    func withLock<R>(_ body: (inout Value) throws -> R) rethrows -> R {
      lock.lock()
      defer { lock.unlock() }
      return try body(&value)
    }
  }

  /// A proxy in front of the server of the tests that loses connections at chosen moments.
  final class ServerProxy: Sendable {
    enum Mode: Sendable {
      case forward
      /// Loses the connection that sends COMMIT, before the server receives it.
      case loseCommit
      /// Loses the connection after the server has committed, and before the client receives its answer.
      case loseAnswer
      /// Makes the server roll back instead of committing, and answer COMMIT with ROLLBACK, as in an aborted
      /// transaction.
      case rollBack
      /// Keeps connections open, and forwards nothing.
      case silent
      /// Reads nothing from the connections.
      case stalled
      /// Stalls with the first rows of a COPY.
      case stallCopy
      /// Closes every new connection.
      case refuse
    }

    private struct State: Sendable {
      var mode = Mode.forward
      var next = Mode.forward
      var action: (@Sendable () -> Void)?
      var descriptors: [Int32] = []
    }

    private let state = Mutex(State())
    private let directory: String
    private let server: (host: String, port: String)
    private let listener: Int32

    /// The address of the tests, through the proxy.
    var address: String { (ClusterFixture.address ?? "") + " host=\(directory) port=5432" }

    init(_ fixture: ClusterFixture) throws {
      let pool = fixture.clusters[0].pool
      let connection = try pool.take(until: pool.deadline)
      server = (connection.parameter("host") ?? "localhost", connection.parameter("port") ?? "5432")
      pool.give(back: connection)
      directory = "/tmp/kvclone-proxy-\(getpid())-\(UInt32.random(in: 0..<(.max)))"
      mkdir(directory, 0o700)
      listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
      _ = Self.withAddress(directory + "/.s.PGSQL.5432") { bind(listener, $0, $1) }
      listen(listener, 16)
      let accepting = listener
      Thread.detachNewThread { [self] in
        while true {
          let client = accept(accepting, nil, nil)
          if client < 0 { return }
          serve(client)
        }
      }
    }

    /// Ends all connections and the listener.
    func stop() {
      shutdown(listener, Int32(SHUT_RDWR))
      loseAll()
      unlink(directory + "/.s.PGSQL.5432")
      rmdir(directory)
    }

    /// Changes the mode; `next` and `action` apply after a loss.
    func set(_ mode: Mode, next: Mode = .forward, _ action: (@Sendable () -> Void)? = nil) {
      state.withLock {
        $0.mode = mode
        $0.next = next
        $0.action = action
      }
    }

    /// Ends all connections, as a restart of the server does.
    func loseAll() {
      state.withLock {
        for descriptor in $0.descriptors { shutdown(descriptor, Int32(SHUT_RDWR)) }
        $0.descriptors = []
      }
    }

    private func serve(_ client: Int32) {
      if state.withLock({ $0.mode == .refuse }) {
        close(client)
        return
      }
      let server = socket(server.host.hasPrefix("/") ? AF_UNIX : AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      guard connectServer(server) == 0 else {
        close(client)
        return
      }
      state.withLock { $0.descriptors += [client, server] }
      Thread.detachNewThread { [self] in pass(client, server, isRequest: true) }
      Thread.detachNewThread { [self] in pass(server, client, isRequest: false) }
    }

    private func connectServer(_ descriptor: Int32) -> Int32 {
      if server.host.hasPrefix("/") {
        return Self.withAddress(server.host + "/.s.PGSQL." + server.port) { connect(descriptor, $0, $1) }
      }
      var found: UnsafeMutablePointer<addrinfo>?
      var hints = addrinfo()
      hints.ai_family = AF_INET
      guard getaddrinfo(server.host, server.port, &hints, &found) == 0, let found else { return -1 }
      defer { freeaddrinfo(found) }
      return connect(descriptor, found.pointee.ai_addr, found.pointee.ai_addrlen)
    }

    private func lose() {
      let action = state.withLock { state in
        state.mode = state.next
        return state.action
      }
      action?()
    }

    private static func withAddress(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
      return withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
      }
    }

    private func pass(_ from: Int32, _ to: Int32, isRequest: Bool) {
      var buffer = [UInt8](repeating: 0, count: 1 << 16)
      while true {
        let count = read(from, &buffer, buffer.count)
        if count <= 0 { break }
        let mode = state.withLock { $0.mode }
        if mode == .silent { continue }
        if isRequest, mode == .stallCopy, buffer[..<count].firstRange(of: Array("PGCOPY\n".utf8)) != nil {
          set(.stalled)
        }
        while state.withLock({ $0.mode == .stalled }) { usleep(10_000) }
        let commit = buffer[..<count].firstRange(of: Array("COMMIT\0".utf8))
        if let commit, isRequest, mode == .rollBack {
          buffer.replaceSubrange(commit, with: Array("ABORT \0".utf8))
          lose()
        }
        if commit != nil, mode == (isRequest ? .loseCommit : .loseAnswer) {
          // The server rolls back before the client notices.
          if isRequest { shutdown(to, Int32(SHUT_RDWR)) }
          lose()
          break
        }
        var sent = 0
        while sent < count {
          let written = buffer.withUnsafeBytes {
            send(to, $0.baseAddress! + sent, count - sent, Int32(MSG_NOSIGNAL))
          }
          if written <= 0 { break }
          sent += written
        }
      }
      shutdown(from, Int32(SHUT_RDWR))
      shutdown(to, Int32(SHUT_RDWR))
    }
  }
#endif
