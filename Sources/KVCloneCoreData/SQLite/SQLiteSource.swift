package import Foundation

/// The bytes of a file, read in parts, so that a file of any size needs little memory.
package protocol SQLiteSource: AnyObject {
  /// The current size.
  func byteCount() throws(SQLiteError) -> Int
  /// Returns the bytes from `offset` on, fewer than `count` only at the end.
  func read(_ offset: Int, _ count: Int) throws(SQLiteError) -> [UInt8]
}

/// A file that is open for reading. Sequential reads are coalesced.
package final class SQLiteHandle: SQLiteSource {
  private let handle: FileHandle
  private var window: [UInt8] = []
  private var windowStart = 0
  private var nextOffset = -1

  /// The size of a read in a file that is read sequentially.
  private static let windowSize = 256 << 10

  package init(_ handle: FileHandle) {
    self.handle = handle
  }

  package func byteCount() throws(SQLiteError) -> Int {
    do {
      return Int(clamping: try handle.seekToEnd())
    } catch {
      throw Self.unreadable
    }
  }

  package func read(_ offset: Int, _ count: Int) throws(SQLiteError) -> [UInt8] {
    guard offset >= 0, count > 0 else { return [] }
    if offset >= windowStart, offset + count <= windowStart + window.count {
      nextOffset = offset + count
      return Array(window[offset - windowStart..<offset - windowStart + count])
    }
    let isSequential = offset == nextOffset
    nextOffset = offset + count
    guard isSequential, count < Self.windowSize else { return try fetch(offset, count) }
    window = try fetch(offset, Self.windowSize)
    windowStart = offset
    return Array(window.prefix(count))
  }

  private func fetch(_ offset: Int, _ count: Int) throws(SQLiteError) -> [UInt8] {
    do {
      try handle.seek(toOffset: UInt64(offset))
      var result: [UInt8] = []
      result.reserveCapacity(count)
      while result.count < count, let data = try handle.read(upToCount: count - result.count), !data.isEmpty {
        result.append(contentsOf: data)
      }
      return result
    } catch {
      throw Self.unreadable
    }
  }

  private static let unreadable = SQLiteError(
    .unreadableDatabase, "the database cannot be read; check that it is a file, and the disk it is on")
}
