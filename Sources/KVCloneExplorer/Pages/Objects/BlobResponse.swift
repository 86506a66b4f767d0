import KVClone

/// The bytes of an attribute as a response: streamed, in ranges, and with a type that cannot run as a document.
struct BlobResponse {
  private let source: ValueSource
  private let context: PageContext

  init(_ source: ValueSource, _ context: PageContext) {
    self.source = source
    self.context = context
  }

  /// The tag of the bytes: that of a blob's digest, or of a value's hash.
  private var entityTag: String { "\"\(source.tag)\"" }

  func response() async throws -> ExplorerResponse {
    let sampleLength = min(source.byteCount, UInt64(MediaType.sampleLength))
    let sample = try await context.read { transaction in try source.read(0..<sampleLength, in: transaction) }
    let type = MediaType(sample, isWhole: UInt64(sample.count) == source.byteCount)
    var headers: [(name: String, value: String)] = [
      ("Content-Type", contentType(type)), ("ETag", entityTag), ("Accept-Ranges", "bytes"),
      ("Cache-Control", "private, no-cache"), ("X-Content-Type-Options", "nosniff"),
      // Nothing in the bytes may run or load anything, even where a browser shows them as a document.
      ("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'"),
      ("Vary", "Sec-Fetch-Dest"),
    ]
    if !isShown(type) { headers.append(("Content-Disposition", "attachment; filename=\"\(fileName(type))\"")) }
    if let known = context.request.header("if-none-match"), Self.contains(known, entityTag) {
      return ExplorerResponse(status: 304, headers: headers)
    }
    let wanted = context.request.header("if-range").map { $0 == entityTag } ?? true
    switch ByteRange(wanted ? context.request.header("range") : nil, size: source.byteCount) {
    case .whole: return response(200, 0..<source.byteCount, headers)
    case .part(let range):
      let content = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(source.byteCount)"
      return response(206, range, headers + [("Content-Range", content)])
    case .unsatisfiable:
      return ExplorerResponse(
        status: 416, headers: [("Content-Range", "bytes */\(source.byteCount)"), ("Content-Length", "0")])
    }
  }

  private func response(
    _ status: Int, _ range: Range<UInt64>, _ headers: [(name: String, value: String)]
  ) -> ExplorerResponse {
    ExplorerResponse(
      status: status, headers: headers + [("Content-Length", "\(range.upperBound - range.lowerBound)")],
      body: range.isEmpty ? .bytes([]) : .stream(source.stream(range, of: context.store, at: context.snapshotName)))
  }

  /// Whether the browser shows the bytes instead of saving them.
  private func isShown(_ type: MediaType) -> Bool {
    if context.query["download"] != nil { return false }
    return switch type {
    case .image, .svg: true
    case .text, .propertyList, .other: false
    }
  }

  /// An SVG has its own type only for an image element, which runs no scripts; as a document, it is text.
  private func contentType(_ type: MediaType) -> String {
    switch type {
    case .image(let format): format.contentType
    case .svg:
      context.request.header("sec-fetch-dest") == "image" ? "image/svg+xml" : "text/plain; charset=utf-8"
    case .text, .propertyList, .other: "application/octet-stream"
    }
  }

  /// A name of letters, digits, dots and hyphens.
  private func fileName(_ type: MediaType) -> String {
    let name = "\(source.object)-\(source.attribute)".unicodeScalars.map { scalar -> Character in
      let isSafe = scalar.isASCII && (scalar.properties.isAlphabetic || scalar.properties.numericType != nil)
      return isSafe ? Character(scalar) : "-"
    }
    return String(name.prefix(100)) + ".\(type.fileExtension)"
  }

  private static func contains(_ list: String, _ tag: String) -> Bool {
    list.split(separator: ",").contains { item in
      var text = item.drop { $0 == " " }
      if text.hasPrefix("W/") { text = text.dropFirst(2) }
      while text.hasSuffix(" ") { text.removeLast() }
      return text == tag || text == "*"
    }
  }
}
