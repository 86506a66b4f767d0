import Glibc

/// Reads pages: from LMDB's map, or, where its start is unknown, from the file.
@safe
struct PageSource {
  private let start: UnsafeRawPointer?
  private let pageCount: UInt64
  let descriptor: Int32
  private let scratch: PageScratch

  init() {
    unsafe start = nil
    pageCount = 0
    descriptor = -1
    scratch = PageScratch()
  }

  /// - Parameters:
  ///   - start: the beginning of the file in the map, or nil.
  ///   - pageCount: the number of pages of the file that are readable there.
  init(_ descriptor: Int32, map start: UnsafeRawPointer?, pageCount: UInt64, scratch: PageScratch) {
    unsafe self.start = unsafe start
    self.pageCount = pageCount
    self.descriptor = descriptor
    self.scratch = scratch
  }

  /// The meta pages as the map shows them, which LMDB has just written through the page cache; nil without a map.
  var mappedMetas: [[UInt8]]? {
    guard let start = unsafe start, pageCount >= 2 else { return nil }
    return [0, PageView.size].map { offset in
      unsafe Array(UnsafeRawBufferPointer(start: start + offset, count: CommitLogFormat.metaLength))
    }
  }

  /// The page in the map; nil without a map.
  func mappedPage(_ number: UInt64) -> PageView? { unsafe start == nil ? nil : page(number) }

  /// The page, valid until the next call; nil if unreadable.
  func page(_ number: UInt64) -> PageView? {
    guard number < pageCount else { return nil }
    let offset = Int(number) * PageView.size
    if let start = unsafe start { return unsafe PageView(start + offset) }
    let isRead = try? unsafe readAll(descriptor, scratch.base, PageView.size, offset, "read of data.mdb")
    guard isRead == true else { return nil }
    return unsafe PageView(scratch.base)
  }
}

/// Memory for one page.
@safe
final class PageScratch {
  let base = UnsafeMutableRawPointer.allocate(byteCount: PageView.size, alignment: 8)

  deinit { unsafe base.deallocate() }
}
