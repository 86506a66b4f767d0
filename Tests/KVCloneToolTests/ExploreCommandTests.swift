import Foundation
import Testing

#if Explorer
  @Suite("kvclone: explore")
  struct ExploreCommandTests {
    @Test("the token of the URL becomes a cookie, and nothing is shown without either")
    func token() throws {
      let server = try ExploreProcess(try Scratch.filled(3))
      #expect(try server.get("/").status == 401)
      #expect(try server.get("/?token=\(server.token)x").status == 401)
      #expect(try server.get("/?token=").status == 401)
      #expect(try server.get("/", cookie: "token=x; a=b").status == 401)
      let first = try server.get("/?token=\(server.token)")
      #expect(first.status < 400)
      let attributes = try #require(first.fields["set-cookie"]).lowercased()
      #expect(attributes.contains("httponly") && attributes.contains("samesite=strict"))
      let page = try server.get("/", cookie: server.cookie())
      #expect(page.status == 200 && page.text.contains("Note"))
      #expect(page.fields["content-type"] == "text/html; charset=utf-8")
      #expect(page.fields["content-length"] == "\(page.body.count)")
      #expect(!page.text.contains(server.token))
    }

    @Test("a request under another name, or from another site, is refused")
    func otherSites() throws {
      let server = try ExploreProcess(try Scratch.filled(3), "--write", "--host", "notes.example:8080")
      let cookie = try server.cookie()
      for host in ["evil.example", "evil.example:\(server.port)", "127.0.0.1", "127.0.0.1:1"] {
        #expect(try server.get("/", cookie: cookie, host: host).status == 421, "\(host)")
      }
      for host in ["localhost:\(server.port)", "[::1]:\(server.port)"] {
        #expect(try server.get("/", cookie: cookie, host: host).status == 200, "\(host)")
      }
      // The cookie is of one port.
      #expect(try server.get("/?token=\(server.token)", host: "notes.example:8080").status < 400)
      let post = "POST /clone/Note/1 HTTP/1.1\r\nHost: \(server.host)\r\nCookie: \(cookie)\r\nConnection: close\r\n"
      let form = "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 0\r\n\r\n"
      for origin in ["Origin: http://evil.example\r\n", "Origin: null\r\n"] {
        #expect(try server.reply(to: post + origin + form).status == 403, "\(origin)")
      }
      #expect(try server.reply(to: post + "Sec-Fetch-Site: cross-site\r\n" + form).status == 403)
    }

    @Test(
      "a further name that is a URL or has a path is wrong usage",
      arguments: ["http://notes.example", "notes.example/", "notes.example:port", "notes.example:70000", "", "a b"])
    func furtherName(_ name: String) throws {
      let result = try Scratch.filled(1).tool("explore", "--port", "0", "--host", name)
      #expect(result.code == 64 && result.errors.contains("notes.example:8080"), "\(result.errors)")
    }

    @Test(
      "a path leads to no file",
      arguments: [
        "/assets/../../../../etc/passwd", "/assets/..%2f..%2f..%2fetc%2fpasswd", "/%2e%2e/%2e%2e/etc/passwd",
        "//etc/passwd", "/assets/%00", "/assets/..%5c..%5cetc", "/etc/passwd",
      ])
    func traversal(_ path: String) throws {
      let server = try ExploreProcess(try Scratch.filled(1))
      let reply = try server.get(path, cookie: server.cookie())
      #expect([400, 404].contains(reply.status))
      #expect(!reply.text.contains("root:"))
    }

    @Test("a message that is not valid HTTP, or too large, gets its status, and the next client its page")
    func hostile() throws {
      let long = String(repeating: "a", count: 1 << 20)
      let requests: [(String, Int)] = [
        ("GET / HTTP/1.1\r\n\r\n", 400), ("GET / HTTP/1.1\nHost: a\n\n", 400), ("\u{0}\r\n\r\n", 400),
        ("GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400),
        ("\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", 400), ("GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n", 413),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 65537\r\n\r\n", 413),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 411),
        ("GET /\(long) HTTP/1.1\r\nHost: a\r\n\r\n", 414), ("GET / HTTP/1.1\r\nHost: a\r\nA: \(long)\r\n\r\n", 431),
        ("GET / HTTP/1.1\r\nHost: a\r\n" + String(repeating: "A: a\r\n", count: 1000) + "\r\n", 431),
      ]
      let server = try ExploreProcess(try Scratch.filled(1))
      let cookie = try server.cookie()
      for (request, status) in requests {
        let reply = try server.reply(to: request)
        #expect(reply.status == status && reply.fields["connection"] == "close", "\(request.prefix(80))")
        #expect(try server.get("/", cookie: cookie).status == 200)
      }
    }

    @Test("clients that send nothing or only a part of a request take no place from others")
    func idleClients() throws {
      let server = try ExploreProcess(try Scratch.filled(1))
      let cookie = try server.cookie()
      var limits = rlimit()
      getrlimit(Int32(RLIMIT_NOFILE.rawValue), &limits)
      // More than the server keeps, if the limit of this process allows so many.
      let count = min(2000, max(100, Int(clamping: limits.rlim_cur) - 500))
      var connections: [ExploreProcess.Connection] = []
      for number in 0..<count {
        let connection = try ExploreProcess.Connection(server.port)
        if number % 2 == 0 { connection.send("GET /?where=") }
        connections.append(connection)
        if number % 200 == 199 { #expect(try server.get("/", cookie: cookie).status == 200) }
      }
      #expect(try server.get("/", cookie: cookie).status == 200)
      // A slow client that continues is served, too.
      let slow = try ExploreProcess.Connection(server.port)
      for byte in "GET / HTTP/1.1\r\nHost: \(server.host)\r\nCookie: \(cookie)\r\nConnection: close\r\n\r\n" {
        slow.send(String(byte))
      }
      #expect(String(decoding: slow.readToEnd(), as: UTF8.self).hasPrefix("HTTP/1.1 200 "))
      connections = []
      #expect(server.end().code == 143)
    }

    @Test("requests on one connection are answered in their order, and HEAD without a body")
    func persistentConnections() throws {
      let server = try ExploreProcess(try Scratch.filled(1))
      let cookie = try server.cookie()
      let fields = "Host: \(server.host)\r\nCookie: \(cookie)\r\n"
      let connection = try ExploreProcess.Connection(server.port)
      connection.send(
        "HEAD / HTTP/1.1\r\n\(fields)\r\nGET /nowhere HTTP/1.1\r\n\(fields)\r\n"
          + "\r\nHEAD / HTTP/1.1\r\n\(fields)Connection: close\r\n\r\n")
      let text = String(decoding: connection.readToEnd(), as: UTF8.self)
      let statuses = text.matches(of: #/HTTP/1\.1 (\d+) /#).map { String($0.1) }
      #expect(statuses == ["200", "404", "200"])
      #expect(text.hasSuffix("\r\n\r\n"))
      let old = try server.reply(to: "GET / HTTP/1.0\r\n\(fields)\r\n")
      #expect(old.status == 200 && old.fields["connection"] == "close")
    }

    @Test("a blob is sent unchanged, and a client that ends early ends only its download")
    func blobs() throws {
      let scratch = try Scratch.filled(1)
      var bytes = Data(count: 8 << 20)
      for index in stride(from: 0, to: bytes.count, by: 997) { bytes[index] = UInt8(truncatingIfNeeded: index) }
      try bytes.write(to: URL(fileURLWithPath: scratch.file("blob")))
      try scratch.succeed("blob", "put", "Note/1", "data", scratch.file("blob"))
      let server = try ExploreProcess(scratch)
      let cookie = try server.cookie()
      let reply = try server.get("/objects/Note/1/blob/data", cookie: cookie)
      #expect(reply.status == 200 && reply.fields["content-length"] == "\(bytes.count)")
      // Without the bytes in a failure's message.
      let isEqual = reply.body == bytes
      #expect(isEqual)
      for _ in 0..<20 {
        let connection = try ExploreProcess.Connection(server.port)
        connection.send("GET /objects/Note/1/blob/data HTTP/1.1\r\nHost: \(server.host)\r\nCookie: \(cookie)\r\n\r\n")
        #expect(!connection.read(atMost: 1000).isEmpty)
      }
      #expect(try server.get("/", cookie: cookie).status == 200)
      #expect(server.end().code == 143)
      try scratch.succeed("check")
    }

    @Test("nothing follows a response that ends early, although the next request has begun")
    func unfinishedResponses() throws {
      let server = try ExploreProcess(try Scratch.filled(1))
      let connection = try ExploreProcess.Connection(server.port)
      connection.send(
        "GET /events HTTP/1.1\r\nHost: \(server.host)\r\nCookie: \(try server.cookie())\r\n\r\nGET /")
      var text = ""
      while !text.contains("event: commit") {
        let bytes = connection.read(atMost: 1000)
        try #require(!bytes.isEmpty, "the stream has ended: \(text)")
        text += String(decoding: bytes, as: UTF8.self)
      }
      #expect(server.end().code == 143)
      text += String(decoding: connection.readToEnd(), as: UTF8.self)
      #expect(text.matches(of: #/HTTP/1\.1/#).count == 1, "\(text)")
    }

    @Test(
      "a signal ends it with the tool's exit codes, with connections open",
      arguments: zip([SIGINT, SIGTERM], [130, 143] as [Int32]))
    func signals(_ signal: Int32, _ code: Int32) throws {
      let scratch = try Scratch.filled(1)
      let server = try ExploreProcess(scratch)
      _ = try server.get("/", cookie: server.cookie())
      let connection = try ExploreProcess.Connection(server.port)
      connection.send("GET / HTTP/1.1\r\n")
      let (found, errors) = server.end(signal)
      #expect(found == code)
      #expect(errors.contains(#""kind":"interrupted""#) && errors.split(separator: "\n").count == 1, "\(errors)")
      #expect(try scratch.succeed("readers", "--json").json()["readers"] as? [String] == [])
    }

    @Test("what the system refuses is a typed error with a remedy")
    func refusedAddresses() throws {
      let scratch = try Scratch.filled(1)
      let server = try ExploreProcess(scratch)
      let used = try scratch.tool("explore", "--port", "\(server.port)", "--json")
      #expect(used.code == 1)
      let error = try used.error()
      #expect(error["kind"] as? String == "portInUse")
      #expect((error["message"] as? String)?.contains("--port 0") == true)
      let foreign = try scratch.tool("explore", "--address", "192.0.2.1", "--port", "0", "--json")
      #expect(try foreign.code == 1 && foreign.error()["kind"] as? String == "addressNotAvailable")
      for arguments in [["--address", "here"], ["--port", "65536"], ["--port", "-1"], ["--address", ""]] {
        #expect(try scratch.run(["-s", scratch.store, "explore"] + arguments).code == 64, "\(arguments)")
      }
      #expect(try scratch.run(["-s", scratch.file("none"), "explore", "--port", "0"]).code == 10)
    }

    @Test("an address that others can reach is used with a warning, on stderr only")
    func otherAddresses() throws {
      let scratch = try Scratch.filled(1)
      let process = scratch.process(["-s", scratch.store, "explore", "--port", "0", "--address", "0.0.0.0"])
      let (output, errors) = (Pipe(), Pipe())
      process.standardOutput = output
      process.standardError = errors
      try process.run()
      let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
      #expect(line.wholeMatch(of: #/http://127\.0\.0\.1:\d+/\?token=[A-Za-z0-9_-]{22}\n/#) != nil, "\(line)")
      process.terminate()
      process.waitUntilExit()
      let text = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      #expect(process.terminationStatus == 143)
      #expect(text.hasPrefix("kvclone: warning: 0.0.0.0 is reachable"), "\(text)")
    }

    @Test("the browser gets a code for one request instead of the token")
    func browser() throws {
      let scratch = try Scratch.filled(1)
      let program = scratch.file("xdg-open")
      try scratch.write(
        "#!/bin/sh\necho \"$1\" > '\(scratch.file("url.part"))'\nmv '\(scratch.file("url.part"))' '\(scratch.file("url"))'\n",
        to: "xdg-open")
      try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program)
      let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
      let server = try ExploreProcess(scratch, environment: ["PATH": scratch.path + ":" + path], "--open")
      for _ in 0..<3000 where !FileManager.default.fileExists(atPath: scratch.file("url")) { usleep(10_000) }
      let url = String(decoding: try scratch.read("url"), as: UTF8.self).trimmingCharacters(in: .newlines)
      let target = try #require(url.firstRange(of: "/?token=")).lowerBound
      #expect(!url.contains(server.token))
      let first = try server.get(String(url[target...]))
      #expect(first.status < 400 && first.fields["set-cookie"] != nil)
      #expect(try server.get(String(url[target...])).status == 401)
    }
  }
#else
  @Suite("kvclone: explore")
  struct ExploreCommandTests {
    @Test("a build without the explorer names the trait")
    func missing() throws {
      let run = try Scratch().run(["-s", "none", "explore", "--json"])
      #expect(run.code == 1)
      let error = try run.error()
      #expect(error["kind"] as? String == "unsupportedByBuild")
      #expect((error["message"] as? String)?.contains("--traits Explorer") == true)
    }
  }
#endif
