#if Explorer
  import KVCloneTestSupport
  import Testing

  @testable import KVCloneTool

  @Suite("kvclone: requests of explore")
  struct HTTPRequestParserTests {
    /// Returns the requests of bytes that arrive in parts, and the refusal at their end.
    private func requests(_ bytes: [UInt8], inPartsOf size: Int) -> [String] {
      var parser = HTTPRequestParser(targetLimit: 100)
      var head: HTTPRequestHead?
      var found: [String] = []
      do {
        for start in stride(from: 0, to: bytes.count, by: size) {
          parser.append(bytes[start..<min(start + size, bytes.count)])
          while true {
            if head == nil { head = try parser.nextHead() }
            guard let complete = head, let body = parser.nextBody(try complete.bodySize(atMost: 50)) else { break }
            found.append("\(complete.method) \(complete.path) \(complete.query) \(complete.fields) \(body)")
            head = nil
          }
        }
      } catch {
        found.append("\(error)")
      }
      return found
    }

    @Test("the parts in which bytes arrive make no difference", arguments: PropertySeeds.seeds)
    func parts(_ seed: UInt64) {
      var random = SeededGenerator(seed: seed)
      let pieces = [
        "GET / HTTP/1.1\r\n", "POST /x?y=%zz HTTP/1.0\r\n", "Host: a\r\n", "host:b\r\n", "\r\n", "\r\n\r\n", "\n", "\r",
        "Content-Length: 3\r\n", "Content-Length: 51\r\n", "Transfer-Encoding: chunked\r\n", "abc", "\u{0}", " ", ":",
        "HEAD /\(String(repeating: "a", count: 120)) HTTP/1.1\r\n", "A: \(String(repeating: "b", count: 9000))\r\n",
        "GET /a HTTP/1.1\r\nHost: a\r\n\r\n", "PUT /b HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc",
      ].map { Array($0.utf8) }
      for _ in 0..<PropertySeeds.count(500) {
        var bytes: [UInt8] = []
        for _ in 0..<random.below(8) {
          bytes += random.chance(in: 10) ? [UInt8(random.below(256))] : pieces[random.below(pieces.count)]
        }
        let whole = requests(bytes, inPartsOf: max(1, bytes.count))
        #expect(requests(bytes, inPartsOf: 1) == whole, "\(bytes)")
        #expect(requests(bytes, inPartsOf: 1 + random.below(50)) == whole, "\(bytes)")
      }
    }

    @Test("requests that follow one another are divided by their lengths")
    func pipeline() throws {
      let text =
        "\r\nPOST /a?b?c HTTP/1.1\r\nHost: a\r\nContent-Length: 18\r\n\r\nGET /no HTTP/1.1\r\nGET /d HTTP/1.1\r\nHost: a\r\n\r\n"
      let found = requests(Array(text.utf8), inPartsOf: 7)
      try #require(found.count == 2, "\(found)")
      #expect(found[0].hasPrefix("POST /a b?c ") && found[0].hasSuffix("\(Array("GET /no HTTP/1.1\r\n".utf8))"))
      #expect(found[1].hasPrefix("GET /d  ") && found[1].hasSuffix(" []"))
    }
  }
#endif
