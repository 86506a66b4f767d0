/// Requests pages from the disk before they are read.
extension LMDBMapReader {
  /// Notes that a lookup, or a scan's begin, reads a leaf.
  @inline(__always)
  func noteRead(_ dbi: UInt32, _ leaf: PageView, _ key: PageKey) {
    guard let trees = unsafe content.pointee.map.trees else { return }
    let tree = unsafe trees + Int(dbi)
    if unsafe tree.pointee.lastLeaf == leaf.base { return }
    unsafe tree.pointee.lastLeaf = leaf.base
    unsafe tree.pointee.ignoredLeaves &-= 1
    if unsafe tree.pointee.ignoredLeaves < 0 { unsafe noteNewLeaf(tree, key) }
  }

  @inline(never)
  private func noteNewLeaf(_ tree: UnsafeMutablePointer<MapTree>, _ key: PageKey) {
    unsafe tree.pointee.ignoredLeaves = 0
    guard var pages = pages(),
      let path = unsafe BranchPath(root: tree.pointee.root, depth: Int(tree.pointee.depth), key, &pages)
    else { return }
    unsafe tree.pointee.ignoredLeaves = unsafe tree.pointee.reserveReadAhead().pointee.read(path, &pages)
  }

  /// The number of leaves after its first that a scan can read before the first call of `noteScan`.
  @inline(__always)
  func residentLeaves(_ dbi: UInt32) -> Int32 {
    guard let trees = unsafe content.pointee.map.trees, let readAhead = unsafe (trees + Int(dbi)).pointee.readAhead
    else { return 0 }
    return unsafe readAhead.pointee.residentReads / LeafReadAhead.longestStep
  }

  /// Notes that a scan enters another leaf. Returns how many more it can read before the next call is needed.
  @inline(never)
  func noteScan(
    _ dbi: UInt32, _ leaf: PageView, _ path: borrowing BranchPath, before end: UnsafeRawBufferPointer
  ) -> Int32 {
    guard let trees = unsafe content.pointee.map.trees, var pages = pages() else { return .max }
    let tree = unsafe trees + Int(dbi)
    unsafe tree.pointee.lastLeaf = leaf.base
    let readAhead = unsafe tree.pointee.reserveReadAhead()
    let leaves = unsafe readAhead.pointee.scan(path, before: end, &pages)
    unsafe tree.pointee.ignoredLeaves = readAhead.pointee.residentReads
    return leaves
  }

  /// Notes that the overflow pages of a leaf's value are read next.
  @inline(never)
  func noteValue(_ dbi: UInt32, _ leaf: PageView, _ index: Int, count: Int) {
    guard let trees = unsafe content.pointee.map.trees, var pages = pages() else { return }
    let readAhead = unsafe (trees + Int(dbi)).pointee.reserveReadAhead()
    unsafe readAhead.pointee.readValue(leaf, index, count: count, &pages)
  }

  /// Requests the leaves of keys that are read next, if the page cache lacks them.
  package func requestLeaves(_ dbi: UInt32, _ keys: UnsafeRawBufferPointer, stride length: Int) {
    guard length > 0, length <= LMDBLimits.maximumKeyLength, let tree = tree(dbi), tree.depth > 1,
      let trees = unsafe content.pointee.map.trees
    else { return }
    let readAhead = unsafe (trees + Int(dbi)).pointee.reserveReadAhead()
    guard unsafe readAhead.pointee.isNextGroupNoteworthy(), var pages = pages() else { return }
    let count = keys.count / length
    unsafe withUnsafeTemporaryAllocation(of: UInt64.self, capacity: count) { leaves in
      var found = 0
      for place in 0..<count {
        let key = unsafe PageKey(UnsafeRawBufferPointer(rebasing: keys[place * length..<(place + 1) * length]))
        guard let path = BranchPath(root: tree.root, depth: Int(tree.depth), key, &pages),
          let leaf = path.last.page.checkedChild(Int(path.last.index))
        else { continue }
        unsafe leaves[found] = leaf
        found += 1
      }
      let span = unsafe Span(_unsafeElements: UnsafeBufferPointer(rebasing: leaves[..<found]))
      unsafe readAhead.pointee.readGroup(of: span, &pages)
    }
  }

  private func pages() -> MappedPages? {
    guard let start = unsafe content.pointee.map.start else { return nil }
    return unsafe content.pointee.core._withUnsafeGuaranteedRef { core in
      unsafe MappedPages(
        start: start, pageLimit: content.pointee.map.pageLimit, counter: core, hooks: core.options.readAheadHooks)
    }
  }
}
