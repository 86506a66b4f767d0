/// Requests the overflow pages of values before they are read: those of the value that is read, and while values are
/// read in key order, those of the values that follow in the leaf.
struct ValueReadAhead {
  /// Pages that are requested ahead: 2 MiB.
  private static let largestWindow: UInt64 = 512

  /// The leaf of the value that was read last, and the value's index there.
  private var leaf = PageView.none
  private var index = -1
  private var isLast = false
  /// The first value of the leaf that was neither requested nor found in the page cache.
  private var aheadIndex = 0
  /// Overflow pages of the values between the two.
  private var distance: UInt64 = 0
  private var window: UInt64 = 0

  /// Notes that the overflow pages of a leaf's value are read next.
  mutating func read(_ leaf: PageView, _ index: Int, count: Int, _ pages: inout MappedPages) {
    guard let value = leaf.checkedOverflow(index) else { return }
    let isSameLeaf = unsafe leaf.base == self.leaf.base
    let isInOrder = isSameLeaf ? index == self.index + 1 : index == 0 && isLast
    let isCovered = isSameLeaf && isInOrder && index < aheadIndex
    self.leaf = leaf
    self.index = index
    isLast = index == count - 1
    if isCovered {
      distance -= min(distance, value.pageCount)
    } else {
      pages.requestValue(at: value.first, pageCount: value.pageCount)
      aheadIndex = index + 1
      distance = 0
      if !isInOrder { window = 0 }
    }
    if isInOrder, distance <= window / 2 { extend(count, &pages) }
  }

  private mutating func extend(_ count: Int, _ pages: inout MappedPages) {
    window = min(max(2 * window, 64), Self.largestWindow)
    var isResident: Bool?
    while distance < window, aheadIndex < count {
      defer { aheadIndex += 1 }
      guard let value = leaf.checkedOverflow(aheadIndex) else { continue }
      let (end, overflows) = value.first.addingReportingOverflow(value.pageCount)
      if overflows { continue }
      let skips = isResident ?? pages.isResident(end - 1)
      isResident = skips
      distance += value.pageCount
      if skips { continue }
      var run = PageRun()
      run.add(value.first, count: value.pageCount) { _ in }
      run.finish { pages.request($0) }
    }
  }
}
