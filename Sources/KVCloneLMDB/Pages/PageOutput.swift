import CKVCloneLMDB
import Glibc

/// Writes the pages of a new file from front to back, in large blocks. The two meta pages come last: without them the
/// file is not a store.
///
/// Bypasses the page cache if the file system can (`O_DIRECT`), as `mdb_env_copy` does: copied pages are not needed
/// there, and would evict others.
@safe
final class PageOutput {
  private let descriptor: Int32
  private let buffer: UnsafeMutableRawPointer
  private var filled = 0
  /// The offset of the buffer's bytes in the file.
  private var offset = 2 * LMDBLimits.pageSize
  private var written = 0
  private var isDirect: Bool

  /// The size of a write.
  static let capacity = 1 << 20
  /// The interval at which writing out is requested, so that the final sync has little left to do, and dirty pages stay
  /// bounded.
  private static let writebackStep = 32 << 20

  init(_ descriptor: Int32) {
    self.descriptor = descriptor
    isDirect = kvclone_write_directly(descriptor, 1) == 0
    unsafe buffer = .allocate(byteCount: Self.capacity, alignment: LMDBLimits.pageSize)
  }

  deinit {
    stopDirect()
    unsafe buffer.deallocate()
  }

  /// The number of the page that is written next.
  var nextPage: UInt64 { UInt64((offset + filled) / LMDBLimits.pageSize) }

  /// Reserves the next bytes, at most `capacity`. They are uninitialized; all of them are written.
  func place(_ count: Int) throws(LMDBError) -> UnsafeMutableRawPointer {
    if filled + count > Self.capacity { try flush() }
    defer { filled += count }
    return unsafe buffer + filled
  }

  func flush() throws(LMDBError) {
    try write(filled, at: offset)
    let before = written
    written += filled
    offset += filled
    filled = 0
    if !isDirect, before / Self.writebackStep != written / Self.writebackStep {
      kvclone_begin_writing_back(descriptor)
    }
  }

  /// Writes both meta pages, after all others.
  func writeMetas(_ metas: [[UInt8]]) throws(LMDBError) {
    try flush()
    for (page, meta) in metas.enumerated() {
      // Through the buffer, which has the alignment that direct writing needs.
      unsafe meta.withUnsafeBytes { meta in
        guard let base = meta.baseAddress else { return }
        unsafe (buffer + page * LMDBLimits.pageSize).copyMemory(
          from: base, byteCount: min(meta.count, LMDBLimits.pageSize))
      }
    }
    try write(2 * LMDBLimits.pageSize, at: 0)
    stopDirect()
  }

  private func write(_ count: Int, at offset: Int) throws(LMDBError) {
    var code = unsafe writeAll(descriptor, buffer, count, offset)
    // Some file systems report only now that they do not support it.
    if code == EINVAL, isDirect {
      stopDirect()
      code = unsafe writeAll(descriptor, buffer, count, offset)
    }
    if code != 0 { throw LMDBError(code: code, operation: "write to data.mdb") }
  }

  private func stopDirect() {
    if isDirect { _ = kvclone_write_directly(descriptor, 0) }
    isDirect = false
  }
}
