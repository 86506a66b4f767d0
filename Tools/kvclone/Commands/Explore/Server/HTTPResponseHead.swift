#if Explorer
  import Foundation
  import KVCloneExplorer

  /// The delimitation of a body on a connection (RFC 9112, section 6).
  enum HTTPFraming: Equatable {
    /// No body, and no length: a status that has none.
    case none
    case length(Int)
    case chunked
    /// A body of unknown length for HTTP/1.0.
    case untilClose

    init(_ response: ExplorerResponse, for request: HTTPRequestHead) {
      let announced = response.headers.first { $0.name.lowercased() == "content-length" }.flatMap { Int($0.value) }
      switch response.body {
      case _ where response.status < 200 || response.status == 204 || response.status == 304: self = .none
      // The length of the body that a GET would have, if it is known.
      case _ where request.method == "HEAD": self = announced.map { .length($0) } ?? .none
      case .bytes(let bytes): self = .length(bytes.count)
      case .stream:
        if let announced, announced >= 0 {
          self = .length(announced)
        } else {
          self = request.isHTTP10 ? .untilClose : .chunked
        }
      }
    }
  }

  /// The bytes before the body of a response.
  enum HTTPResponseHead {
    /// Fields that the connection sets itself.
    private static let ownFields: Set = ["connection", "content-length", "date", "keep-alive", "transfer-encoding"]

    static func bytes(_ response: ExplorerResponse, _ framing: HTTPFraming, closes: Bool) -> [UInt8] {
      var text = "HTTP/1.1 \(response.status) \r\nDate: \(date)\r\n"
      // Omits fields with control characters, which could end the header.
      for field in response.headers where !ownFields.contains(field.name.lowercased()) {
        if (field.name + field.value).utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) {
          text += "\(field.name): \(field.value)\r\n"
        }
      }
      switch framing {
      case .none, .untilClose: break
      case .length(let size): text += "Content-Length: \(size)\r\n"
      case .chunked: text += "Transfer-Encoding: chunked\r\n"
      }
      if closes { text += "Connection: close\r\n" }
      return Array((text + "\r\n").utf8)
    }

    private static var date: String {
      var now = time(nil)
      var fields = tm()
      gmtime_r(&now, &fields)
      return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 40) { text in
        let count = strftime(text.baseAddress!, text.count, "%a, %d %b %Y %H:%M:%S GMT", &fields)
        return String(decoding: UnsafeRawBufferPointer(text).prefix(count), as: UTF8.self)
      }
    }
  }
#endif
