import CKVCloneLMDB

/// Counts the pages of a map that can be read.
protocol PageCounting: AnyObject {
  func readablePageCount() -> UInt64
}

/// The pages of a memory map, for read-ahead: reads branch pages, and requests others from the disk.
///
/// Page numbers come from the file and may be anything. None beyond the map or the file is accessed or requested.
@safe
struct MappedPages {
  private let start: UnsafeRawPointer
  private var pageLimit: UInt64
  // Not retained, because clones and lookups create these values often. The environment outlives them.
  private unowned(unsafe) let counter: (any PageCounting)?
  private unowned(unsafe) let hooks: ReadAheadHooks?
  private var isLimitCurrent = false

  /// - Parameters:
  ///   - pageLimit: pages below this number are readable.
  ///   - counter: counts the readable pages if more than that are needed.
  init(start: UnsafeRawPointer, pageLimit: UInt64, counter: (any PageCounting)?, hooks: ReadAheadHooks?) {
    unsafe self.start = start
    self.pageLimit = pageLimit
    unsafe self.counter = counter
    unsafe self.hooks = hooks
  }

  /// A readable page; reading may load it from the disk.
  mutating func page(_ number: UInt64) -> PageView? {
    isReadable(number) ? unsafe PageView(address(number)) : nil
  }

  private mutating func isReadable(_ number: UInt64) -> Bool {
    if number < pageLimit { return true }
    if !isLimitCurrent {
      isLimitCurrent = true
      if let counter = unsafe counter { pageLimit = counter.readablePageCount() }
    }
    return number < pageLimit
  }

  private func address(_ number: UInt64) -> UnsafeRawPointer {
    unsafe start + Int(truncatingIfNeeded: number &* UInt64(PageView.size))
  }

  /// Whether the page cache has a page, or there is no such page.
  mutating func isResident(_ number: UInt64) -> Bool {
    guard isReadable(number) else { return true }
    if let hooks = unsafe hooks { return hooks.isResident(number) }
    return unsafe kvclone_is_resident(address(number)) != 0
  }

  /// Makes the kernel read pages that the page cache lacks, without waiting for them.
  mutating func request(_ pages: Range<UInt64>) {
    guard !pages.isEmpty, pages.upperBound > pages.lowerBound, isReadable(pages.upperBound - 1) else { return }
    unsafe hooks?.request(pages)
    unsafe kvclone_request_mapped(address(pages.lowerBound), pages.count * PageView.size)
  }

  /// Requests the overflow pages of a value, unless the page cache has the last one.
  mutating func requestValue(at first: UInt64, pageCount: UInt64) {
    let (end, overflows) = first.addingReportingOverflow(pageCount)
    guard pageCount > 0, !overflows, isReadable(end - 1), !isResident(end - 1) else { return }
    var run = PageRun()
    run.add(first, count: pageCount) { _ in }
    run.finish { request($0) }
  }
}
