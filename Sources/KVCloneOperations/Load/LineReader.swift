import KVCloneCore

/// Splits bytes that arrive in parts into lines.
struct LineReader {
  /// The maximum length of a line: larger values belong in separate files.
  static let lineLimit = 1 << 30

  /// Appends the next bytes; returns false at the end.
  typealias Source = (inout [UInt8]) throws -> Bool

  private var buffer: [UInt8] = []
  private var start = 0
  private var scanned = 0
  private var isAtEnd = false
  /// The number of the last returned line, from 1.
  private(set) var lineNumber = 0
  /// The number of bytes from the source.
  private(set) var byteCount: UInt64 = 0

  /// Calls `body` with the next line, without its line feed, and its number; returns false at the end.
  mutating func next(from source: Source, _ body: (Span<UInt8>, Int) throws -> Void) throws -> Bool {
    while true {
      if let end = LineReader.lineFeed(in: buffer.span, from: scanned) {
        lineNumber += 1
        let range = start..<end
        start = end + 1
        scanned = start
        try body(buffer.span.extracting(range), lineNumber)
        return true
      }
      scanned = buffer.count
      if isAtEnd {
        guard start < buffer.count else { return false }
        lineNumber += 1
        let range = start..<buffer.count
        start = buffer.count
        scanned = start
        try body(buffer.span.extracting(range), lineNumber)
        return true
      }
      if buffer.count - start > LineReader.lineLimit {
        throw LineReader.tooLong(lineNumber + 1)
      }
      buffer.removeSubrange(..<start)
      scanned -= start
      start = 0
      let before = buffer.count
      isAtEnd = try !source(&buffer)
      byteCount += UInt64(buffer.count - before)
    }
  }

  static func tooLong(_ line: Int) -> TransferError {
    TransferError(.malformedLine, "the line is longer than 1 GiB", line: line)
  }

  /// Continues with a source that has more data after its end was reached.
  mutating func resume() { isAtEnd = false }

  /// The index of the next line feed.
  static func lineFeed(in bytes: Span<UInt8>, from start: Int) -> Int? {
    var index = start
    while index < bytes.count {
      if bytes[index] == 0x0A { return index }
      index += 1
    }
    return nil
  }
}
