import KVCloneCoreData

/// Bytes in memory.
package final class SQLiteBytes: SQLiteSource {
  private let bytes: [UInt8]

  package init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  package func byteCount() -> Int { bytes.count }

  package func read(_ offset: Int, _ count: Int) -> [UInt8] {
    guard offset >= 0, offset < bytes.count, count > 0 else { return [] }
    return Array(bytes[offset..<offset + min(count, bytes.count - offset)])
  }
}
