import Glibc

/// The pages of a write-ahead log that a killed process left, for reading a store without writing to it: what
/// `CommitLogRecovery` would write into `data.mdb`, in memory: 4 KiB for each page of which the log has a version.
@safe
final class CommitLogOverlay: Sendable {
  private let pages: [UInt64: [UInt8]]
  private let metas: [[UInt8]]
  /// The end of the last page, in bytes of `data.mdb`.
  let end: UInt64

  private init(pages: [UInt64: [UInt8]], metas: [[UInt8]]) {
    self.pages = pages
    self.metas = metas
    end = ((pages.keys.max() ?? 1) + 1) * UInt64(PageView.size)
  }

  /// Finds the overlay: nil if no log exists or it is not in use, belongs to another file, or is used by a live
  /// process, which keeps the file whole.
  ///
  /// - Returns: the overlay, and whether everything was read that the log may have. If not, the overlay contains what
  ///   was readable, unless the file has a later commit: then the file is whole, unless the power failed.
  static func find(_ paths: StorePaths, data: Int32) -> (overlay: CommitLogOverlay?, isAll: Bool) {
    do throws(LMDBError) {
      guard let facts = try FileSystem.facts(paths.commitLog), facts.kind == .regularFile, facts.byteCount > 0,
        let file = try CommitLogFile(existingAt: paths.commitLog, readOnly: true)
      else { return (nil, true) }
      // Before the head is read: a live process's file does not depend on it. On failure it is more likely that no
      // process has the store open.
      let isOpen = try? CommitLogRecovery.isOpenElsewhere(paths)
      if isOpen == true { return (nil, true) }
      guard let head = try file.head(), head.isInUse, belongs(head, data) else { return (nil, true) }
      let (overlay, isAll) = read(file, head, data)
      return (overlay, isAll && isOpen != nil)
    } catch {
      return (nil, false)
    }
  }

  private static func read(
    _ file: CommitLogFile, _ head: CommitLogHead, _ data: Int32
  ) -> (overlay: CommitLogOverlay?, isAll: Bool) {
    var found = LogEnd(head)
    let record = CommitLogRecord()
    var pages: [UInt64: [UInt8]] = [:]
    var metas = found.metas
    var (isAll, isWellFormed) = (true, true)
    do throws(LMDBError) {
      while try found.next(file, record) {
        // Later records still show which meta pages the file may have.
        guard isWellFormed else { continue }
        isWellFormed = record.forEachPage { page in
          var bases = page.base.flatMap { base in pages[base].map { [base: $0] } } ?? [:]
          guard let content = record.content(of: page, in: &bases) else { return false }
          pages[page.number] = content
          return true
        }
        if isWellFormed { metas = found.metas }
      }
    } catch {
      isAll = false
    }
    let own = (0..<2).map { (try? CommitLogRecovery.meta($0, of: data)) ?? nil }
    if CommitLogRecovery.isOlder(own, than: head, found) { return (nil, isAll) }
    let commits = own.enumerated().compactMap { page, bytes in
      bytes.flatMap { PageMeta(bytes: $0, page: UInt64(page))?.commitNumber }
    }
    if !isAll, commits.contains(where: { $0 > found.commit }) { return (nil, false) }
    return (CommitLogOverlay(pages: pages, metas: metas), isAll)
  }

  /// Whether the file has the head's tie. If page 0 is invalid, that is unknown, and the log is trusted: it has
  /// checksums of its own.
  private static func belongs(_ head: CommitLogHead, _ data: Int32) -> Bool {
    var page = [UInt8](repeating: 0, count: PageView.size)
    guard (try? unsafe readAll(data, &page, page.count, 0, "read of data.mdb")) == true,
      PageMeta(bytes: Array(page.prefix(CommitLogFormat.metaLength)), page: 0) != nil
    else { return true }
    var tie: UInt64 = 0
    for index in (0..<8).reversed() { tie = tie << 8 | UInt64(page[CommitLogFormat.tieOffset + index]) }
    return CommitLogFormat.isTied(head.tie, to: tie)
  }

  /// Copies bytes of a page; returns false if the log does not have the page.
  func read(_ page: UInt64, _ offset: Int, into buffer: UnsafeMutableRawBufferPointer) -> Bool {
    guard let bytes = pages[page] else { return false }
    unsafe bytes.withUnsafeBytes { bytes in
      unsafe buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + buffer.count]))
    }
    return true
  }

  /// A meta page of the log; nil if invalid.
  func meta(_ page: UInt64) -> PageMeta? { PageMeta(bytes: metas[Int(page)], page: page) }
}

extension PageMeta {
  /// Nil if the bytes are no meta page that LMDB would accept.
  init?(bytes: [UInt8], page: UInt64) {
    guard bytes.count >= CommitLogFormat.metaLength else { return nil }
    let result = unsafe bytes.withUnsafeBytes { bytes -> PageMeta? in
      guard let start = bytes.baseAddress else { return nil }
      return try? unsafe PageMeta(start, page: page)
    }
    guard let result else { return nil }
    self = result
  }
}
