/// Recognizes reads of a table in key order, and requests what follows.
struct TableReadAhead {
  private var leaves = LeafReadAhead()
  private var values = ValueReadAhead()
  /// The number of consecutive reads that did not follow the leaf before.
  private var jumps = 0
  /// The number of key groups that are not looked up, because the page cache had the leaves of earlier groups.
  private var ignoredGroups = 0
  private var residentGroups = 0

  /// For reads in no order, two of this many changes of the leaf are checked; for keys in memory, one of this many
  /// groups.
  private static let mostIgnored: Int32 = 128

  /// The number of lookups that need not be noted after a scan.
  var residentReads: Int32 { leaves.residentReads }

  /// Notes that a single lookup reads a leaf. Returns how many changes of the leaf to ignore from then on.
  mutating func read(_ path: borrowing BranchPath, _ pages: inout MappedPages) -> Int32 {
    let end = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
    let found = unsafe leaves.read(path, isInOrder: false, before: end, &pages)
    if found.isInOrder {
      jumps = 0
      // Each of the ignored changes may skip leaves.
      return max(found.leaves / LeafReadAhead.longestStep, leaves.residentReads)
    }
    // The leaf after a jump shows whether an order begins there.
    jumps += 1
    return jumps.isMultiple(of: 2) ? min(1 << min(Int32(jumps), 8), Self.mostIgnored) : 0
  }

  /// Notes that a scan reads a leaf. Returns how many more it can read before the next call is needed.
  mutating func scan(
    _ path: borrowing BranchPath, before end: UnsafeRawBufferPointer, _ pages: inout MappedPages
  ) -> Int32 {
    jumps = 0
    return unsafe leaves.read(path, isInOrder: true, before: end, &pages).leaves
  }

  /// Notes that the overflow pages of a leaf's value are read.
  mutating func readValue(_ leaf: PageView, _ index: Int, count: Int, _ pages: inout MappedPages) {
    values.read(leaf, index, count: count, &pages)
  }

  /// Whether to pass the leaves of the next group of keys to ``readGroup(of:_:)``.
  mutating func isNextGroupNoteworthy() -> Bool {
    if ignoredGroups == 0 { return true }
    ignoredGroups -= 1
    return false
  }

  /// Requests the leaves of keys that are read next, if the page cache lacks the last one.
  mutating func readGroup(of leaves: Span<UInt64>, _ pages: inout MappedPages) {
    guard !leaves.isEmpty else { return }
    if pages.isResident(leaves[leaves.count - 1]) {
      residentGroups = min(residentGroups + 1, 8)
      ignoredGroups = min(1 << residentGroups, Int(Self.mostIgnored))
      return
    }
    residentGroups = 0
    var run = PageRun()
    for index in leaves.indices where index == 0 || leaves[index] != leaves[index - 1] {
      run.add(leaves[index]) { pages.request($0) }
    }
    run.finish { pages.request($0) }
  }
}
