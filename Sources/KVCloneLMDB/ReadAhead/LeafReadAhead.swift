/// Requests the leaves of a table before they are read in key order.
///
/// Branch pages name the leaves that follow. A window of them is requested ahead of the position; it doubles while the
/// reads continue, so that a read of few leaves requests few. Pages in the page cache are not requested: a few pages of
/// each window are looked up there first, by a system call each. While the page cache has them all, most reads are not
/// noted, because fetches from memory would otherwise take up to a quarter more time.
struct LeafReadAhead {
  /// Leaves of a window.
  private static let firstWindow: Int32 = 8
  private static let largestWindow: Int32 = 256
  /// After so many windows in the page cache, the following ones have the largest size at once, and one page of each is
  /// looked up.
  private static let mostResidentWindows: Int32 = 3
  /// The largest number of lookups that are not noted between two windows in the page cache. If the cache then lacks the
  /// leaves, each of them waits for the disk.
  private static let mostResidentReads: Int32 = 256
  /// One of so many leaves of a window is looked up in the page cache.
  private static let sampleDistance = 64
  /// Up to this distance, lookups count as in order: reading all leaves in between takes about as long as reading one
  /// alone.
  static let longestStep: Int32 = 8
  /// Branch pages that are requested together.
  private static let branchWindow: Int32 = 8

  /// The branch pages above the leaf that was read last.
  private var parent = BranchStep()
  private var grandparent = BranchStep()
  /// Leads to the first leaf that was neither requested nor found in the page cache.
  private var ahead = BranchPath(steps: InlineArray(repeating: BranchStep()), level: 0)
  /// The number of leaves between the two.
  private var distance: Int32 = 0
  private var window: Int32 = 0
  /// Whether no leaves follow those ahead.
  private var isComplete = false
  /// Whether leaves were not requested because of a scan's end.
  private var isCut = false
  /// The number of reads that continued behind the end of a scan. A scan may read one leaf behind its end. After more,
  /// ends are ignored: scans of short ranges that follow each other, such as the lists of objects in order, are one read
  /// in order.
  private var passedEnds = 0
  private var passesEnds: Bool { passedEnds > 1 }
  /// The number of consecutive windows that were in the page cache, whether or not the reads were in order.
  private var residentWindows: Int32 = 0
  /// The number of lookups that need not be noted, because the page cache had all leaves of the last windows.
  private(set) var residentReads: Int32 = 0

  /// Notes that a leaf is read. Requests leaves behind it if it follows the one before.
  ///
  /// - Parameters:
  ///   - isInOrder: whether the leaf is known to follow others.
  ///   - end: leaves with no key before it are not requested; empty for none.
  /// - Returns: whether it follows the one before, and how many further leaves can be read before the next call is
  ///   needed.
  mutating func read(
    _ path: borrowing BranchPath, isInOrder: Bool, before end: UnsafeRawBufferPointer, _ pages: inout MappedPages
  ) -> (isInOrder: Bool, leaves: Int32) {
    guard path.level > 0 else { return (false, 0) }
    // A scan begins in the leaf before if its first key would be at that leaf's end.
    let isBefore = isLeafBefore(path)
    let steps = isBefore ? 0 : steps(to: path)
    if !isBefore {
      parent = path.last
      grandparent = path.level > 1 ? path.steps[path.level - 2] : BranchStep()
    }
    if let steps, path.level == ahead.level, steps <= max(distance + 1, Self.longestStep) {
      // The same leaf again, such as its copy in a write transaction, is not yet an order.
      if steps == 0, window == 0, !isInOrder { return (false, 0) }
      distance -= steps
      if distance < 0 {
        if isCut, !passesEnds {
          passedEnds += unsafe path.last.page.isKey(Int(path.last.index), atOrAfter: end) ? 1 : 2
          if passesEnds { window = 0 }
        }
        begin(behind: path)
      }
    } else {
      begin(behind: path)
      window = 0
      passedEnds = 0
      if !isInOrder { return (false, 0) }
    }
    let leavesOfParent = parent.count - parent.index - 1
    if isComplete { return (true, leavesOfParent) }
    if distance <= window / 2 {
      unsafe extend(before: passesEnds ? UnsafeRawBufferPointer(start: nil, count: 0) : end, &pages)
    }
    return (true, max(0, min(distance - window / 2, leavesOfParent)))
  }

