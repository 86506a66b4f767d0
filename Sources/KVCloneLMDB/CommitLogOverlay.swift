import Glibc

/// The pages that a commit log has which a killed process left, for who reads a store and may not write to it: what
/// `CommitLogRecovery` would write into `data.mdb`, in memory, as large as the log.
@safe
final class CommitLogOverlay: Sendable {
  private let pages: [UInt64: [UInt8]]
  private let metas: [[UInt8]]
  /// Where the last of the pages ends, in bytes of `data.mdb`.
  let end: UInt64

  /// Nil where there is no such log: none at all, none in use, another file's, or one that a live process uses, whose file is whole.
  init?(_ paths: StorePaths, data: Int32) {
    guard let facts = try? FileSystem.facts(paths.commitLog), facts.kind == .regularFile, facts.byteCount > 0,
      let file = try? CommitLogFile(existingAt: paths.commitLog, readOnly: true), let head = file.head(), head.isInUse,
      !CommitLogRecovery.isOpenElsewhere(paths), Self.belongs(head, data)
    else { return nil }
    var found = LogEnd(head)
    let record = CommitLogRecord()
    var pages: [UInt64: [UInt8]] = [:]
    var metas = found.metas
    while found.next(file, record) {
      let isWhole = unsafe record.forEachPage { number, bytes in
        pages[number] = unsafe [UInt8](bytes)
        return true
      }
      if !isWhole { break }
      metas = found.metas
    }
    if CommitLogRecovery.isOlder(data, than: head, LogEnd(head).scan(file, record)) { return nil }
    self.pages = pages
    self.metas = metas
    end = ((pages.keys.max() ?? 1) + 1) * UInt64(PageView.size)
  }

  /// The file has the head's tie. Where page 0 is none any more, nobody can tell, and the log is believed: it has sums of its own.
  private static func belongs(_ head: CommitLogHead, _ data: Int32) -> Bool {
    var page = [UInt8](repeating: 0, count: PageView.size)
    guard unsafe readAll(data, &page, page.count, 0),
      PageMeta(bytes: Array(page.prefix(CommitLogFormat.metaLength)), page: 0) != nil
    else { return true }
    var tie: UInt64 = 0
    for index in (0..<8).reversed() { tie = tie << 8 | UInt64(page[CommitLogFormat.tieOffset + index]) }
    return tie == head.tie
  }

  /// Copies bytes of a page; false if the log has not the page.
  func read(_ page: UInt64, _ offset: Int, into buffer: UnsafeMutableRawBufferPointer) -> Bool {
    guard let bytes = pages[page] else { return false }
    unsafe bytes.withUnsafeBytes { bytes in
      unsafe buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + buffer.count]))
    }
    return true
  }

  /// A meta page as the log has it; nil where that is none.
  func meta(_ page: UInt64) -> PageMeta? { PageMeta(bytes: metas[Int(page)], page: page) }
}
