#if Explorer
  import Foundation

  /// A client of WebDriver (W3C): JSON over HTTP, with a connection per command.
  ///
  /// `URLSession` does not accept the headers of chromedriver.
  struct WebDriver {
    struct Failure: Error, CustomStringConvertible {
      var description: String
    }

    var port: UInt16

    /// Sends a command, and returns the value of its response.
    @discardableResult
    func send(_ method: String, _ path: String, _ body: [String: Any]? = nil) throws -> Any {
      var content = Data()
      if let body { content = try JSONSerialization.data(withJSONObject: body) }
      let head = """
        \(method) \(path) HTTP/1.1\r
        Host: 127.0.0.1:\(port)\r
        Content-Type: application/json\r
        Content-Length: \(content.count)\r
        \r

        """
      let response = try exchange(Data(head.utf8) + content)
      guard response.starts(with: Data("HTTP/1.1 200".utf8)),
        let start = response.firstRange(of: Data("\r\n\r\n".utf8))?.upperBound,
        let document = try? JSONSerialization.jsonObject(with: response[start...]) as? [String: Any],
        let value = document["value"]
      else {
        throw Failure(description: "\(method) \(path): \(String(decoding: response.prefix(1000), as: UTF8.self))")
      }
      return value
    }

    /// Sends a request, and receives the response; the server keeps the connection.
    private func exchange(_ request: Data) throws -> Data {
      let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
      guard descriptor >= 0 else { throw Failure(description: "socket: \(errno)") }
      defer { close(descriptor) }
      var patience = timeval(tv_sec: 120, tv_usec: 0)
      setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = port.bigEndian
      address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      let size = socklen_t(MemoryLayout<sockaddr_in>.size)
      let isConnected = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, size) == 0 }
      }
      guard isConnected else { throw Failure(description: "connect: \(errno)") }
      var rest = request[...]
      while !rest.isEmpty {
        let count = rest.withUnsafeBytes {
          Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
        guard count > 0 else { throw Failure(description: "send: \(errno)") }
        rest = rest.dropFirst(count)
      }
      var response = Data()
      var buffer = [UInt8](repeating: 0, count: 1 << 16)
      while true {
        let count = recv(descriptor, &buffer, buffer.count, 0)
        guard count >= 0 else { throw Failure(description: "no response: \(errno)") }
        response.append(contentsOf: buffer[..<count])
        if count == 0 || isComplete(response) { return response }
      }
    }

    private func isComplete(_ response: Data) -> Bool {
      guard let end = response.firstRange(of: Data("\r\n\r\n".utf8))?.upperBound else { return false }
      let head = String(decoding: response[..<end], as: UTF8.self)
      guard let length = head.firstMatch(of: /(?i)content-length: *(\d+)/).flatMap({ Int($0.1) }) else { return false }
      return response.count - end >= length
    }
  }
#endif