  /// The distance of `path` from the last leaf, in leaves; nil if unknown.
  private func steps(to path: borrowing BranchPath) -> Int32? {
    let last = path.last
    if unsafe last.page.base == parent.page.base {
      return last.index >= parent.index ? last.index - parent.index : nil
    }
    guard path.level > 1 else { return nil }
    let above = path.steps[path.level - 2]
    guard unsafe above.page.base == grandparent.page.base, above.index == grandparent.index + 1 else { return nil }
    return parent.count - parent.index + last.index
  }

  /// Whether `path` leads to the leaf before the last one.
  private func isLeafBefore(_ path: borrowing BranchPath) -> Bool {
    let last = path.last
    if unsafe last.page.base == parent.page.base { return last.index + 1 == parent.index }
    guard path.level > 1, parent.index == 0, last.index + 1 == last.count else { return false }
    let above = path.steps[path.level - 2]
    return unsafe above.page.base == grandparent.page.base && above.index + 1 == grandparent.index
  }

  private mutating func begin(behind path: borrowing BranchPath) {
    ahead = copy path
    ahead.last.index += 1
    distance = 0
    isComplete = false
    isCut = false
  }

  private mutating func extend(before end: UnsafeRawBufferPointer, _ pages: inout MappedPages) {
    let next = min(max(2 * window, Self.firstWindow), Self.largestWindow)
    let wasResident = isProbablyResident
    if window == 0, !wasResident { unsafe requestBranches(before: end, &pages) }
    window = wasResident ? Self.largestWindow : next
    while distance < window {
      let step = ahead.last
      if step.index >= step.count {
        guard unsafe ahead.enterNextBranch(before: end, &pages) else {
          isComplete = true
          isCut = unsafe !end.isEmpty
          return
        }
        if !isProbablyResident { unsafe requestBranches(before: end, &pages) }
        continue
      }
      var wanted = min(window - distance, step.count - step.index)
      var count = wanted
      if isResident(step.page, Int(step.index)..<Int(step.index + wanted), &pages) {
        if isProbablyResident { residentReads = min(max(2 * residentReads, 16), Self.mostResidentReads) }
        residentWindows = min(residentWindows + 1, Self.mostResidentWindows)
      } else {
        residentWindows = 0
        residentReads = 0
        window = min(window, max(next, distance))
        wanted = min(wanted, window - distance)
        guard wanted > 0 else { return }
        count = Int32(unsafe Self.request(step.page, Int(step.index)..<Int(step.index + wanted), before: end, &pages))
      }
      ahead.last.index += count
      distance += count
      if count < wanted {
        isCut = true
        return
      }
      // One lookup in the page cache each time.
      if wasResident, isProbablyResident { window = distance }
    }
  }

  private var isProbablyResident: Bool { residentWindows == Self.mostResidentWindows }

  /// Whether the page cache holds the sampled children of a branch page.
  private func isResident(_ page: PageView, _ range: Range<Int>, _ pages: inout MappedPages) -> Bool {
    if !isProbablyResident {
      for index in stride(from: range.lowerBound, to: range.upperBound - 1, by: Self.sampleDistance) {
        if let child = page.checkedChild(index), !pages.isResident(child) { return false }
      }
    }
    guard let last = page.checkedChild(range.upperBound - 1) else { return true }
    return pages.isResident(last)
  }

  /// Requests children of a branch page; returns their number before `end`.
  private static func request(
    _ page: PageView, _ range: Range<Int>, before end: UnsafeRawBufferPointer, _ pages: inout MappedPages
  ) -> Int {
    var run = PageRun()
    var count = 0
    for index in range {
      if unsafe page.isKey(index, atOrAfter: end) { break }
      count += 1
      if let child = page.checkedChild(index) { run.add(child) { pages.request($0) } }
    }
    run.finish { pages.request($0) }
    return count
  }

  /// Requests the branch pages that follow.
  private func requestBranches(before end: UnsafeRawBufferPointer, _ pages: inout MappedPages) {
    guard ahead.level > 1 else { return }
    let step = ahead.steps[ahead.level - 2]
    let range = Int(step.index + 1)..<Int(min(step.count, step.index + 1 + Self.branchWindow))
    guard let next = range.first, let child = step.page.checkedChild(min(next + 1, range.upperBound - 1)),
      !pages.isResident(child)
    else { return }
    _ = unsafe Self.request(step.page, range, before: end, &pages)
  }
}
