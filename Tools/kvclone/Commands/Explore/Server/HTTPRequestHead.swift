#if Explorer
  /// A request line and header fields of HTTP/1.x.
  struct HTTPRequestHead: Equatable {
    var method: String
    /// The path as on the request line, percent-encoded and without the query.
    var path: String
    /// Without the question mark.
    var query: String
    var isHTTP10: Bool
    var fields: [Field]

    struct Field: Equatable {
      var name: String
      var value: String
    }

    /// The values of a field. Names are compared without regard to case.
    ///
    /// - Parameter name: in lower case.
    func values(_ name: String) -> [String] {
      fields.filter { $0.name.utf8.count == name.utf8.count && $0.name.lowercased() == name }.map(\.value)
    }

    /// Whether the connection stays open after the response.
    var keepsAlive: Bool {
      if isHTTP10 { return false }
      return !values("connection").contains { value in
        value.lowercased().split(separator: ",").contains { $0.trimmingPrefix(" ").prefix { $0 != " " } == "close" }
      }
    }

    /// Whether the client waits for `100 Continue` before it sends the body.
    var expectsContinue: Bool { !isHTTP10 && values("expect").contains { $0.lowercased() == "100-continue" } }

    /// The length of the body, in bytes.
    ///
    /// - Throws: ``HTTPRefusal`` for a body without a length, with several lengths, or above the limit.
    func bodySize(atMost limit: Int) throws(HTTPRefusal) -> Int {
      if !values("transfer-encoding").isEmpty { throw .lengthRequired }
      let lengths = Set(values("content-length"))
      guard let text = lengths.first else { return 0 }
      let isNumber = !text.isEmpty && text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
      guard lengths.count == 1, isNumber else { throw .badRequest }
      // A number that does not fit is above every limit.
      guard let size = Int(text), size <= limit else { throw .bodyTooLarge }
      return size
    }
  }

  /// A request that the server refuses by itself. The connection is closed after the response.
  enum HTTPRefusal: Error {
    case badRequest, timeout, lengthRequired, bodyTooLarge, targetTooLong, headTooLarge, wrongVersion
    case tooManyResponses

    var status: Int {
      switch self {
      case .badRequest: 400
      case .timeout: 408
      case .tooManyResponses: 503
      case .lengthRequired: 411
      case .bodyTooLarge: 413
      case .targetTooLong: 414
      case .headTooLarge: 431
      case .wrongVersion: 505
      }
    }

    var message: String {
      switch self {
      case .badRequest: "the request is not valid HTTP/1.1"
      case .timeout: "the request did not arrive in time; send it again"
      case .tooManyResponses: "too many clients have not yet received their pages; try again in a second"
      case .lengthRequired: "a body needs Content-Length; send it without Transfer-Encoding"
      case .bodyTooLarge: "the body of the request is too large"
      case .targetTooLong: "the URL is too long; shorten the predicate"
      case .headTooLarge: "the header of the request is too large; remove cookies of this site"
      case .wrongVersion: "the server speaks HTTP/1.0 and HTTP/1.1"
      }
    }
  }
#endif
