import CKVCloneLMDB
import Glibc

/// Bytes that are written once and read back in order, in an unnamed file, so that memory stays flat.
///
/// A spool leaves some of the disk free (``reservedBytes(ofDisk:)``): commits and other programs need the space more
/// than input of unknown length does. For one thread at a time.
package final class SpoolFile {
  /// The number of bytes appended since the last ``removeAll()``.
  package private(set) var byteCount = 0
  let descriptor: Int32
  private var readCount = 0
  /// The number of bytes for which the file has blocks: those of earlier contents are reused.
  private var fileLength = 0

  /// Creates the file in `directory`.
  ///
  /// - Throws: `diskFull`, `io`.
  package convenience init(directory: String) throws(LMDBError) {
    try self.init(directory: directory, canBeUnnamed: true)
  }

  /// - Parameter canBeUnnamed: false in tests, to simulate a file system without O_TMPFILE.
  init(directory: String, canBeUnnamed: Bool) throws(LMDBError) {
    kvclone_ignore_file_size_signal()
    let file = try UnnamedFile.make(in: directory, canBeUnnamed: canBeUnnamed)
    do throws(LMDBError) {
      try Self.checkRoom(file, for: 0)
    } catch {
      close(file)
      throw error
    }
    descriptor = file
  }

  deinit { close(descriptor) }

  /// The number of bytes that spools leave free on a disk of this size: a sixteenth, at most 64 MiB.
  package static func reservedBytes(ofDisk byteCount: Int) -> Int { min(64 << 20, byteCount / 16) }

  /// Appends bytes.
  ///
  /// - Throws: `diskFull` where fewer than ``reservedBytes(ofDisk:)`` would be left, or the file size limit or the
  ///   quota is used up; `io`.
  package func append(_ bytes: RawSpan) throws(LMDBError) {
    if bytes.byteCount == 0 { return }
    try Self.checkRoom(descriptor, for: byteCount + bytes.byteCount - fileLength)
    let (offset, count) = (byteCount, bytes.byteCount)
    let code = unsafe bytes.withUnsafeBytes { bytes -> Int32 in
      guard let start = bytes.baseAddress else { return 0 }
      return unsafe writeAll(descriptor, start, count, offset)
    }
    guard code == 0 else { throw LMDBError(code: code, operation: "write to scratch space") }
    byteCount += count
    fileLength = max(fileLength, byteCount)
  }

  /// Appends the next bytes to `buffer`, at most `limit`; returns false, and appends none, at the end.
  ///
  /// - Throws: `io`.
  package func read(into buffer: inout [UInt8], upTo limit: Int) throws(LMDBError) -> Bool {
    let count = min(limit, byteCount - readCount)
    if count == 0 { return false }
    let (start, offset) = (buffer.count, readCount)
    buffer.append(contentsOf: repeatElement(0, count: count))
    let code = unsafe buffer.withUnsafeMutableBytes { bytes -> Int32 in
      guard let place = bytes.baseAddress else { return EIO }
      return unsafe Self.readFully(descriptor, place + start, count, offset)
    }
    guard code == 0 else { throw LMDBError(code: code, operation: "read of scratch space") }
    readCount += count
    return true
  }

  /// Starts reading at the first byte again.
  package func rewind() { readCount = 0 }

  /// Removes the bytes; the file keeps its blocks for the next ones.
  package func removeAll() {
    byteCount = 0
    readCount = 0
  }

  private static func checkRoom(_ descriptor: Int32, for growth: Int) throws(LMDBError) {
    guard growth >= 0, let space = FileSystem.freeSpace(descriptor: descriptor) else { return }
    if space.usable - reservedBytes(ofDisk: space.size) < growth { throw .diskFull }
  }

  /// Reads all of the bytes; returns 0 or the error's number. The file is never shorter than what was written.
  private static func readFully(
    _ descriptor: Int32, _ start: UnsafeMutableRawPointer, _ count: Int, _ offset: Int
  ) -> Int32 {
    var done = 0
    while done < count {
      let got = unsafe pread(descriptor, start + done, count - done, offset + done)
      if got < 0, errno == EINTR { continue }
      if got <= 0 { return got < 0 ? errno : EIO }
      done += got
    }
    return 0
  }
}
