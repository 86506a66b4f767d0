#if Explorer
  /// Divides the bytes of a connection into requests (RFC 9112). Refuses what is ambiguous, instead of repairing it.
  struct HTTPRequestParser {
    /// The longest request line, in bytes.
    let lineLimit: Int
    /// The longest header, without the request line, in bytes.
    static let headerLimit = 16 << 10
    static let fieldCountLimit = 100

    private var buffer: [UInt8] = []
    /// The start of the first line that is not parsed yet.
    private var start = 0
    /// The bytes before it contain no end of this line.
    private var searched = 0
    private var line: RequestLine?
    private var headerStart = 0
    private var fields: [HTTPRequestHead.Field] = []
    private var hasSkippedLine = false

    private struct RequestLine {
      var method: String
      var target: String
      var isHTTP10: Bool
    }

    /// - Parameter targetLimit: the longest path with its query, in bytes.
    init(targetLimit: Int) {
      // The rest is the method and the version.
      lineLimit = targetLimit + 64
    }

    /// Whether bytes wait that belong to the next request.
    var hasBytes: Bool { start < buffer.count || line != nil }

    mutating func append(_ bytes: some Collection<UInt8>) { buffer.append(contentsOf: bytes) }

    /// Returns the head of the next request; nil if it is not complete.
    ///
    /// - Throws: ``HTTPRefusal`` for a head that is invalid or above a limit.
    mutating func nextHead() throws(HTTPRefusal) -> HTTPRequestHead? {
      while let text = try nextLine() {
        guard let line else {
          // Some clients end a body with an empty line that is not part of it.
          if text.isEmpty, !hasSkippedLine {
            hasSkippedLine = true
            continue
          }
          line = try Self.requestLine(text)
          headerStart = start
          continue
        }
        if !text.isEmpty {
          fields.append(try Self.field(text))
          if fields.count > Self.fieldCountLimit { throw .headTooLarge }
          continue
        }
        let parts = line.target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let head = HTTPRequestHead(
          method: line.method, path: String(parts[0]), query: parts.count > 1 ? String(parts[1]) : "",
          isHTTP10: line.isHTTP10, fields: fields)
        self.line = nil
        fields = []
        hasSkippedLine = false
        discardParsed()
        let hosts = head.values("host").count
        guard hosts == 1 || hosts == 0 && head.isHTTP10 else { throw .badRequest }
        return head
      }
      return nil
    }

    /// Removes the body of a request from the front of the bytes; nil if it is not complete.
    mutating func nextBody(_ size: Int) -> [UInt8]? {
      guard buffer.count - start >= size else { return nil }
      let body = Array(buffer[start..<start + size])
      start += size
      discardParsed()
      return body
    }

    private mutating func discardParsed() {
      // A connection that waits for its next request keeps no memory of the last one.
      buffer = Array(buffer[start...])
      start = 0
      searched = 0
    }

    /// Returns the next line without its end; nil if it is not complete.
    private mutating func nextLine() throws(HTTPRefusal) -> ArraySlice<UInt8>? {
      let end = buffer[max(start, searched)...].firstIndex(of: UInt8(ascii: "\n"))
      let read = end ?? buffer.count
      if line == nil {
        if read - start > lineLimit { throw .targetTooLong }
      } else if read - headerStart > Self.headerLimit {
        throw .headTooLarge
      }
      searched = read
      guard let end else { return nil }
      // A line feed alone ends a line for some servers, and none for others.
      guard end > start, buffer[end - 1] == UInt8(ascii: "\r") else { throw .badRequest }
      defer { start = end + 1 }
      return buffer[start..<end - 1]
    }

    private static func requestLine(_ line: ArraySlice<UInt8>) throws(HTTPRefusal) -> RequestLine {
      let words = line.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
      guard words.count == 3, !words[0].isEmpty, words[0].allSatisfy(isTokenByte),
        words[1].first == UInt8(ascii: "/"),
        words[1].allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "#") })
      else { throw .badRequest }
      let version = String(decoding: words[2], as: UTF8.self)
      guard version == "HTTP/1.1" || version == "HTTP/1.0" else {
        throw version.hasPrefix("HTTP/") ? .wrongVersion : .badRequest
      }
      return RequestLine(
        method: String(decoding: words[0], as: UTF8.self), target: String(decoding: words[1], as: UTF8.self),
        isHTTP10: version == "HTTP/1.0")
    }

    private static func field(_ line: ArraySlice<UInt8>) throws(HTTPRefusal) -> HTTPRequestHead.Field {
      guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex,
        line[..<colon].allSatisfy(isTokenByte)
      else { throw .badRequest }
      let isSpace: (UInt8) -> Bool = { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
      var value = line[(colon + 1)...].drop(while: isSpace)
      while let last = value.last, isSpace(last) { value.removeLast() }
      guard value.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == UInt8(ascii: "\t") }) else { throw .badRequest }
      return HTTPRequestHead.Field(
        name: String(decoding: line[..<colon], as: UTF8.self), value: String(decoding: value, as: UTF8.self))
    }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
      switch byte {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"):
        true
      default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
      }
    }
  }
#endif
