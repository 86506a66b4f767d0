import CKVCloneLMDB

extension PageFile {
  /// Makes the kernel read pages without waiting for them.
  func request(_ pages: Range<UInt64>) {
    hooks?.request(pages)
    kvclone_request(
      descriptor, Int64(pages.lowerBound) * Int64(PageView.size), Int64(pages.count) * Int64(PageView.size))
  }

  /// Whether a page is in the file, by its size when it was opened.
  func hasPage(_ page: UInt64) -> Bool { page >= 2 && page < byteCount / UInt64(PageView.size) }
}

/// Requests the children of a branch page while it is walked, or the values of a leaf.
///
/// The page has no `problem`, and its nodes are passed in ascending order.
struct PageFileReadAhead {
  /// Pages that are requested ahead: 1 MiB.
  private static let window: UInt64 = 256

  /// The first child or value that was not requested.
  private var index: Int
  private var distance: UInt64 = 0

  init(from index: Int = 0) { self.index = index }

  /// Requests what follows the child `index` of a branch page.
  mutating func child(_ index: Int, of page: PageView, in file: PageFile) {
    distance = UInt64(max(0, self.index - index))
    guard distance <= Self.window / 2 else { return }
    extend(page, in: file) { (page.child($0), 1) }
  }

  /// Requests the first overflow pages of a leaf's values, or with `isWhole` all of them, from the value `index` on.
  mutating func value(_ index: Int, of page: PageView, isWhole: Bool, in file: PageFile) {
    if index >= self.index { (self.index, distance) = (index, 0) }
    if distance <= Self.window / 2 {
      extend(page, in: file) { index in
        guard page.flags(index) == PageView.bigDataFlag else { return nil }
        return (page.overflowPage(index), isWhole ? PageView.overflowPageCount(page.dataLength(index)) : 1)
      }
    }
    if page.flags(index) == PageView.bigDataFlag {
      distance -= min(distance, isWhole ? PageView.overflowPageCount(page.dataLength(index)) : 1)
    }
  }

  private mutating func extend(
    _ page: PageView, in file: PageFile, _ pages: (Int) -> (first: UInt64, count: UInt64)?
  ) {
    var run = PageRun()
    while distance < Self.window, index < page.count {
      defer { index += 1 }
      guard let next = pages(index) else { continue }
      let (end, overflows) = next.first.addingReportingOverflow(next.count)
      guard !overflows, file.hasPage(next.first), file.hasPage(end - 1) else { continue }
      distance += next.count
      run.add(next.first, count: next.count) { file.request($0) }
    }
    run.finish { file.request($0) }
  }
}
