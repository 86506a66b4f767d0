/// A response for a server to send.
public struct ExplorerResponse: Sendable {
  /// The status code of HTTP.
  public var status: Int

  /// Header fields, with `Content-Type` and, if the length is known, `Content-Length`.
  public var headers: [(name: String, value: String)]

  /// The content; empty for `HEAD`.
  public var body: Body

  /// The content of a response.
  public enum Body: Sendable {
    /// A content in memory.
    case bytes([UInt8])
    /// Chunks of at most 1 MiB, for a body of any length: a blob, an export, or events.
    case stream(AsyncThrowingStream<[UInt8], any Error>)
  }

  /// Creates a response.
  public init(status: Int, headers: [(name: String, value: String)] = [], body: Body = .bytes([])) {
    self.status = status
    self.headers = headers
    self.body = body
  }

  init(status: Int = 200, _ contentType: String, _ text: String) {
    self.init(status: status, contentType, Array(text.utf8))
  }

  init(status: Int = 200, _ contentType: String, _ bytes: [UInt8]) {
    self.init(
      status: status, headers: [("Content-Type", contentType), ("Content-Length", "\(bytes.count)")],
      body: .bytes(bytes))
  }
}
