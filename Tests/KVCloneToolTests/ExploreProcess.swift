#if Explorer
  import Foundation
  import Testing

  /// A running `kvclone explore`, and a client that controls each byte of its requests.
  final class ExploreProcess {
    let process: Process
    let port: UInt16
    let token: String
    private let errors = Pipe()

    /// Starts the command on a free port, and waits until it listens.
    init(_ scratch: Scratch, environment: [String: String] = [:], _ options: String...) throws {
      process = scratch.process(
        ["--store", scratch.store, "explore", "--port", "0", "--json"] + options, environment: environment)
      let output = Pipe()
      process.standardOutput = output
      process.standardError = errors
      try process.run()
      var text = Data()
      while !text.contains(UInt8(ascii: "\n")) {
        let data = output.fileHandleForReading.availableData
        if data.isEmpty { break }
        text += data
      }
      let json = try #require(try JSONSerialization.jsonObject(with: text) as? [String: Any])
      port = UInt16(try #require(json["port"] as? Int))
      token = try #require(json["token"] as? String)
      #expect(json["url"] as? String == "http://127.0.0.1:\(port)/?token=\(token)")
    }

    deinit {
      if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    }

    /// Ends the command with a signal; returns its exit code and the output to stderr.
    func end(_ signal: Int32 = SIGTERM) -> (code: Int32, errors: String) {
      kill(process.processIdentifier, signal)
      let text = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      process.waitUntilExit()
      return (process.terminationReason == .exit ? process.terminationStatus : -1, text)
    }

    struct Reply {
      var status: Int
      /// With names in lower case.
      var fields: [String: String]
      var body: Data
      var text: String { String(decoding: body, as: UTF8.self) }
    }

    /// The name of the server in requests.
    var host: String { "127.0.0.1:\(port)" }

    /// Sends a request with the token's cookie, and returns the whole response.
    func get(_ target: String, cookie: String? = nil, host: String? = nil) throws -> Reply {
      let line = cookie.map { "Cookie: \($0)\r\n" } ?? ""
      return try reply(to: "GET \(target) HTTP/1.1\r\nHost: \(host ?? self.host)\r\n\(line)Connection: close\r\n\r\n")
    }

    /// Exchanges the token for a cookie.
    func cookie() throws -> String {
      let field = try #require(try get("/?token=\(token)").fields["set-cookie"])
      return String(field.prefix { $0 != ";" })
    }

    /// Sends bytes, and reads until the server closes the connection.
    func reply(to request: String) throws -> Reply {
      let connection = try Connection(port)
      connection.send(request)
      let bytes = connection.readToEnd()
      let end = try #require(bytes.firstRange(of: Data("\r\n\r\n".utf8)), "no response to \(request.prefix(80))")
      var lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
      let status = try #require(Int(lines.removeFirst().split(separator: " ")[1]))
      var fields: [String: String] = [:]
      for line in lines {
        let sides = line.split(separator: ":", maxSplits: 1)
        fields[sides[0].lowercased()] = sides.count > 1 ? sides[1].trimmingCharacters(in: .whitespaces) : ""
      }
      return Reply(status: status, fields: fields, body: bytes[end.upperBound...])
    }

    /// A TCP connection to the server.
    final class Connection {
      private let file: Int32

      init(_ port: UInt16) throws {
        file = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let code = withUnsafeBytes(of: &address) { bytes in
          connect(file, bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
        }
        if code != 0 {
          close(file)
          throw CocoaError(.fileNoSuchFile, userInfo: [NSLocalizedDescriptionKey: "no connection: \(errno)"])
        }
      }

      deinit { close(file) }

      /// Sends what the server accepts: it may close the connection before.
      func send(_ text: String) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
          let count = rest.withUnsafeBytes { Foundation.send(file, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
          if count <= 0 { return }
          rest = rest.dropFirst(count)
        }
      }

      func read(atMost size: Int) -> Data {
        var bytes = [UInt8](repeating: 0, count: size)
        let count = recv(file, &bytes, size, 0)
        return Data(bytes.prefix(max(0, count)))
      }

      func readToEnd() -> Data {
        var all = Data()
        while true {
          let bytes = read(atMost: 1 << 16)
          if bytes.isEmpty { return all }
          all += bytes
        }
      }
    }
  }
#endif
