/// The choice of a format by the `Accept` header (RFC 9110).
enum AcceptHeader {
  /// Returns the format with the highest quality, HTML before JSON before CSV; HTML if none is accepted.
  static func format(_ request: ExplorerRequest) -> PageFormat {
    let ranges = request.headers("accept").flatMap { $0.split(separator: ",") }.compactMap { Range($0) }
    if ranges.isEmpty { return .html }
    var best: (format: PageFormat, quality: Double) = (.html, 0)
    for format in PageFormat.allCases {
      // The most specific range counts, not the one with the highest quality.
      let range = ranges.filter { $0.includes(format.mediaType) }.max { $0.precision < $1.precision }
      if let range, range.quality > best.quality { best = (format, range.quality) }
    }
    return best.format
  }

  private struct Range {
    let type: String
    let quality: Double

    init?(_ text: Substring) {
      let parts = text.split(separator: ";").map { $0.filter { !$0.isWhitespace }.lowercased() }
      guard let type = parts.first, !type.isEmpty else { return nil }
      self.type = type
      guard let given = parts.dropFirst().first(where: { $0.hasPrefix("q=") }) else {
        quality = 1
        return
      }
      guard let number = Double(given.dropFirst(2)), number >= 0, number <= 1 else { return nil }
      quality = number
    }

    func includes(_ mediaType: String) -> Bool {
      type == mediaType || type == "*/*" || (type.hasSuffix("/*") && mediaType.hasPrefix(type.dropLast()))
    }

    var precision: Int { type == "*/*" ? 0 : type.hasSuffix("/*") ? 1 : 2 }
  }
}
