#if Explorer
  import FlyingSocks
  import Foundation
  import KVCloneExplorer

  /// The address and the port that the explorer listens on.
  struct ExploreAddress {
    let socket: Socket
    /// Without brackets.
    let host: String
    let port: UInt16
    let isIPv6: Bool

    /// An address of either family, before it is bound.
    private static func parsed(_ text: String, _ port: UInt16) -> (any SocketAddress)? {
      var literal = text == "localhost" ? "127.0.0.1" : text
      if literal.hasPrefix("["), literal.hasSuffix("]") { literal = String(literal.dropFirst().dropLast()) }
      if let address: sockaddr_in = try? .inet(ip4: literal, port: port) { return address }
      return try? sockaddr_in6.inet6(ip6: literal, port: port)
    }

    /// - Throws: a usage error for a text that is no IP address.
    static func check(_ text: String) throws {
      if parsed(text, 0) == nil {
        throw Failure(usage: "--address \(text) is not an IP address; give one of this machine, such as 127.0.0.1")
      }
    }

    /// - Throws: a usage error for a text that no `Host` header can have, such as a URL.
    static func checkName(_ text: String) throws {
      if HostName(text) == nil {
        throw Failure(
          usage: "--host \(text) is not a name with an optional port; give it without scheme and path, such as "
            + "notes.example or notes.example:8080")
      }
    }

    /// Listens on an address of this machine.
    ///
    /// - Parameters:
    ///   - text: an IP address that was checked, or `localhost`.
    ///   - port: 0 for any free port.
    /// - Throws: a typed error if the system refuses the address.
    init(listeningOn text: String, port: UInt16) throws {
      do {
        guard let address = Self.parsed(text, port) else { throw SocketError.unsupportedAddress }
        socket = try Self.listen(address)
        switch try socket.sockname() {
        case .ip4(let host, let port): (self.host, self.port, isIPv6) = (host, port, false)
        case .ip6(let host, let port): (self.host, self.port, isIPv6) = (host, port, true)
        case .unix: throw SocketError.unsupportedAddress
        }
      } catch SocketError.failed(_, let code, _) {
        throw Self.failure(code, text, port)
      }
    }

    private static func listen(_ address: some SocketAddress) throws -> Socket {
      let socket = try Socket(domain: Int32(address.family))
      // The browser of --open must not inherit it.
      _ = fcntl(socket.file.rawValue, F_SETFD, FD_CLOEXEC)
      do {
        // Allows a restart on the same port.
        try socket.setValue(true, for: .localAddressReuse)
        try socket.bind(to: address)
      } catch {
        try? socket.close()
        throw error
      }
      try socket.listen()
      return socket
    }

    private static func failure(_ code: Int32, _ address: String, _ port: UInt16) -> Failure {
      switch code {
      case EADDRINUSE:
        Failure(
          "portInUse",
          "port \(port) of \(address) is in use; end the program that uses it, or choose another port (--port 0 takes "
            + "a free one)")
      case EADDRNOTAVAIL:
        Failure(
          "addressNotAvailable", "\(address) is not an address of this machine; give one that `ip address` lists")
      case EACCES:
        Failure("portNotPermitted", "port \(port) needs privileges; choose one from 1024 (--port)")
      default: Failure(system: code, "the explorer cannot listen on port \(port) of \(address)")
      }
    }

    var isLoopback: Bool { isIPv6 ? host == "::1" : host.hasPrefix("127.") }

    /// Whether it listens on all addresses of the machine.
    private var isWildcard: Bool { host == "0.0.0.0" || host == "::" }

    /// The URL of the first page.
    func url(token: String) -> String {
      let name = isWildcard ? (isIPv6 ? "::1" : "127.0.0.1") : host
      return "http://\(Self.bracketed(name))\(suffix)/?token=\(token)"
    }

    /// The values of a `Host` header that name this server.
    ///
    /// - Parameter further: names that only the user knows, such as of a reverse proxy.
    func hosts(_ further: [String]) -> Set<String> {
      var names = [host, "localhost", "127.0.0.1", "::1"]
      if !isLoopback { names.append(ProcessInfo.processInfo.hostName) }
      if isWildcard { names += Host.current().addresses.filter { !$0.contains("%") } }
      return Set(names.map { Self.bracketed($0) + suffix } + further)
    }

    /// The scheme's own port is not part of URLs.
    private var suffix: String { port == 80 ? "" : ":\(port)" }

    private static func bracketed(_ host: String) -> String { host.contains(":") ? "[\(host)]" : host }
  }
#endif
