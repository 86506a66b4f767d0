import KVCloneCore
import KVCloneLMDB

/// Copies the lines of a source of unknown speed to an unnamed file in the store's directory, so that no lock is held
/// while the source delivers.
///
/// Memory stays flat: at most the bytes that the source appends at a time. For one thread at a time.
final class LoadSpool {
  /// The number of bytes that are read back at a time.
  private static let chunkSize = 1 << 20
  /// The maximum length of a first line that is checked before the source is read to its end.
  private static let headLimit = 64 << 10

  private let file: SpoolFile
  private let directory: String
  /// The delivered bytes that no batch has taken.
  private var pending: [UInt8] = []
  private var start = 0
  private var isAtEnd = false
  /// The number of bytes since the last line feed.
  private var lineLength = 0
  private var lineCount = 0
  /// The beginning of the text, until its first line was checked.
  private var head: [UInt8]? = []
  private var receivedCount: UInt64 = 0

  /// - Parameter directory: the directory of the file; one that may contain the store's data.
  /// - Throws: `diskFull`, `io`.
  init(directory: String) throws(StoreError) {
    self.directory = directory
    do throws(LMDBError) {
      file = try SpoolFile(directory: directory)
    } catch {
      throw Self.storeError(error, directory)
    }
  }

  /// Replaces the spooled lines by the source's next ones.
  ///
  /// - Parameters:
  ///   - limit: the maximum number of lines; no more bytes are read from the source than those need.
  ///   - source: appends bytes.
  ///   - progress: called with the total number of received bytes.
  ///   - checkFirstLine: called with the first line of the text, unless that is a long one.
  /// - Returns: the number of spooled lines; 0 at the end of the source.
  /// - Throws: `malformedLine` for one above ``LineReader/lineLimit``; `diskFull`, `io`; errors of `source` and
  ///   `checkFirstLine`.
  func fill(
    upTo limit: Int, from source: LineReader.Source, progress: ((UInt64) -> Void)?,
    checkFirstLine: (Span<UInt8>) throws -> Void
  ) throws -> Int {
    file.removeAll()
    var lines = 0
    while lines < limit {
      if start < pending.count {
        let end = try endOfLines(&lines, limit)
        let bytes = pending
        if head != nil { try checkHead(bytes.span.extracting(start..<end), checkFirstLine) }
        try append(bytes.span.extracting(start..<end))
        start = end
        continue
      }
      if isAtEnd { break }
      pending.removeAll(keepingCapacity: true)
      start = 0
      isAtEnd = try !source(&pending)
      receivedCount += UInt64(pending.count)
      progress?(receivedCount)
    }
    if isAtEnd, start == pending.count, lineLength > 0, lines < limit {
      // The last line has no line feed.
      lineLength = 0
      lines += 1
    }
    return lines
  }

  /// Appends the next spooled bytes; returns false at their end.
  func read(into buffer: inout [UInt8]) throws(StoreError) -> Bool {
    try storeErrors { () throws(LMDBError) in try file.read(into: &buffer, upTo: Self.chunkSize) }
  }

  /// Reads the spooled bytes again from the first one.
  func rewind() { file.rewind() }

  /// Returns the end of the pending lines that belong to the batch, or of a partial line.
  private func endOfLines(_ lines: inout Int, _ limit: Int) throws(TransferError) -> Int {
    let bytes = pending
    var place = start
    while lines < limit, place < bytes.count {
      guard let feed = LineReader.lineFeed(in: bytes.span, from: place) else {
        lineLength += bytes.count - place
        guard lineLength <= LineReader.lineLimit else { throw LineReader.tooLong(lineCount + 1) }
        return bytes.count
      }
      lines += 1
      lineCount += 1
      lineLength = 0
      place = feed + 1
    }
    return place
  }

  /// Checks the first line once it is complete.
  private func checkHead(_ bytes: Span<UInt8>, _ check: (Span<UInt8>) throws -> Void) throws {
    guard var line = head else { return }
    var index = 0
    while index < bytes.count, bytes[index] != 0x0A, line.count < Self.headLimit {
      line.append(bytes[index])
      index += 1
    }
    head = line
    if index == bytes.count, line.count < Self.headLimit { return }
    head = nil
    if line.count < Self.headLimit { try check(line.span) }
  }

  private func append(_ bytes: Span<UInt8>) throws(StoreError) {
    do throws(LMDBError) {
      try file.append(bytes.bytes)
    } catch {
      throw Self.storeError(error, directory)
    }
  }

  private static func storeError(_ error: LMDBError, _ directory: String) -> StoreError {
    let same = StoreError(error)
    guard error.isDiskFull else { return same }
    return StoreError(
      same.kind,
      "the spooled input does not fit into \(directory). \(same.message) Batches, or a file instead of a pipe, need "
        + "less space.")
  }
}
