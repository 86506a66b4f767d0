import CKVCloneLMDB
import Glibc

/// Writes the pages of a new file from front to back, in large pieces. The two meta pages come last: without them the file is
/// no store.
///
/// Past the kernel's memory, where the file system can (`O_DIRECT`), as `mdb_env_copy` does: what is copied is not needed there,
/// and would drive out what is.
@safe
final class PageOutput {
  private let descriptor: Int32
  private let buffer: UnsafeMutableRawPointer
  private var filled = 0
  /// Where the buffer's bytes go.
  private var offset = 2 * LMDBLimits.pageSize
  private var written = 0
  private var isDirect: Bool

  /// How much is written at a time.
  static let capacity = 1 << 20
  /// After so many bytes the kernel is asked to write them out, so that the sync in the end has little left to do, and the
  /// cache has no more dirty pages than that.
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

  /// Room for the next bytes, at most `capacity` of them. What it has is undefined; all of it is written.
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
      // By the buffer, which has the place in memory that direct writing takes.
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
    // Some file systems say only now that they cannot.
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
