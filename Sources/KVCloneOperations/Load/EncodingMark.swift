/// Signs of a text's encoding at the beginning of a line of NDJSON.
enum EncodingMark {
  /// A mark at the beginning of a line.
  enum Finding {
    /// The byte order mark of UTF-8, with its number of bytes.
    case utf8(Int)
    /// The byte order mark of UTF-16 or UTF-32, or a zero byte next to the first character, which JSON never has.
    case wide
  }

  static func find(_ line: Span<UInt8>) -> Finding? {
    let head = (line.count > 0 ? line[0] : 1, line.count > 1 ? line[1] : 1, line.count > 2 ? line[2] : 1)
    if head == (0xEF, 0xBB, 0xBF) { return .utf8(3) }
    let isMarked = head.0 == 0xFF && head.1 == 0xFE || head.0 == 0xFE && head.1 == 0xFF
    return isMarked || head.0 == 0 || head.1 == 0 ? .wide : nil
  }
}
